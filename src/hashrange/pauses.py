"""Long work in slices, so that other requests are answered between them.

Work on the event loop asks `Pace.is_over` between its steps and then awaits `Pace.pause`. The
*lane* of an event loop resumes one paused coroutine after the other, and lets a few turns of the
loop pass before each: enough for a small request to go from its socket to its answer. However many
requests work for long, the others wait for one slice of one of them, not for all. The request that
paused first goes on first, until it is done, so that few of them hold what they made so far; a
connection tells the *age* of its request when it resumes it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from heapq import heappop, heappush
from time import perf_counter
from typing import Final, final

SLICE_SECONDS: Final = 0.004
"""How long a request may work before it pauses; one step may take it beyond that."""

TURNS_BETWEEN: Final = 24
"""Turns of the event loop between two slices; an idle loop is through them in no time."""

LONG_WORK_BYTES: Final = 64 * 1024
"""Values of this size are worth a pause between two walks over them."""


@final
class Lane:
    """The coroutines of one event loop that wait for their next slice."""

    __slots__ = ("_count", "_is_taken", "_turns_left", "_waiting", "age", "loop")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        # By age and arrival: a heap.
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self._count = 0
        # The age of the request that runs; 0 if it has not paused yet.
        self.age = 0
        # Whether a slice was taken a few turns of the loop ago, or less.
        self._is_taken = False
        self._turns_left = 0

    def enter(self) -> bool:
        """Take a slice now; False if one was taken just before, or others wait for one."""
        if self._is_taken:
            return False
        self._is_taken = True
        self._turns_left = TURNS_BETWEEN
        self.loop.call_soon(self._next)
        return True

    def queue(self) -> asyncio.Future[None]:
        """Return a future that is done when a slice is free in a later turn."""
        future = self.loop.create_future()
        self._count += 1
        if not self.age:
            self.age = self._count
        heappush(self._waiting, (self.age, self._count, future))
        self.enter()
        return future

    def _next(self) -> None:
        if self._turns_left:
            self._turns_left -= 1
            self.loop.call_soon(self._next)
            return
        waiting = self._waiting
        while waiting:
            _, _, future = heappop(waiting)
            if not future.done():
                future.set_result(None)
                self._turns_left = TURNS_BETWEEN
                self.loop.call_soon(self._next)
                return
        self._is_taken = False


_lane: Lane | None = None
_is_inline: ContextVar[bool] = ContextVar("is_inline", default=False)


@contextmanager
def inline() -> Iterator[None]:
    """Pause for nobody inside: a caller that has no time for other coroutines waits for the end."""
    token = _is_inline.set(True)
    try:
        yield
    finally:
        _is_inline.reset(token)


def _running_lane() -> Lane | None:
    """Return the lane of the running loop; None without one, and for in-process databases.

    There is one loop per process, except in tests.
    """
    global _lane
    if _is_inline.get():
        return None
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return None
    if _lane is None or _lane.loop is not loop:
        _lane = Lane(loop)
    return _lane


def begin_resuming(age: int) -> None:
    """Say the age of the request that is about to go on; 0 if it never paused."""
    if _lane is not None:
        _lane.age = age


def end_resuming() -> int:
    """Return the age of the request that just ran, for the next time it goes on."""
    if _lane is None:
        return 0
    age, _lane.age = _lane.age, 0
    return age


async def enter_lane() -> None:
    """Wait until the slice of a turn is free; call it before work that is known to be long."""
    lane = _running_lane()
    if lane is not None and not lane.enter():
        await lane.queue()


@final
class Pace:
    """Measures the slice of one piece of long work."""

    __slots__ = ("_began",)

    def __init__(self) -> None:
        self._began = perf_counter()

    def is_over(self) -> bool:
        """Tell whether the slice is used up."""
        return perf_counter() - self._began > SLICE_SECONDS

    async def pause(self) -> None:
        """Let others go first, then begin another slice."""
        lane = _running_lane()
        if lane is not None:
            await lane.queue()
        self._began = perf_counter()
