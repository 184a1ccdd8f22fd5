"""`hashrange backup`: looks at backups of tables in a folder, without the server that made them.

Exit status: 0 when all is well, 1 when a backup is damaged or cannot be read.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hashrange.objects.backups import BackupFiles


def add_commands(commands: Any) -> None:
    """Add the commands to the parser's."""
    from hashrange.server_key import KEY_VARIABLE

    backup = commands.add_parser(
        "backup",
        help="look at backups of tables",
        description="List and verify backups of tables in the folder of --backup-dir.",
    )
    verbs = backup.add_subparsers(dest="verb", required=True, metavar="VERB")
    for name, text in (
        ("list", "list the backups in a folder"),
        ("verify", "read backups from end to end and check everything in them"),
    ):
        verb = verbs.add_parser(name, help=text, description=text.capitalize() + ".")
        verb.add_argument("directory", metavar="DIR", help="the folder of backups")
        if name == "verify":
            verb.add_argument("id", metavar="ID", nargs="?", help="one backup; all without it")
            verb.add_argument("--key-file", metavar="PATH", help="file with the server's key")
            verb.add_argument(
                "--key-command", metavar="TEXT", help=f"command that prints it; or {KEY_VARIABLE}"
            )


def run(given: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """Carry out a command; return the exit status."""
    import asyncio

    from hashrange.app.recovery import TABLES_BUCKET
    from hashrange.objects.backups import BackupFiles
    from hashrange.objects.base import ObjectStoreError
    from hashrange.objects.folder import FolderStore
    from hashrange.server_key import KEY_VARIABLE, KeySource, ServerKeyError

    folder = Path(given.directory)
    if not (folder / TABLES_BUCKET).is_dir():
        return _complain(f"{folder} holds no backups of tables.")
    key = None
    if given.verb == "verify":
        file, command = given.key_file, given.key_command
        text = None if file or command else environment.get(KEY_VARIABLE) or None
        source = KeySource(Path(file) if file else None, command or None, text)
        try:
            key = source.load() if source.is_given else None
        except ServerKeyError as error:
            return _complain(str(error))
    files = BackupFiles(FolderStore(folder, is_inline=True), TABLES_BUCKET, key=key, is_inline=True)
    try:
        if given.verb == "list":
            return asyncio.run(_list(files))
        return asyncio.run(_verify(files, given.id))
    except ObjectStoreError as error:
        return _complain(error.message)


async def _list(files: BackupFiles) -> int:
    from hashrange.objects.backups import BackupDamagedError

    status = 0
    async for id in files.ids():
        try:
            backup = (await files.manifest(id))["backup"]
        except BackupDamagedError as error:
            status = _complain(str(error))
            continue
        made = datetime.fromtimestamp(backup["created_at"], UTC).isoformat(timespec="seconds")
        table = backup["table"]["name"]
        sys.stdout.write(f"{id}  {made}  {table}  {backup['name']}  {backup['items']} items\n")
    return status


async def _verify(files: BackupFiles, wanted: str | None) -> int:
    from hashrange.objects.backups import BackupDamagedError

    status = 0
    ids = [wanted] if wanted is not None else [id async for id in files.ids()]
    for id in ids:
        try:
            manifest = await files.manifest(id)
            items = 0
            for number in range(len(manifest["parts"])):
                items += await files.check_part(id, manifest, number)
            if items != manifest["backup"]["items"]:
                raise BackupDamagedError(f"backup {id} lacks items: it has {items}")
            sys.stdout.write(f"{id}: {items} items in {len(manifest['parts'])} parts are good\n")
        except BackupDamagedError as error:
            status = _complain(str(error))
    return status


def _complain(text: str) -> int:
    sys.stderr.write(f"hashrange: {text}\n")
    return 1
