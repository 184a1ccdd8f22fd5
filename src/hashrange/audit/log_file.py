"""The audit log: a file of JSON lines that all processes append to, or standard output.

A line is written by one call of the operating system, so lines of several processes do not mix and
survive the death of the process that wrote them. A file that has reached its size is renamed to
`NAME.1`, that one to `NAME.2`, and so on; the process that does so holds a lock. Failures to write
are logged once a minute and refuse no request.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from pathlib import Path
from typing import Final, final

from hashrange.log_pace import LogPace

_LOGGER: Final = logging.getLogger("hashrange.audit")
STANDARD_OUTPUT: Final = "-"
FILE_BYTES_MAX: Final = 100_000_000
FILES_MAX: Final = 10


@final
class LogFile:
    """Appends lines; one per process."""

    def __init__(self, path: str, bytes_max: int = FILE_BYTES_MAX) -> None:
        self._path = None if path == STANDARD_OUTPUT else Path(path)
        self._bytes_max = bytes_max
        self._descriptor: int | None = None
        self._pace = LogPace()

    def write(self, lines: bytes) -> None:
        """Append whole lines."""
        try:
            descriptor = self._open()
            while lines:
                lines = lines[os.write(descriptor, lines) :]
        except OSError as error:
            self.close()
            if (remark := self._pace.remark()) is not None:
                _LOGGER.error("the audit log cannot be written: %s%s", error, remark)

    def close(self) -> None:
        """Let go of the file; the next line opens it again."""
        if self._descriptor is not None and self._path is not None:
            with contextlib.suppress(OSError):
                os.close(self._descriptor)
        self._descriptor = None

    def _open(self) -> int:
        """Return a descriptor of the file that has the name now, and has room."""
        if self._path is None:
            return sys.stdout.fileno()
        if self._descriptor is not None:
            mine = os.fstat(self._descriptor)
            if mine.st_size < self._bytes_max and self._is_current(mine):
                return self._descriptor
            if mine.st_size >= self._bytes_max:
                self._rotate()
            self.close()
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
        self._descriptor = os.open(self._path, flags | getattr(os, "O_CLOEXEC", 0), 0o600)
        return self._descriptor

    def _is_current(self, mine: os.stat_result) -> bool:
        """Tell whether the open file still has the name: another process may have renamed it."""
        assert self._path is not None
        try:
            named = os.stat(self._path)
        except FileNotFoundError:
            return False
        return (named.st_ino, named.st_dev) == (mine.st_ino, mine.st_dev)

    def _rotate(self) -> None:
        """Rename the files, unless another process has done so."""
        assert self._path is not None
        assert self._descriptor is not None
        lock = os.open(f"{self._path}.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            with contextlib.suppress(ImportError):
                import fcntl

                fcntl.flock(lock, fcntl.LOCK_EX)
            if self._is_current(os.fstat(self._descriptor)):
                for number in range(FILES_MAX - 1, 0, -1):
                    older = Path(f"{self._path}.{number}")
                    if older.exists():
                        older.replace(f"{self._path}.{number + 1}")
                self._path.replace(f"{self._path}.1")
                with contextlib.suppress(FileNotFoundError):
                    Path(f"{self._path}.{FILES_MAX}").unlink()
        finally:
            os.close(lock)
