"""Waits for appends: one loop polls the shared memory for all waiting tasks of this process."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Final, final

from hashrange.engine.sqlite.shared_state import SharedState

_LOOK_SECONDS: Final = 0.01


@final
class Watchers:
    """Wakes tasks that wait for appends to a space, by this process or another."""

    def __init__(self, shared: SharedState) -> None:
        self._shared = shared
        self._waits: dict[str, tuple[int, asyncio.Event]] = {}
        self._looking: asyncio.Task[None] | None = None

    async def wait(self, space: str, seen: int, seconds: float) -> None:
        """Wait until the mark of a space differs from the one seen, at most so many seconds."""
        if self._shared.appended(space) != seen:
            return
        _, event = self._waits.setdefault(space, (seen, asyncio.Event()))
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look())
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await event.wait()
        finally:
            if not event.is_set():
                # Its time is over, or it was cancelled. Others who wait for this space may be
                # woken with it: a watch is only a hint.
                self._waits.pop(space, None)
                event.set()

    async def close(self) -> None:
        """End the loop."""
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.gather(self._looking, return_exceptions=True)

    async def _look(self) -> None:
        while self._waits:
            await asyncio.sleep(_LOOK_SECONDS)
            for space, (seen, event) in list(self._waits.items()):
                if self._shared.appended(space) != seen:
                    del self._waits[space]
                    event.set()
