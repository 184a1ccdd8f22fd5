"""Whether the write-ahead log of a server that did not stop cleanly is whole.

SQLite replays the log up to the first frame that does not fit and ignores the rest, which is right
after a loss of power and wrong after a damaged bit: all commits that follow would be lost silently.
So a start is refused, before anything is changed, when

1. `SHARED` says that more frames of this log were on disk than SQLite finds;
2. the header of the log is damaged, or the database is missing or empty beside a log.

Without what `SHARED` says, commits behind the first bad frame prove nothing: a loss of power after
syncs that failed leaves the same. They are logged.

log   := header frame*
header := magic(4) version(4) page size(4) checkpoints(4) salt(8) checksum(8)
frame := page number(4) pages after commit, or 0(4) salt(8) checksum(8) page
"""

from __future__ import annotations

import logging
import os
import struct
from pathlib import Path
from typing import Final, final

import apsw

from hashrange.engine.sqlite.shared_state import SharedState

HEADER_BYTES: Final = 32
FRAME_HEADER_BYTES: Final = 24
_MAGICS: Final = (0x377F0682, 0x377F0683)
_SALT_OFFSET: Final = 16
_log = logging.getLogger(__name__)


def read_salt(descriptor: int) -> int:
    """Return the random half of the salt of a log, which differs each time the log starts again."""
    content = os.pread(descriptor, 8, _SALT_OFFSET)
    return int.from_bytes(content[4:], "big") if len(content) == 8 else 0


@final
class LogMark:
    """Tells the others how much of the log is on disk; one per process that syncs commits."""

    __slots__ = ("_descriptor", "_log", "_shared")

    def __init__(self, log: Path, shared: SharedState) -> None:
        self._log = log
        self._shared = shared
        self._descriptor = -1

    def salt(self) -> int:
        """Return the salt of the log; the turn is held, so that the log cannot start again."""
        if self._descriptor < 0:
            self._descriptor = os.open(self._log, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        return read_salt(self._descriptor)

    def note(self, salt: int, frames: int) -> None:
        """Take note that the disk has so many frames."""
        self._shared.note_log_on_disk(salt, frames)

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def find_missing_database(database: Path, log: Path) -> str | None:
    """Return what is wrong if there is a log, but no database that it belongs to."""
    if _size(log) <= HEADER_BYTES or _size(database) > 0:
        return None
    state = "empty" if database.exists() else "missing"
    return (
        f"{database} is {state}, but there is a log of {_size(log)} bytes beside it. Bring the "
        f"database back from a copy. To start with nothing instead, move {log} elsewhere."
    )


def find_damage(connection: apsw.Connection, log: Path, shared: SharedState) -> str | None:
    """Return what is wrong with a log that SQLite has recovered, if anything is."""
    if _size(log) <= HEADER_BYTES:
        return None
    descriptor = os.open(log, os.O_RDONLY | os.O_CLOEXEC)
    try:
        header = os.pread(descriptor, HEADER_BYTES, 0)
        if not _is_whole(header):
            return None if header == bytes(HEADER_BYTES) else "its header is damaged"
        frames, _ = connection.wal_checkpoint(None, apsw.SQLITE_CHECKPOINT_NOOP)
        frames = max(frames, 0)
        known = shared.synced_frames(read_salt(descriptor))
        if known > frames:
            return f"{known} frames of it were on disk, and only {frames} can be read"
        commits = _commits_after(descriptor, header, frames)
    finally:
        os.close(descriptor)
    if commits:
        message = (
            "%d commits in the log follow frame %d, which is damaged or missing; they are lost"
        )
        _log.warning(message, commits, frames + 1)
    return None


def _is_whole(header: bytes) -> bool:
    magic = int.from_bytes(header[:4], "big")
    if magic not in _MAGICS:
        return False
    order = ">" if magic & 1 else "<"
    first = second = 0
    words = struct.unpack(f"{order}6I", header[:24])
    for even, odd in zip(words[::2], words[1::2], strict=True):
        first = (first + even + second) & 0xFFFFFFFF
        second = (second + odd + first) & 0xFFFFFFFF
    return struct.unpack(">2I", header[24:]) == (first, second)


def _commits_after(descriptor: int, header: bytes, frames: int) -> int:
    """Count the commits of this log behind those that can be replayed."""
    step = FRAME_HEADER_BYTES + int.from_bytes(header[8:12], "big")
    offset = HEADER_BYTES + frames * step
    commits = 0
    while len(frame := os.pread(descriptor, FRAME_HEADER_BYTES, offset)) == FRAME_HEADER_BYTES:
        if frame[8:16] == header[16:24] and any(frame[4:8]):
            commits += 1
        offset += step
    return commits


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
