"""Files of the data directory that are locked: the turn to write, and leases.

Every file is opened without following a symbolic link, and can be read by its owner only. The
kernel frees the locks of a process that ends.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import Final, final

LEASE_PREFIX: Final = "LEASE."
CHECKPOINT_LOCK_NAME: Final = LEASE_PREFIX + "checkpoint"
PRIVATE_MODE: Final = 0o600


def open_private(path: Path, flags: int = os.O_RDWR | os.O_CREAT) -> int:
    """Open a file of ours, making it if it is missing."""
    return os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW, PRIVATE_MODE)


@final
class WriteTurn:
    """Lets the processes of one server write in turns, waiting without polling.

    Two file locks make it fair: whoever wants the turn first takes the QUEUE lock and keeps it
    while waiting for TURN. A process that has just written finds QUEUE taken when another one
    waits, so it cannot push in front.
    """

    def __init__(self, directory: Path) -> None:
        self._queue = open_private(directory / "QUEUE")
        self._turn = open_private(directory / "TURN")

    def try_take(self) -> bool:
        """Take the turn if nobody has it and nobody waits for it."""
        try:
            fcntl.flock(self._queue, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        try:
            fcntl.flock(self._turn, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        finally:
            fcntl.flock(self._queue, fcntl.LOCK_UN)
        return True

    def take(self) -> None:
        """Wait for the turn; blocks the calling thread."""
        fcntl.flock(self._queue, fcntl.LOCK_EX)
        try:
            fcntl.flock(self._turn, fcntl.LOCK_EX)
        finally:
            fcntl.flock(self._queue, fcntl.LOCK_UN)

    def give(self) -> None:
        """Give the turn back."""
        fcntl.flock(self._turn, fcntl.LOCK_UN)

    def close(self) -> None:
        os.close(self._queue)
        os.close(self._turn)


@final
class FileLease:
    """A lease: a file lock, which ends with the process that holds it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.is_held = True

    async def release(self) -> None:
        if self.is_held:
            self.is_held = False
            os.close(self._descriptor)


def take_lease(directory: Path, name: str) -> FileLease | None:
    """Take a lease, unless it is taken."""
    descriptor = open_private(directory / (LEASE_PREFIX + name))
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        if isinstance(error, BlockingIOError):
            return None
        raise
    return FileLease(descriptor)
