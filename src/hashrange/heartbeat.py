"""Heartbeats: how the supervisor finds a worker that hangs.

Each worker adds one to its word of a shared memory from its event loop. The supervisor looks at the
words at regular intervals and counts how often a word stayed the same. It counts looks, not
seconds: when the whole server was stopped and goes on later, nobody is taken for dead.
"""

from __future__ import annotations

import asyncio
import mmap
from typing import Final, final

from hashrange.beat import seconds_to_beat

BEAT_SECONDS: Final = 1.0
LOOK_SECONDS: Final = 1.0
# A worker that is silent for so many looks hangs: its writes, and those of others, wait for it.
_SILENT_LOOKS_MAX: Final = 4


@final
class Heartbeats:
    """A word for each worker; made before the workers are forked."""

    def __init__(self, workers: int) -> None:
        # The map must live as long as the words do.
        self._map = mmap.mmap(-1, 8 * workers)
        self._words = memoryview(self._map).cast("Q")
        self._seen = [0] * workers
        self._silent_looks = [0] * workers

    def start(self, index: int) -> None:
        """Expect nothing of a worker until it beats for the first time; in the supervisor."""
        self._words[index] = 0
        self._seen[index] = 0
        self._silent_looks[index] = 0

    def beat(self, index: int, loop: asyncio.AbstractEventLoop) -> None:
        """Beat from now on; in the worker."""
        self._words[index] += 1
        loop.call_later(seconds_to_beat(BEAT_SECONDS), self.beat, index, loop)

    def hangs(self, index: int) -> bool:
        """Look at a worker; tell whether it has been silent for too long; in the supervisor."""
        beat = self._words[index]
        if beat == 0 or beat != self._seen[index]:
            self._seen[index] = beat
            self._silent_looks[index] = 0
            return False
        self._silent_looks[index] += 1
        return self._silent_looks[index] >= _SILENT_LOOKS_MAX
