"""The server's key: 32 random bytes in hexadecimal, in a file, in a variable or from a command.

Whoever has the data directory but not this key cannot read secrets in it, and nothing at all if the
directory is encrypted. A key file is readable by its owner only, and never overwritten.
"""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from hashrange.sealing import KEY_BYTES

KEY_VARIABLE: Final = "HASHRANGE_KEY"
_TEXT_BYTES_MAX: Final = 4096
_COMMAND_SECONDS_MAX: Final = 60.0


class ServerKeyError(Exception):
    """The key cannot be used; the message says why, for people."""


@dataclass(frozen=True, slots=True)
class KeySource:
    """Where a key comes from: a file, a command that prints it, or the text itself."""

    file: Path | None = None
    command: str | None = None
    text: str | None = field(default=None, repr=False)

    @property
    def is_given(self) -> bool:
        return bool(self.file or self.command or self.text)

    def load(self, *, may_create: bool = False) -> bytes:
        """Return the key; make the file if it is not there and may be made."""
        if self.file is not None:
            return load_server_key(self.file, may_create=may_create)
        if self.command is not None:
            return _parse(_run(self.command), "The output of the key command")
        return _parse(self.text or "", f"The variable {KEY_VARIABLE}")


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
    return _parse(text.decode(errors="replace"), str(path))


def _parse(text: str, subject: str) -> bytes:
    """Return the key that a text says; a complaint does not repeat the text."""
    try:
        key = bytes.fromhex(text.strip())
    except ValueError:
        raise ServerKeyError(f"{subject} is not a key: it must be hexadecimal.") from None
    if len(key) != KEY_BYTES:
        raise ServerKeyError(f"{subject} must hold {KEY_BYTES} bytes in hexadecimal.")
    return key


def _run(command: str) -> str:
    import subprocess  # few have such a command, and everybody waits for what is imported

    try:
        ended = subprocess.run(
            shlex.split(command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            timeout=_COMMAND_SECONDS_MAX,
            check=True,
        )
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise ServerKeyError(f"The key command failed: {_reason(error)}.") from None
    return ended.stdout[:_TEXT_BYTES_MAX].decode(errors="replace")


def _reason(error: Exception) -> str:
    import subprocess

    if isinstance(error, subprocess.CalledProcessError):
        return f"it ended with status {error.returncode}"
    if isinstance(error, subprocess.TimeoutExpired):
        return f"it took more than {_COMMAND_SECONDS_MAX:g} seconds"
    return str(error)


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
