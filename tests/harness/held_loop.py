"""Measures how long one callback keeps an event loop, in CPU time of the thread that runs it."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterator
from typing import Any, final


@final
class Holds:
    """The CPU seconds of each callback."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    @property
    def longest_seconds(self) -> float:
        return max(self.seconds, default=0.0)

    @property
    def total_seconds(self) -> float:
        return sum(self.seconds)

    def share_below(self, seconds: float) -> float:
        """Return which part of the time that callbacks took was taken by shorter ones."""
        return sum(each for each in self.seconds if each < seconds) / self.total_seconds


@contextlib.contextmanager
def held_loop(left_out: tuple[type, ...] = ()) -> Iterator[Holds]:
    """Measure the callbacks of all asyncio loops (not uvloop) in this process.

    Methods of objects of the classes that are `left_out` do not count.
    """
    holds = Holds()
    handle_class: Any = asyncio.Handle
    run = handle_class._run

    def timed(handle: asyncio.Handle) -> None:
        callback = getattr(handle, "_callback", None)  # None once it is cancelled
        before = time.thread_time()
        try:
            run(handle)
        finally:
            seconds = time.thread_time() - before
            if not isinstance(getattr(callback, "__self__", None), left_out):
                holds.seconds.append(seconds)

    handle_class._run = timed
    try:
        yield holds
    finally:
        handle_class._run = run
