"""Long work in slices, so that other requests are answered between them.

Work on the event loop asks `Pace.is_over` between its steps and then awaits `Pace.pause`. The
*lane* of an event loop resumes one paused coroutine after the other, and lets a few turns of the
loop pass before each: enough for a small request to go from its socket to its answer. However many
requests work for long, the others wait for one slice of one of them, not for all. The request that
paused first goes on first, until it is done, so that few of them hold what they made so far; a
connection tells the *age* of its request when it resumes it.

Pure work that has no steps, such as a check of very many values, goes to `off_loop`: a thread,
beside which the event loop answers small requests. It holds the lane meanwhile, so that other long
work does not begin, and does not fill the memory with what it has made so far. A read that pauses
for the first time while many wait is given up by `CrowdedError`, and begins again in its turn.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from functools import partial
from heapq import heappop, heappush
from time import perf_counter
from typing import Final, ParamSpec, TypeVar, final

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")

SLICE_SECONDS: Final = 0.004
"""How long a request may work before it pauses; one step may take it beyond that."""

TURNS_BETWEEN: Final = 24
"""Turns of the event loop between two slices; an idle loop is through them in no time."""

CROWD: Final = 8
"""Coroutines that may wait for their next slice and keep what they have made so far."""

LONG_WORK_BYTES: Final = 64 * 1024
"""Values of this size are worth a pause between two walks over them."""


class CrowdedError(Exception):
    """Too many requests work for long; a read has to begin again, after `wait_for_turn`."""


@final
class Lane:
    """The coroutines of one event loop that wait for their next slice."""

    __slots__ = (
        "_count",
        "_is_counting",
        "_is_held",
        "_is_taken",
        "_turns_left",
        "_waiting",
        "age",
        "loop",
    )

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        # By age and arrival: a heap.
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self._count = 0
        # The age of the request that runs; 0 if it has not paused yet.
        self.age = 0
        # Whether a slice was taken a few turns of the loop ago, or less.
        self._is_taken = False
        # Whether work off the loop is under way, and whether turns are being counted.
        self._is_held = self._is_counting = False
        self._turns_left = 0

    def enter(self) -> bool:
        """Take a slice now; False if one was taken just before, or others wait for one."""
        if self._is_taken:
            return False
        self._is_taken = True
        self._count_turns()
        return True

    def hold(self) -> bool:
        """Let no slice begin until `release`; False if that was asked for by other work."""
        if self._is_held:
            return False
        self._is_held = self._is_taken = True
        return True

    def release(self) -> None:
        """Let slices begin again."""
        self._is_held = False
        if not self.loop.is_closed():  # as when work is given up because the server ends
            self._count_turns()

    def queue(self) -> asyncio.Future[None]:
        """Return a future that is done when a slice is free in a later turn."""
        future = self.loop.create_future()
        self._count += 1
        if not self.age:
            self.age = self._count
        heappush(self._waiting, (self.age, self._count, future))
        self.enter()
        return future

    @property
    def is_crowded(self) -> bool:
        """Whether many wait, and the request that runs has not waited yet."""
        return not self.age and len(self._waiting) >= CROWD

    def _count_turns(self) -> None:
        self._turns_left = TURNS_BETWEEN
        if not self._is_counting:
            self._is_counting = True
            self.loop.call_soon(self._next)

    def _next(self) -> None:
        if self._turns_left:
            self._turns_left -= 1
            self.loop.call_soon(self._next)
            return
        self._is_counting = False
        if self._is_held:
            return
        waiting = self._waiting
        while waiting:
            _, _, future = heappop(waiting)
            if not future.done():
                future.set_result(None)
                self._count_turns()
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


async def wait_for_turn() -> None:
    """Wait until all long work that began earlier is done, or waits for something else."""
    lane = _running_lane()
    if lane is not None:
        await lane.queue()


_thread: ThreadPoolExecutor | None = None


@asynccontextmanager
async def held_lane() -> AsyncIterator[None]:
    """Let no other long work go on inside; for work in `in_thread` that needs much memory."""
    lane = _running_lane()
    if lane is None:
        yield
        return
    while not lane.hold():
        await lane.queue()
    try:
        yield
    finally:
        lane.release()


async def in_thread(
    work: Callable[_Parameters, _Result],
    /,
    *arguments: _Parameters.args,
    **keywords: _Parameters.kwargs,
) -> _Result:
    """Return the result of work that neither waits nor touches anything but its arguments."""
    global _thread
    lane = _running_lane()
    if lane is None:
        return work(*arguments, **keywords)
    if _thread is None:
        _thread = ThreadPoolExecutor(1, "hashrange-long-work")
    return await lane.loop.run_in_executor(_thread, partial(work, *arguments, **keywords))


async def off_loop(
    work: Callable[_Parameters, _Result],
    /,
    *arguments: _Parameters.args,
    **keywords: _Parameters.kwargs,
) -> _Result:
    """Do one piece of such work, and let no other long work go on meanwhile."""
    async with held_lane():
        return await in_thread(work, *arguments, **keywords)


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

    async def pause_or_restart(self) -> None:
        """Pause; raise CrowdedError instead, if it is the first pause and many others wait.

        For reads that hold much and have changed nothing so far, not even a meter.
        """
        lane = _running_lane()
        if lane is not None and lane.is_crowded:
            raise CrowdedError
        await self.pause()
