"""Staying awake for a client that was answered alone, because it will soon ask again.

To sleep until it does costs more than to look, turn after turn, whether it has: the processor has
to be woken, and has lost what its caches held. Looking is given up for a while, each time for
longer, when nothing comes.
"""

from __future__ import annotations

import asyncio
from time import perf_counter
from typing import Final, final

# So many answers may pass before it is tried again to wait for what comes after one.
_RESTS_MAX: Final = 63


@final
class Vigil:
    """Keeps an event loop from sleeping for a moment; one per server process."""

    __slots__ = ("_ends_at", "_is_looking", "_loop", "_rests", "_rests_left", "_seconds")

    def __init__(self, loop: asyncio.AbstractEventLoop, seconds: float) -> None:
        self._loop = loop
        self._seconds = seconds
        self._ends_at = 0.0
        self._is_looking = False
        self._rests = 0
        self._rests_left = 0

    def begin(self) -> None:
        """Stay awake from now on, unless that was in vain lately."""
        if self._rests_left > 0:
            self._rests_left -= 1
        elif self._seconds > 0:
            self._ends_at = perf_counter() + self._seconds
            if not self._is_looking:
                self._is_looking = True
                self._loop.call_soon(self._look)

    def end(self) -> None:
        """Take note that something came."""
        if self._ends_at > 0:
            self._ends_at = 0.0
            self._rests = 0

    def _look(self) -> None:
        if perf_counter() < self._ends_at:
            self._loop.call_soon(self._look)
            return
        self._is_looking = False
        if self._ends_at > 0:
            self._ends_at = 0.0
            self._rests = min(2 * self._rests + 1, _RESTS_MAX)
            self._rests_left = self._rests
