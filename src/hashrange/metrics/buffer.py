"""Samples of this process that wait to be written, and the task that writes them.

Sources hold samples in a form that is quick to add to; they put them here when they are collected.
Samples are written every few seconds while there are any, before they are read in this process, and
when the process ends.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final, final

from hashrange.beat import rest
from hashrange.clock import Clock
from hashrange.errors import EngineError, UnknownOutcomeError
from hashrange.limits import METRIC_POINTS_PENDING_MAX
from hashrange.log_pace import LogPace
from hashrange.metrics.samples import Samples
from hashrange.metrics.series import Series
from hashrange.metrics.store import MINUTE, MetricStore, Point

_LOGGER: Final = logging.getLogger("hashrange.metrics")
FLUSH_SECONDS: Final = 5.0
"""How far behind other processes see what this one measured, at most."""


@final
class MetricBuffer:
    """The samples of one process on their way to the store."""

    def __init__(self, store: MetricStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._pending: dict[Point, tuple[Samples, str]] = {}
        self._collect: list[Callable[[], None]] = []
        self._write: list[Callable[[], Awaitable[None]]] = []
        self._lock = asyncio.Lock()
        self._loss_pace = LogPace()

    def add_source(self, collect: Callable[[], None]) -> None:
        """Have a source called before samples are written, which adds those it has."""
        self._collect.append(collect)

    def add_writer(self, write: Callable[[], Awaitable[None]]) -> None:
        """Have something else written whenever samples are."""
        self._write.append(write)

    def samples(self, series: Series, minute: int, unit: str) -> Samples:
        """Return the pending samples of a series and a minute, to be added to."""
        point = (series, minute)
        found = self._pending.get(point)
        if found is None:
            if len(self._pending) >= METRIC_POINTS_PENDING_MAX:
                return Samples()
            self._pending[point] = found = (Samples(), unit)
        return found[0]

    def count(self, series: Series, amount: float = 1.0, unit: str = "Count") -> None:
        """Add one sample that was taken now."""
        now = int(self._clock.now())
        self.samples(series, now - now % MINUTE, unit).add(amount)

    async def flush(self) -> None:
        """Write what is pending; samples that could not be written are lost, which is logged."""
        async with self._lock:
            for collect in self._collect:
                collect()
            pending, self._pending = self._pending, {}
            try:
                if pending:
                    await self._store.add(pending, self._clock.now())
                for write in self._write:
                    await write()
            except (EngineError, UnknownOutcomeError) as error:
                if (remark := self._loss_pace.remark()) is not None:
                    _LOGGER.warning("metrics were not written: %s%s", error, remark)

    async def run(self) -> None:
        """Write every few seconds, until cancelled."""
        while True:
            await rest(FLUSH_SECONDS)
            await self.flush()
