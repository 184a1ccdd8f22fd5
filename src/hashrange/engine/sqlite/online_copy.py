"""Copies the database of a data directory, file by file, while its server writes.

Two locks hold for as long as it takes, and the kernel frees them if the process ends:

1. LEASE.checkpoint: no process moves the log into the database, so the database does not change.
2. A shared lock of SQLite's on the database: no process that closes it takes the log along.

All commits go to the log meanwhile, which is copied last. The log can start again from its
beginning once, if all of it was in the database before; its salt tells, and it is then copied anew.
The copy is the database with all commits up to the end of the copying. It is read as it lies on the
disk, so an encrypted directory stays encrypted and no key is needed.

The server may stop, start and be killed meanwhile. Its log grows until the copy is made.
"""

from __future__ import annotations

import fcntl
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep
from typing import Final, final

from hashrange.engine.sqlite.data_directory import DATABASE_NAME, LOG_NAME, DataDirectoryError
from hashrange.engine.sqlite.encryption import MARK_NAME
from hashrange.engine.sqlite.file_locks import CHECKPOINT_LOCK_NAME, open_private
from hashrange.engine.sqlite.log_check import FRAME_HEADER_BYTES, HEADER_BYTES

CHUNK_BYTES: Final = 1 << 20

# Where SQLite's processes lock a database for reading.
_SHARED_FIRST: Final = 0x40000002
_SHARED_BYTES: Final = 510
_LOCK_SECONDS_MAX: Final = 60.0
_LOCK_PAUSE_SECONDS: Final = 0.02
_SALT: Final = slice(16, 24)
# In the shared index of the log: its header stands there twice.
_INDEX_NAME: Final = DATABASE_NAME + "-shm"
_INDEX_BYTES: Final = 48
_INDEX_FRAMES: Final = slice(16, 20)
_INDEX_SALT: Final = slice(32, 40)
# Both differ while a commit writes them, which takes no time.
_INDEX_LOOKS: Final = 100


@final
class OnlineCopy:
    """The files of a data directory, held as they are; use it in a `with` statement."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._lock = -1
        self._database = -1

    def __enter__(self) -> OnlineCopy:
        try:
            self._database = os.open(
                self._directory / DATABASE_NAME, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW
            )
            self._lock = open_private(self._directory / CHECKPOINT_LOCK_NAME)
            self._take_locks()
        except FileNotFoundError:
            self.close()
            raise DataDirectoryError(f"{self._directory} is not a data directory.") from None
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let the server go on as before."""
        for descriptor in (self._lock, self._database):
            if descriptor >= 0:
                os.close(descriptor)
        self._lock = self._database = -1

    def mark(self) -> bytes | None:
        """Return the file that tells which key opens the database; None if it is plain."""
        try:
            return (self._directory / MARK_NAME).read_bytes()
        except FileNotFoundError:
            return None

    def database_bytes(self) -> int:
        """Return the size of the database."""
        return os.fstat(self._database).st_size

    def log_bytes(self) -> int:
        """Return the size of the log now; it grows until it is copied."""
        try:
            return (self._directory / LOG_NAME).stat().st_size
        except FileNotFoundError:
            return 0

    def read_database(self) -> Iterator[bytes]:
        """Yield the content of the database."""
        yield from _read(self._database, self.database_bytes())
        found = os.stat(self._directory / DATABASE_NAME)
        if not os.path.samestat(found, os.fstat(self._database)):
            raise DataDirectoryError(f"The database in {self._directory} was replaced meanwhile.")

    def read_log(self) -> Iterator[bytes | None]:
        """Yield the content of the log; None means that what came before does not count."""
        while True:
            try:
                descriptor = os.open(
                    self._directory / LOG_NAME, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW
                )
            except FileNotFoundError:
                return
            try:
                header = os.pread(descriptor, HEADER_BYTES, 0)
                yield from _read(descriptor, self._log_bytes(descriptor, header))
                if os.pread(descriptor, HEADER_BYTES, 0)[_SALT] == header[_SALT]:
                    return
            finally:
                os.close(descriptor)
            yield None

    def _log_bytes(self, descriptor: int, header: bytes) -> int:
        """Return how much of the log is committed; all of it if that cannot be told.

        A log keeps its size when it starts again, so most of it may be old.
        """
        size = os.fstat(descriptor).st_size
        index = self._read_index()
        if len(header) < HEADER_BYTES or index[_INDEX_SALT] != header[_SALT]:
            return size
        frames = int.from_bytes(index[_INDEX_FRAMES], sys.byteorder)
        frame_bytes = FRAME_HEADER_BYTES + int.from_bytes(header[8:12], "big")
        return min(size, HEADER_BYTES + frames * frame_bytes)

    def _read_index(self) -> bytes:
        """Return the header of the log's shared index; empty if there is none that can be read."""
        for _ in range(_INDEX_LOOKS):
            try:
                with (self._directory / _INDEX_NAME).open("rb") as file:
                    index = file.read(2 * _INDEX_BYTES)
            except FileNotFoundError:
                break
            first, second = index[:_INDEX_BYTES], index[_INDEX_BYTES:]
            if first == second:
                return first
        return b""

    def _take_locks(self) -> None:
        """Take both locks; a checkpoint, or another copy, may be under way."""
        deadline = monotonic() + _LOCK_SECONDS_MAX
        while True:
            try:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                fcntl.lockf(
                    self._database, fcntl.LOCK_SH | fcntl.LOCK_NB, _SHARED_BYTES, _SHARED_FIRST
                )
                return
            except OSError:
                if monotonic() > deadline:
                    raise DataDirectoryError(
                        f"Another process is copying {self._directory}, or has locked it."
                    ) from None
                sleep(_LOCK_PAUSE_SECONDS)


def _read(descriptor: int, size: int) -> Iterator[bytes]:
    position = 0
    while position < size:
        chunk = os.pread(descriptor, min(CHUNK_BYTES, size - position), position)
        if not chunk:
            raise DataDirectoryError("A file became shorter while it was copied.")
        position += len(chunk)
        yield chunk
