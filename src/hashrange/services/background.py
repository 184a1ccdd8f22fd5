"""The loop of the background services, run by one process of a server or cluster at a time.

A service works in small steps and finds its work by itself. The process that holds the lease runs
a step of each service in turn. Work under a lease that was lost unnoticed is harmless, since every
step is a decision on the current rows.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from time import monotonic
from typing import Final, final

from hashrange.beat import Attention, next_beat, rest, seconds_until
from hashrange.engine.base import Engine, Lease
from hashrange.errors import (
    AccessDeniedException,
    CorruptionError,
    EngineError,
    StorageFullError,
    UnknownOutcomeError,
)
from hashrange.log_pace import LogPace

_LOGGER = logging.getLogger("hashrange.background")

_LEASE_NAME: Final = "background"
_LEASE_SECONDS: Final = 10.0
_LEASE_PAUSE_SECONDS: Final = 2.0
_RETRY_SECONDS: Final = 1.0
# No step takes so long; one that does waits for what does not come.
_STEP_SECONDS_MAX: Final = 120.0
_END_SECONDS_MAX: Final = 30.0
# Event loops count milliseconds and may wake up a little early.
_EARLY_SECONDS: Final = 0.001

Step = Callable[[], Awaitable[int]]
"""One bounded piece of work; returns how much it did, 0 when nothing is left for now."""

Run = Callable[[], Awaitable[None]]
"""Work with tasks of its own, which goes on until it is cancelled."""


@final
class Service:
    """A service: its step, and the pauses after a step with and without work.

    `calm_seconds` is the pause without work when the catalog has not changed for a while.
    """

    __slots__ = (
        "_busy_seconds",
        "_calm_seconds",
        "_full_storage_pace",
        "_idle_seconds",
        "_name",
        "_step",
        "due_at",
    )

    def __init__(
        self,
        name: str,
        step: Step,
        *,
        idle_seconds: float,
        busy_seconds: float = 0.0,
        calm_seconds: float | None = None,
    ) -> None:
        self._name = name
        self._step = step
        self._idle_seconds = idle_seconds
        self._calm_seconds = idle_seconds if calm_seconds is None else calm_seconds
        self._busy_seconds = busy_seconds
        self._full_storage_pace = LogPace()
        self.due_at = 0.0

    async def step(self, *, is_calm: bool = False) -> None:
        """Do a piece of work, and note when to do the next."""
        try:
            async with asyncio.timeout(_STEP_SECONDS_MAX):
                done = await self._step()
        except StorageFullError as error:
            if (remark := self._full_storage_pace.remark()) is not None:
                _LOGGER.error("%s found no room in storage: %s%s", self._name, error, remark)
            self.due_at = monotonic() + _RETRY_SECONDS
        except (
            AccessDeniedException,
            CorruptionError,
            EngineError,
            TimeoutError,
            UnknownOutcomeError,
        ):
            # Access is denied to the tables of a KMS key that cannot be used.
            _LOGGER.exception("%s failed; it will be tried again", self._name)
            self.due_at = monotonic() + _RETRY_SECONDS
        else:
            idle_seconds = self._calm_seconds if is_calm else self._idle_seconds
            self.due_at = next_beat(self._busy_seconds if done else idle_seconds)


def on_hint(service: Service, wait: Callable[[float], Awaitable[None]]) -> Run:
    """Return work that steps a service by itself: when it is due, or when `wait` ends early."""

    async def run() -> None:
        while True:
            await service.step()
            await wait(max(0.0, service.due_at - monotonic()))

    return run


@final
class Background:
    """All background work of this process, done while it has the lease."""

    def __init__(self, engine: Engine, services: Sequence[Service], runs: Sequence[Run]) -> None:
        self._engine = engine
        self._services = services
        self._runs = runs
        self._attention = Attention()

    async def run(self) -> None:
        """Work whenever this process holds the lease, until cancelled."""
        while True:
            lease = await self._take_lease()
            if lease is None:
                await rest(_LEASE_PAUSE_SECONDS)
                continue
            await self._work(lease)

    async def _take_lease(self) -> Lease | None:
        try:
            return await self._engine.lease(_LEASE_NAME, _LEASE_SECONDS)
        except EngineError:
            _LOGGER.exception("the lease of the background work could not be taken")
            return None

    async def _work(self, lease: Lease) -> None:
        """Work until the lease is lost."""
        tasks = [asyncio.ensure_future(run()) for run in self._runs]
        try:
            while lease.is_held and not any(task.done() for task in tasks):
                await self._step_due()
        finally:
            for task in tasks:
                task.cancel()
            # Other processes do not wait for them.
            await lease.release()
            if tasks:
                await self._wait_for(tasks)

    async def _wait_for(self, tasks: Sequence[asyncio.Task[None]]) -> None:
        """Wait until cancelled work has ended; what does not end is told, and left alone."""
        done, pending = await asyncio.wait(tasks, timeout=_END_SECONDS_MAX)
        for task in done:
            if not task.cancelled() and task.exception() is not None:
                _LOGGER.critical("background work ended", exc_info=task.exception())
        for task in pending:
            _LOGGER.error("background work does not end: %s", task.get_stack(limit=1))

    async def _step_due(self) -> None:
        """Step the services that are due, then rest until the next one is."""
        is_calm = not self._attention.pay(self._engine.counter())
        for service in self._services:
            if monotonic() >= service.due_at - _EARLY_SECONDS:
                await service.step(is_calm=is_calm)
        next_at = min(service.due_at for service in self._services)
        await asyncio.sleep(seconds_until(next_at))
