"""Commands on the data directory of a stopped server: check, repair, encrypt, decrypt, rekey."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from hashrange.server_key import (
    KEY_VARIABLE,
    KeySource,
    ServerKeyError,
    default_key_file,
    load_server_key,
)

COMMANDS: Final = {
    "check": "check the data directory of a stopped server",
    "repair": "repair the data directory of a stopped server",
    "encrypt": "encrypt the data directory of a stopped server",
    "decrypt": "make the data directory of a stopped server plain again",
    "rekey": "change the key of the data directory of a stopped server",
}


def add_commands(commands: Any) -> None:
    """Add the commands to the parser."""
    for name, purpose in COMMANDS.items():
        command = commands.add_parser(name, help=purpose, description=purpose.capitalize() + ".")
        command.add_argument("directory", metavar="DIR", help="data directory of a stopped server")
        made = "; made if it is not there" if name == "encrypt" else ""
        command.add_argument("--key-file", metavar="PATH", help=f"file with its key{made}")
        command.add_argument(
            "--key-command", metavar="TEXT", help=f"command that prints it; or set {KEY_VARIABLE}"
        )
        if name in ("encrypt", "decrypt", "rekey"):
            command.add_argument(
                "--bucket-dir",
                metavar="PATH",
                type=Path,
                help="the server's directory of buckets, if it is not in DIR",
            )
        if name == "rekey":
            command.add_argument(
                "--new-key-file", metavar="PATH", help="file with the new key; made if missing"
            )
            command.add_argument(
                "--new-key-command", metavar="TEXT", help="command that prints the new key"
            )
            command.add_argument(
                "--pages",
                action="store_true",
                help="encrypt all data anew, with new keys",
            )


def run(given: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """Run a command; return the exit status."""
    from hashrange.cli.logs import set_up_logging
    from hashrange.maintenance import MaintenanceError

    set_up_logging("critical", "human")
    source = _source(given.key_file, given.key_command, environment.get(KEY_VARIABLE))
    try:
        if given.command in ("check", "repair"):
            return _maintain(given, source)
        return _change_encryption(given, source)
    except (MaintenanceError, ServerKeyError) as error:
        sys.stderr.write(f"hashrange: {error}\n")
        return 1


def _source(file: str | None, command: str | None, text: str | None) -> KeySource:
    # What is on the command line counts more than a variable.
    given = None if file or command else text or None
    return KeySource(Path(file) if file else None, command or None, given)


def _maintain(given: argparse.Namespace, source: KeySource) -> int:
    from hashrange.maintenance import check, repair

    action = check if given.command == "check" else repair
    key = source.load() if source.is_given else None
    return 1 if action(given.directory, key, _print, _print_progress) else 0


def _change_encryption(given: argparse.Namespace, source: KeySource) -> int:
    from hashrange.maintenance import MaintenanceError, decrypt, describe_key, encrypt, rekey

    directory: str = given.directory
    buckets: Path | None = given.bucket_dir
    if not source.is_given and given.command == "rekey":
        # The key that secrets are under where nobody has set one.
        source = KeySource(default_key_file(Path(directory)))
    if not source.is_given:
        raise MaintenanceError(f"Give the key: --key-file, --key-command or {KEY_VARIABLE}.")
    if not (Path(directory)).is_dir():
        raise MaintenanceError(f"{directory} is not a data directory.")
    key = source.load(may_create=given.command == "encrypt")
    if given.command == "encrypt":
        encrypt(directory, key, _secrets_key(Path(directory)), _print_progress, buckets)
        _print(f"{directory} is encrypted now. Start the server with the key {describe_key(key)},")
        _print("and keep a copy of the key elsewhere: without it the data is lost.")
    elif given.command == "decrypt":
        decrypt(directory, key, _print_progress, buckets)
        _print(f"{directory} is plain now. Secrets of users in it still need the key.")
    else:
        new = _source(given.new_key_file, given.new_key_command, None)
        if not new.is_given:
            raise MaintenanceError("Give the new key: --new-key-file or --new-key-command.")
        new_key = new.load(may_create=True)
        rekey(
            directory,
            key,
            new_key,
            pages=given.pages,
            say_progress=_print_progress,
            bucket_dir=buckets,
        )
        _print(f"{directory} has the key {describe_key(new_key)} now.")
    return 0


def _secrets_key(directory: Path) -> bytes | None:
    """Return the key that was made beside a directory, under which its secrets are sealed."""
    path = default_key_file(directory)
    return load_server_key(path, may_create=False) if path.exists() else None


def _print(text: str) -> None:
    sys.stdout.write(f"{text}\n")


def _print_progress(text: str) -> None:
    sys.stderr.write(f"{text}\n")
