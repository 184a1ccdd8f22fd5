"""One loop looks at the shared memory for all that wait, and only while somebody waits."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from hashrange.engine.sqlite.shared_state import SharedState
from hashrange.engine.sqlite.watchers import Watchers

SECONDS_MAX = 20.0

End = Callable[[asyncio.Future[None], SharedState], Awaitable[None]]


async def has_stopped_looking(watchers: Watchers) -> bool:
    deadline = time.monotonic() + SECONDS_MAX
    while time.monotonic() < deadline:
        if watchers._looking is None or watchers._looking.done():
            return True
        await asyncio.sleep(0.01)
    return False


async def cancel(waiting: asyncio.Future[None], shared: SharedState) -> None:
    waiting.cancel()


async def append(waiting: asyncio.Future[None], shared: SharedState) -> None:
    shared.note_append("t")


async def let_time_pass(waiting: asyncio.Future[None], shared: SharedState) -> None:
    await asyncio.wait([waiting], timeout=SECONDS_MAX)


@pytest.mark.parametrize(
    ("end", "seconds"), [(cancel, 600.0), (append, 600.0), (let_time_pass, 0.01)]
)
def test_looking_ends_with_the_last_wait(tmp_path: Path, end: End, seconds: float) -> None:
    async def run(shared: SharedState) -> None:
        watchers = Watchers(shared)
        waiting = asyncio.ensure_future(watchers.wait("t", shared.appended("t"), seconds))
        await asyncio.sleep(0)
        assert watchers._looking is not None
        await end(waiting, shared)
        await asyncio.wait([waiting], timeout=SECONDS_MAX)
        assert waiting.done()
        assert await has_stopped_looking(watchers)
        await watchers.close()

    with SharedState(tmp_path) as shared:
        asyncio.run(run(shared))


def test_closing_ends_the_loop_although_somebody_waits(tmp_path: Path) -> None:
    async def run(shared: SharedState) -> None:
        watchers = Watchers(shared)
        waiting = asyncio.ensure_future(watchers.wait("t", shared.appended("t"), 600))
        await asyncio.sleep(0)
        await watchers.close()
        assert watchers._looking is not None
        assert watchers._looking.done()
        waiting.cancel()

    with SharedState(tmp_path) as shared:
        asyncio.run(run(shared))
