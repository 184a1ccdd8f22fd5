"""`hashrange backup`: backs up and restores whole servers, and looks at backups of any kind.

None of it talks to a server: a backup is made from the data directory, whether its server runs or
not. Exit status: 0 when all is well, 1 when a backup is damaged or cannot be read or made.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from hashrange.objects.backups import BackupFiles
    from hashrange.objects.base import ObjectStore
    from hashrange.objects.server_backups import ServerBackups

_LATEST: Final = "latest"
_RATE_MB: Final = 100


def add_commands(commands: Any) -> None:
    """Add the commands to the parser's."""
    from hashrange.server_key import KEY_VARIABLE

    backup = commands.add_parser(
        "backup",
        help="back up and restore whole servers, and look at backups",
        description="Back up and restore whole servers; list and verify backups of any kind.",
    )
    verbs = backup.add_subparsers(dest="verb", required=True, metavar="VERB")

    def add(name: str, text: str) -> argparse.ArgumentParser:
        verb: argparse.ArgumentParser = verbs.add_parser(
            name, help=text, description=text.capitalize() + "."
        )
        verb.add_argument("--s3-endpoint", metavar="URL", help="S3 service of s3://BUCKET/PREFIX")
        verb.add_argument("--s3-region", metavar="NAME", default="us-east-1")
        verb.add_argument("--s3-credentials", metavar="PATH", help="file as of the AWS CLI")
        return verb

    create = add("create", "back up the data directory of a server, which may run")
    restore = add("restore", "make a data directory from a backup of a server")
    listing = add("list", "list the backups in a place")
    verify = add("verify", "read backups from end to end and check everything in them")
    create.add_argument("data", metavar="DATA-DIR", help="the data directory")
    for verb in (create, restore, listing, verify):
        verb.add_argument(
            "directory", metavar="DIR", help="place of backups; or s3://BUCKET/PREFIX"
        )
    create.add_argument(
        "--rate",
        type=float,
        default=_RATE_MB,
        metavar="MB",
        help=f"megabytes a second at most, 0 for all the disk gives (default: {_RATE_MB})",
    )
    restore.add_argument("id", metavar="ID", help=f"the backup, or '{_LATEST}'")
    restore.add_argument("data", metavar="DATA-DIR", help="an empty or new directory")
    verify.add_argument("id", metavar="ID", nargs="?", help="one backup; all without it")
    for verb in (listing, verify):
        verb.add_argument("--key-file", metavar="PATH", help="file with the server's key")
        verb.add_argument(
            "--key-command", metavar="TEXT", help=f"command that prints it; or {KEY_VARIABLE}"
        )


