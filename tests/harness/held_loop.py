"""Measures how long one callback keeps an event loop, in CPU time of the thread that runs it."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterator
from typing import Any, final


@final
class Holds:
    """The CPU seconds of the longest callback, and of all together."""

    def __init__(self) -> None:
        self.longest_seconds = 0.0
        self.total_seconds = 0.0

    def note(self, seconds: float) -> None:
        """Count one callback."""
        self.total_seconds += seconds
        self.longest_seconds = max(self.longest_seconds, seconds)


@contextlib.contextmanager
def held_loop() -> Iterator[Holds]:
    """Measure the callbacks of all asyncio loops (not uvloop) in this process."""
    holds = Holds()
    handle_class: Any = asyncio.Handle
    run = handle_class._run

    def timed(handle: asyncio.Handle) -> None:
        before = time.thread_time()
        try:
            run(handle)
        finally:
            holds.note(time.thread_time() - before)

    handle_class._run = timed
    try:
        yield holds
    finally:
        handle_class._run = run
