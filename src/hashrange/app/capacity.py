"""Wires capacity: the meters of tables, and how processes tell each other what they took."""

from __future__ import annotations

import asyncio
import logging
from time import monotonic
from typing import Final, final

from hashrange.beat import rest
from hashrange.capacity.buckets import Totals
from hashrange.clock import Clock
from hashrange.config import Settings
from hashrange.engine.base import Engine
from hashrange.errors import EngineError, UnknownOutcomeError
from hashrange.log_pace import LogPace
from hashrange.storage.meters import Meters
from hashrange.storage.row_totals import RowTotals

_LOGGER: Final = logging.getLogger("hashrange.capacity")
_pace: Final = LogPace()
# How often a process looks at what others took.
LOOK_SECONDS: Final = 1.0
# The same where looking is a statement to a cluster, and this process has taken nothing lately.
_IDLE_LOOK_SECONDS: Final = 5.0


@final
class SharedMeters:
    """The meters of this process, and the task that keeps them in touch with those of others."""

    def __init__(
        self, settings: Settings, engine: Engine, clock: Clock, totals: Totals | None
    ) -> None:
        self._rows: RowTotals | None = None
        self._clock = clock
        # An engine whose shards change one at a time may be used by other machines as well.
        if settings.capacity != "off" and not engine.capabilities.atomic_across_shards:
            totals = self._rows = RowTotals(engine)
        self.meters = Meters(settings.capacity, clock, totals)
        self._is_shared = totals is not None and settings.capacity != "off"
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Look at what other processes take, from now on; nothing to do without others."""
        if self._is_shared:
            self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Stop looking."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        looked_at = -_IDLE_LOOK_SECONDS
        while True:
            is_idle = self._rows is not None and not self._rows.is_changed
            if not is_idle or monotonic() - looked_at >= _IDLE_LOOK_SECONDS:
                looked_at = monotonic()
                await self.look()
            await rest(LOOK_SECONDS)

    async def look(self) -> None:
        """Take note of what other processes took so far."""
        if self._rows is not None:
            try:
                await self._rows.exchange(self._clock.now())
            except (EngineError, UnknownOutcomeError) as error:
                if (remark := _pace.remark()) is not None:
                    _LOGGER.warning("consumed capacity was not exchanged: %s%s", error, remark)
        self.meters.look()