def run(given: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """Carry out a command; return the exit status."""
    import asyncio

    from hashrange.objects.backup_parts import BackupDamagedError
    from hashrange.objects.base import ObjectStoreError
    from hashrange.server_backup import ServerBackupError
    from hashrange.server_key import ServerKeyError

    try:
        return asyncio.run(_run(given, environment))
    except ObjectStoreError as error:
        return _complain(error.message)
    except OSError as error:
        return _complain(f"{error.filename or given.directory}: {error.strerror}")
    except (BackupDamagedError, ServerBackupError, ServerKeyError) as error:
        return _complain(str(error))


async def _run(given: argparse.Namespace, environment: Mapping[str, str]) -> int:
    from hashrange import server_backup
    from hashrange.app.recovery import TABLES_BUCKET
    from hashrange.objects.backups import BackupFiles
    from hashrange.objects.server_backups import ServerBackups

    store = _store(given)
    servers = ServerBackups(store, server_backup.SERVERS_BUCKET)
    if given.verb == "create":
        rate = given.rate * 1_000_000
        id = await server_backup.create(Path(given.data), servers, _print_progress, rate)
        sys.stdout.write(f"{id}\n")
        return 0
    if isinstance(given.directory, str) and not given.directory.startswith("s3://"):
        folder = Path(given.directory)
        kinds = (TABLES_BUCKET, server_backup.SERVERS_BUCKET)
        if not any((folder / kind).is_dir() for kind in kinds):
            return _complain(f"{folder} holds no backups.")
    if given.verb == "restore":
        return await _restore(servers, given)
    key = _server_key(given, environment)
    files = BackupFiles(store, TABLES_BUCKET, key=key, is_inline=True)
    if given.verb == "list":
        return max(await _list(files), await _list_servers(servers))
    return await _verify(files, servers, given.id)


def _store(given: argparse.Namespace) -> ObjectStore:
    from hashrange.app.recovery import backup_store
    from hashrange.objects.base import ObjectStoreError
    from hashrange.objects.remote import RemoteSettings

    place: str = given.directory
    if not place.startswith("s3://"):
        return backup_store(Path(place), None, is_inline=True)
    if not given.s3_endpoint:
        raise ObjectStoreError("InvalidRequest", f"{place} is in an S3 service: give --s3-endpoint")
    credentials = Path(given.s3_credentials) if given.s3_credentials else None
    return backup_store(place, RemoteSettings(given.s3_endpoint, given.s3_region, credentials))


def _server_key(given: argparse.Namespace, environment: Mapping[str, str]) -> bytes | None:
    from hashrange.server_key import KEY_VARIABLE, KeySource

    file, command = given.key_file, given.key_command
    text = None if file or command else environment.get(KEY_VARIABLE) or None
    source = KeySource(Path(file) if file else None, command or None, text)
    return source.load() if source.is_given else None


async def _restore(servers: ServerBackups, given: argparse.Namespace) -> int:
    from hashrange import server_backup

    id = given.id
    if id == _LATEST:
        ids = sorted([each async for each in _ids(servers)])
        if not ids:
            return _complain(f"{given.directory} holds no backups of servers.")
        id = ids[-1]
    await server_backup.restore(servers, id, Path(given.data), _print_progress)
    sys.stdout.write(f"{given.data} is as {id} was\n")
    return 0


async def _ids(backups: BackupFiles | ServerBackups) -> Any:
    """Yield the ids of backups; there are none where nobody made a bucket."""
    from hashrange.objects.base import NoSuchBucketError

    try:
        async for id in backups.ids():
            yield id
    except NoSuchBucketError:
        return


async def _list(files: BackupFiles) -> int:
    from hashrange.objects.backup_parts import BackupDamagedError

    status = 0
    async for id in _ids(files):
        try:
            backup = (await files.manifest(id))["backup"]
        except BackupDamagedError as error:
            status = _complain(str(error))
            continue
        table = backup["table"]["name"]
        made = _shown(backup["created_at"])
        sys.stdout.write(f"{id}  {made}  {table}  {backup['name']}  {backup['items']} items\n")
    return status


async def _list_servers(servers: ServerBackups) -> int:
    from hashrange.objects.backup_parts import BackupDamagedError

    status = 0
    async for id in _ids(servers):
        try:
            manifest = await servers.manifest(id)
        except BackupDamagedError as error:
            status = _complain(str(error))
            continue
        size = sum(file["bytes"] for file in manifest["files"])
        sealed = "" if manifest["encryption"] is None else "  encrypted"
        sys.stdout.write(
            f"{id}  {_shown(manifest['made_at'])}  whole server  {size >> 20} MB{sealed}\n"
        )
    return status


async def _verify(files: BackupFiles, servers: ServerBackups, wanted: str | None) -> int:
    from hashrange import server_backup
    from hashrange.objects.backup_parts import BackupDamagedError

    status = 0
    for id in [each async for each in _ids(servers) if wanted in (None, each)]:
        try:
            size = await server_backup.verify(servers, id, _print_progress)
            sys.stdout.write(f"{id}: {size} bytes are good\n")
        except BackupDamagedError as error:
            status = _complain(str(error))
        if wanted is not None:
            return status
    ids = [wanted] if wanted is not None else [id async for id in _ids(files)]
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


def _shown(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def _print_progress(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def _complain(text: str) -> int:
    sys.stderr.write(f"hashrange: {text}\n")
    return 1
