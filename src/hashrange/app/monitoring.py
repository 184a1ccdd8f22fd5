"""Composes what measures and watches a server: metrics, alarms and those who read them."""

from __future__ import annotations

import asyncio
from typing import final

from hashrange.clock import Clock
from hashrange.engine.base import Engine
from hashrange.metrics.buffer import MetricBuffer
from hashrange.metrics.reader import Metrics
from hashrange.metrics.store import MetricStore
from hashrange.storage.catalog import Catalog
from hashrange.wire.recorders.request_metrics import RequestMetrics
from hashrange.wire.stages import Recorder


@final
class Monitoring:
    """The metrics of one process; `is_on` is false on a server that measures nothing."""

    def __init__(self, engine: Engine, clock: Clock, *, is_on: bool) -> None:
        self._clock = clock
        self._store = MetricStore(engine)
        self.is_on = is_on
        self.buffer = MetricBuffer(self._store, clock)
        self.recorders: list[Recorder] = []
        if is_on:
            self.recorders.append(RequestMetrics(clock, self.buffer))
        self._writing: asyncio.Task[None] | None = None

    def metrics(self, catalog: Catalog) -> Metrics:
        """Return what reads metrics."""
        return Metrics(self._store, self.buffer, catalog, self._clock)

    def start(self) -> None:
        """Begin to write what is measured, which every process does for itself."""
        self._writing = asyncio.create_task(self.buffer.run())

    async def stop(self) -> None:
        """Write what is left."""
        if self._writing is not None:
            self._writing.cancel()
            await asyncio.gather(self._writing, return_exceptions=True)
            await self.buffer.flush()
