"""Room on the disk that is kept for dropping stores when there is none left.

To drop a store frees room in the database, but the transaction that does so needs some in the log.
So a file holds a few megabytes, which are given to the file system when a drop finds the disk full,
and taken again once there is room.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final, final

from hashrange.engine.sqlite.file_locks import open_private

RESERVE_NAME: Final = "RESERVE"
RESERVE_BYTES: Final = 2 << 20


@final
class Reserve:
    """The file with the room; used by any process."""

    __slots__ = ("_path",)

    def __init__(self, directory: Path) -> None:
        self._path = directory / RESERVE_NAME

    def take(self) -> bool:
        """Take the room, unless it is taken or the disk is too full; return whether it is."""
        try:
            descriptor = open_private(self._path)
        except OSError:
            return False
        try:
            if os.fstat(descriptor).st_size < RESERVE_BYTES:
                # Written, not only made longer, which would take no room.
                os.pwrite(descriptor, bytes(RESERVE_BYTES), 0)
            if os.fstat(descriptor).st_size < RESERVE_BYTES:
                os.ftruncate(descriptor, 0)
        except OSError:
            os.ftruncate(descriptor, 0)
            return False
        finally:
            os.close(descriptor)
        return True

    def give(self) -> bool:
        """Give the room back to the file system; return whether there was any."""
        try:
            descriptor = open_private(self._path, os.O_RDWR)
        except OSError:
            return False
        try:
            had_room = os.fstat(descriptor).st_size > 0
            os.ftruncate(descriptor, 0)
        except OSError:
            return False
        finally:
            os.close(descriptor)
        return had_room
