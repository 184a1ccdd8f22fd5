"""Runs all triggers: starts and stops mappings, and wakes them when there are new records.

One process does this. Mappings and functions are found in the store, so it does not matter which
process took the request, nor whether the server was stopped in between.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Final, final

from hashrange.beat import CALM_SECONDS, Attention, rest
from hashrange.clock import Clock
from hashrange.engine.base import Engine
from hashrange.errors import CorruptionError, EngineError, UnknownOutcomeError
from hashrange.model.triggers import MappingRecord
from hashrange.services.triggers.configured import ConfiguredTriggers
from hashrange.services.triggers.destinations import Destinations
from hashrange.services.triggers.functions import Functions
from hashrange.services.triggers.mappings import MappingRun
from hashrange.services.triggers.meter import FunctionMeter
from hashrange.services.triggers.shards import Delivery
from hashrange.services.triggers.sources import Pulse, StreamSource
from hashrange.services.triggers.targets import Surroundings
from hashrange.storage.catalog import Catalog
from hashrange.storage.triggers import TriggerStore

_LOGGER = logging.getLogger("hashrange.triggers")

_POLL_SECONDS: Final = 0.02
_IDLE_POLL_SECONDS: Final = 0.1
_RETRY_SECONDS: Final = 1.0
# For invocations under way when the server stops; what is cut off is delivered again.
_STOP_SECONDS_MAX: Final = 3.0


@final
class Triggers:
    """The running mappings of all accounts and regions."""

    def __init__(
        self,
        engine: Engine,
        clock: Clock,
        catalog: Catalog,
        store: TriggerStore,
        *,
        configured: Sequence[MappingRecord] = (),
        surroundings: Surroundings,
    ) -> None:
        self._engine = engine
        self._clock = clock
        self._store = store
        self._configured = ConfiguredTriggers(catalog, store, clock, configured)
        self._functions = Functions(store, surroundings)
        self._destinations = Destinations(self._functions)
        self._pulse = Pulse(engine)
        self._counter = -1
        self._attention = Attention()
        self._running: dict[str, _Running] = {}

    def measure(self, meter: FunctionMeter) -> None:
        """Have invocations measured."""
        self._functions.meter = meter

    async def run(self) -> None:
        """Run triggers for as long as the process lives."""
        try:
            while True:
                try:
                    await self._look()
                except (CorruptionError, EngineError, UnknownOutcomeError):
                    _LOGGER.exception("triggers cannot be read; it will be tried again")
                    await asyncio.sleep(_RETRY_SECONDS)
                await rest(self._poll_seconds())
        finally:
            await self._close()

    def _poll_seconds(self) -> float:
        if self._running:
            return _POLL_SECONDS
        is_attentive = self._attention.pay(self._engine.counter())
        return _IDLE_POLL_SECONDS if is_attentive else CALM_SECONDS

    async def _look(self) -> None:
        """Start and stop mappings when the store has changed."""
        counter = self._engine.counter()
        if counter == self._counter:
            return
        await self._configured.apply()
        wanted = {
            mapping.uuid: mapping for mapping in await self._store.mappings() if mapping.is_enabled
        }
        for uuid, running in list(self._running.items()):
            if wanted.get(uuid) != running.mapping:
                running.run.stop()
        for uuid, mapping in wanted.items():
            before = self._running.get(uuid)
            if before is None or before.mapping != mapping:
                self._begin(mapping, before)
            else:
                before.run.look_again()
        self._pulse.wake()
        self._counter = counter

    def _begin(self, mapping: MappingRecord, before: _Running | None) -> None:
        source = StreamSource(self._engine, self._clock, mapping.stream_arn)
        delivery = Delivery(
            mapping, self._clock, self._pulse, source, self._functions, self._destinations
        )
        run = MappingRun(delivery, self._store)
        task = asyncio.create_task(_run_after(None if before is None else before.task, run))
        running = _Running(mapping, run, task)
        self._running[mapping.uuid] = running
        task.add_done_callback(lambda task: self._forget(running, task))

    def _forget(self, running: _Running, task: asyncio.Task[None]) -> None:
        if self._running.get(running.mapping.uuid) is running:
            del self._running[running.mapping.uuid]
        if not task.cancelled() and task.exception() is not None:
            _LOGGER.critical("mapping %s ended", running.mapping.uuid, exc_info=task.exception())

    async def _close(self) -> None:
        """Stop everything, giving invocations that are under way a little time."""
        tasks = []
        for running in self._running.values():
            running.run.stop()
            tasks.append(running.task)
        self._pulse.wake()
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=_STOP_SECONDS_MAX)
            for task in late:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        await self._functions.close()


@final
class _Running:
    """A mapping as it was when it was started."""

    __slots__ = ("mapping", "run", "task")

    def __init__(self, mapping: MappingRecord, run: MappingRun, task: asyncio.Task[None]) -> None:
        self.mapping = mapping
        self.run = run
        self.task = task


async def _run_after(before: asyncio.Task[None] | None, run: MappingRun) -> None:
    """Run a mapping after its earlier version has ended, so that records stay in order."""
    if before is not None:
        await asyncio.wait([before])
    await run.run()
