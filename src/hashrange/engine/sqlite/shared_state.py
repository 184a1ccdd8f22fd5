"""Memory shared by all processes of a server: a mapped file of eight-byte words.

| word    | content                                                                              |
|---------|--------------------------------------------------------------------------------------|
| 0       | the newest change counter                                                            |
| 1       | how much of the log is on disk: 32 bits of its salt, then the number of frames      |
| 2       | not 0: the log may not be let go of until the directory is opened afresh             |
| 3       | the number of the newest commit, set before anybody can see it                       |
| 4       | the number of a commit that is on disk, with all before it                           |
| 5       | not 0: a sync of the log failed, and any part of it may not be on disk               |
| 8–263   | appends: for each group of spaces, how many commits appended rows to one of them     |
| 264–    | stripes: for each part of the key space, the newest commit that changed a row there  |

Words 0 and 3, the appends and the stripes are set by the process that has the turn to write, the
others by any.
Word 4 may fall back to an older number when two processes set it; then one sync more than
needed is made. The words from 3 on serve processes that write together (see `log_sync`).
"""

from __future__ import annotations

import mmap
import os
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Final, final

from hashrange.engine.base import RowKey
from hashrange.engine.sqlite.file_locks import open_private
from hashrange.quick_zlib import crc32

SHARED_STATE_NAME: Final = "SHARED"

_COUNTER, _LOG_ON_DISK, _KEEPS_LOG, _COMMIT, _SYNCED, _IS_DAMAGED = range(6)
_FRAMES_BITS: Final = 32
_FIRST_APPEND: Final = 8
_APPENDS: Final = 256
_FIRST_STRIPE: Final = _FIRST_APPEND + _APPENDS
# Rows share a stripe when the first twelve bits of their keys are the same. Keys of items begin
# with a hash, so a few hundred rows under way leave nine of ten readers alone.
_STRIPES: Final = 4096
_STRIPE_SHIFT: Final = 4
_BYTES: Final = 8 * (_FIRST_STRIPE + _STRIPES)


@final
class SharedState:
    """The shared words, by name."""

    def __init__(self, directory: Path) -> None:
        descriptor = open_private(directory / SHARED_STATE_NAME)
        try:
            # Written, not only made longer: a full disk is to refuse it here, since a page that
            # finds no room when it is first touched ends the process.
            size = os.fstat(descriptor).st_size
            os.pwrite(descriptor, bytes(max(0, _BYTES - size)), size)
            self._map = mmap.mmap(descriptor, _BYTES)
        finally:
            os.close(descriptor)
        # An aligned eight-byte item is loaded and stored whole, so no process sees half of one.
        self._words = memoryview(self._map).cast("Q")

    def reset(self, counter: int) -> None:
        """Begin anew, while no other process has joined."""
        self._map[:] = bytes(_BYTES)
        self.set_counter(counter)

    def counter(self) -> int:
        """Return the newest change counter."""
        return self._words[_COUNTER]

    def set_counter(self, counter: int) -> None:
        self._words[_COUNTER] = counter

    def appended(self, space: str) -> int:
        """Return how many commits appended rows to this space, or to one that shares its word."""
        return self._words[_append_word(space)]

    def note_append(self, space: str) -> None:
        self._words[_append_word(space)] += 1

    def keeps_log(self) -> bool:
        """Tell whether the log may not be moved or let go of now."""
        return self._words[_KEEPS_LOG] != 0 or self._words[_IS_DAMAGED] != 0

    def keep_log(self) -> None:
        """Have the log kept until the directory is opened afresh."""
        self._words[_KEEPS_LOG] = 1

    def is_damaged(self) -> bool:
        """Tell whether parts of the log may be missing on disk."""
        return self._words[_IS_DAMAGED] != 0

    def set_damaged(self, is_damaged: bool) -> None:
        self._words[_IS_DAMAGED] = is_damaged

    def note_log_on_disk(self, salt: int, frames: int) -> None:
        """Take note that the disk has so many frames of the log with this salt.

        One word holds both, so that no process ever sees the salt of one log with the frames of
        another one.
        """
        known = self._words[_LOG_ON_DISK]
        noted = salt << _FRAMES_BITS | frames
        if known >> _FRAMES_BITS != salt or noted > known:
            self._words[_LOG_ON_DISK] = noted

    def forget_log(self) -> None:
        """Expect nothing of the log, which is about to be taken away."""
        self._words[_LOG_ON_DISK] = 0

    def synced_frames(self, salt: int) -> int:
        """Return how many frames of the log with this salt the disk is known to have."""
        known = self._words[_LOG_ON_DISK]
        return known & ((1 << _FRAMES_BITS) - 1) if known >> _FRAMES_BITS == salt else 0

    def expects_log(self) -> bool:
        """Tell whether there should be a log."""
        return self._words[_LOG_ON_DISK] != 0

    def commit(self) -> int:
        """Return the number of the newest commit, which may be about to become visible."""
        return self._words[_COMMIT]

    def begin_commit(self, number: int, keys: list[bytes] | None) -> None:
        """Announce a commit and the rows it changes (None: any), before it becomes visible."""
        words = self._words
        if keys is None:
            words[_FIRST_STRIPE:] = array("Q", [number]) * _STRIPES
        else:
            for key in keys:
                words[_stripe(key)] = number
        words[_COMMIT] = number

    def synced(self) -> int:
        """Return the number of a commit that is on disk, with all before it."""
        return self._words[_SYNCED]

    def note_synced(self, number: int) -> None:
        if number > self._words[_SYNCED]:
            self._words[_SYNCED] = number

    def newest_commit(self, keys: Sequence[RowKey]) -> int:
        """Return the newest commit that can have changed rows which were just read."""
        newest = 0
        for _, _, key in keys:
            newest = max(newest, self._words[_stripe(key)])
        return newest

    def newest_between(self, lower: bytes, upper: bytes) -> int:
        """Return the same for all rows of a range."""
        if len(lower) >= 2 and lower[:2] == upper[:2]:
            return self._words[_stripe(lower)]
        return self._words[_COMMIT]

    def close(self) -> None:
        self._words.release()
        self._map.close()

    def __enter__(self) -> SharedState:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _append_word(space: str) -> int:
    return _FIRST_APPEND + crc32(space.encode()) % _APPENDS


def _stripe(key: bytes) -> int:
    return _FIRST_STRIPE + (int.from_bytes(key[:2], "big") >> _STRIPE_SHIFT)
