"""The server's key: 32 random bytes in a file of their own, in hexadecimal.

Whoever has the data directory but not this file cannot read secrets in it. The file is made on
first use, readable by its owner only, and never overwritten.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Final

from hashrange.sealing import KEY_BYTES

_TEXT_BYTES_MAX: Final = 4096


class ServerKeyError(Exception):
    """The key cannot be used; the message says why, for people."""


def default_key_file(data_directory: Path) -> Path:
    """Return where the key is unless a setting says otherwise: beside the data directory."""
    absolute = data_directory.absolute()
    return absolute.with_name(absolute.name + ".key")


def load_server_key(path: Path, *, may_create: bool) -> bytes:
    """Return the key of a file; make the file if it is not there and may be made."""
    if may_create and not path.exists():
        _create(path)
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            text = file.read(_TEXT_BYTES_MAX)
    except OSError as error:
        raise ServerKeyError(f"Cannot read the key file {path}: {error.strerror}.") from error
    if stat.S_IMODE(mode) & 0o077:
        raise ServerKeyError(
            f"The key file {path} can be read by others than its owner: chmod 600 it."
        )
    try:
        key = bytes.fromhex(text.decode().strip())
    except ValueError as error:
        raise ServerKeyError(f"{path} is not a key file: it must be hexadecimal.") from error
    if len(key) != KEY_BYTES:
        raise ServerKeyError(f"{path} must hold {KEY_BYTES} bytes in hexadecimal.")
    return key


def _create(path: Path) -> None:
    """Make a key file; two processes that try at once end with one and the same."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            os.write(descriptor, os.urandom(KEY_BYTES).hex().encode() + b"\n")
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        try:
            os.link(temporary, path)
        except FileExistsError:
            pass
        finally:
            temporary.unlink()
    except OSError as error:
        raise ServerKeyError(f"Cannot make the key file {path}: {error.strerror}.") from error


def volatile_key() -> Callable[[], bytes]:
    """Return the source of a key that lasts as long as the process."""
    key = os.urandom(KEY_BYTES)
    return lambda: key
