"""Reads metrics: samples by period, with the zeros that DynamoDB publishes for idle tables.

Consumed units are published every minute for every table and global index, as zeros when it is
idle. These zeros are not stored: a minute without samples in which the table existed reads as one
zero. Everything else has points only when something happened.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, final

from hashrange.clock import Clock
from hashrange.limits import TABLES_PER_ACCOUNT_MAX
from hashrange.metrics.buffer import MetricBuffer
from hashrange.metrics.samples import Samples
from hashrange.metrics.series import DYNAMODB, Series, make_series
from hashrange.metrics.store import (
    DAY_SECONDS,
    FIVE_MINUTES,
    HOUR,
    MINUTE,
    RETENTION,
    SECOND,
    Measured,
    MetricStore,
)
from hashrange.storage.catalog import Catalog

CONSUMED: Final = frozenset({"ConsumedReadCapacityUnits", "ConsumedWriteCapacityUnits"})
"""Metrics that are published for idle tables too."""

_TABLE: Final = "TableName"
_INDEX: Final = "GlobalSecondaryIndexName"

Points = dict[int, Samples]
"""Samples by the time at which their period begins."""


@final
class Metrics:
    """The metrics of a server: written by its processes, read by CloudWatch, alarms and others."""

    def __init__(
        self, store: MetricStore, buffer: MetricBuffer, catalog: Catalog, clock: Clock
    ) -> None:
        self._store = store
        self.buffer = buffer
        self._catalog = catalog
        self._clock = clock

    async def consumed(
        self,
        world: tuple[str, str],
        table: str,
        index: str | None,
        name: str,
        span: tuple[float, float],
    ) -> float:
        """Return the sum of a metric of a table, or of a global index of it, over a span of time.

        `world` is account and region; the span is from a time up to another, in full minutes.
        """
        dimensions = {_TABLE: table} if index is None else {_TABLE: table, _INDEX: index}
        series = make_series(*world, DYNAMODB, name, dimensions)
        await self.buffer.flush()
        start, end = int(span[0]), int(span[1])
        found = await self._store.read(series, MINUTE, start - start % MINUTE, end)
        return sum(samples.sum for samples in found.values())

    async def points(
        self, series: Series, start: int, end: int, period: int, *, is_fresh: bool = False
    ) -> Points:
        """Return the samples of a series in periods that begin at `start`, up to `end`.

        `is_fresh` leaves out writing what this process holds, for those who have done so.
        """
        if not is_fresh:
            await self.buffer.flush()
        first = await self._published_from(series)
        tier = self._tier(start, period, is_filled=first is not None)
        rows = await self._store.read(series, tier, start, end)
        points: Points = {}
        for time, samples in rows.items():
            begin = time - (time - start) % period
            points.setdefault(begin, Samples()).merge(samples)
        if first is not None:
            self._fill(points, rows.keys(), (max(start, first), end), start, period, tier)
        return points

    def _tier(self, start: int, period: int, *, is_filled: bool) -> int:
        """Return the largest tier that can be cut into these periods.

        Zeros are filled by the minute as long as there are rows of minutes.
        """
        if is_filled and period % MINUTE == 0 and start > self._clock.now() - RETENTION[MINUTE]:
            return MINUTE
        for tier in (HOUR, FIVE_MINUTES, MINUTE):
            if period % tier == 0 and start % tier == 0:
                return tier
        return SECOND

    def _fill(
        self,
        points: Points,
        present: Iterable[int],
        span: tuple[int, int],
        origin: int,
        period: int,
        tier: int,
    ) -> None:
        """Add a zero for every tier's row that is absent, up to the last complete minute."""
        if tier < MINUTE:
            return
        known = set(present)
        end = min(span[1], int(self._clock.now()) - tier + 1)
        for time in range(-(-span[0] // tier) * tier, end, tier):
            if time not in known:
                points.setdefault(time - (time - origin) % period, Samples()).add_zeros(1)

    async def _published_from(self, series: Series) -> int | None:
        """Return since when zeros are published for a series, None if they are not."""
        if series.namespace != DYNAMODB or series.name not in CONSUMED:
            return None
        names = dict(series.dimensions)
        if not names.keys() <= {_TABLE, _INDEX} or _TABLE not in names:
            return None
        record = await self._catalog.find(series.account, series.region, names[_TABLE])
        if record is None:
            return None
        if _INDEX in names and not any(
            index.name == names[_INDEX] and index.is_global for index in record.indexes
        ):
            return None
        return int(record.created_at)

    async def listed(
        self, account: str, region: str, *parts: str, recent_days: int = 14
    ) -> list[Series]:
        """Return the series that had samples lately; `parts` are namespace and name, if known."""
        await self.buffer.flush()
        oldest = int(self._clock.now()) // DAY_SECONDS - recent_days
        found = await self._store.list(account, region, *parts)
        listed = {series: None for series, _, day in found if day >= oldest}
        if not parts or parts[0] == DYNAMODB:
            for series in await self._published(account, region):
                if not parts[1:] or series.name == parts[1]:
                    listed[series] = None
        return sorted(listed)

    async def _published(self, account: str, region: str) -> list[Series]:
        """Return the series that are published although nothing happens."""
        names, _ = await self._catalog.names(
            account, region, after=None, names_max=TABLES_PER_ACCOUNT_MAX
        )
        found: list[Series] = []
        for name in names:
            record = await self._catalog.find(account, region, name)
            indexes = [] if record is None else [i.name for i in record.indexes if i.is_global]
            for dimensions in ({_TABLE: name}, *({_TABLE: name, _INDEX: i} for i in indexes)):
                found += [
                    make_series(account, region, DYNAMODB, metric, dimensions)
                    for metric in CONSUMED
                ]
        return found

    async def unit(self, series: Series) -> str:
        """Return the unit of a series."""
        for found, unit, _ in await self._store.list(*series[:4]):
            if found == series:
                return unit
        return "Count" if series.name in CONSUMED else "None"

    async def add(self, measured: Measured, resolution: int) -> None:
        """Add samples that a client measured."""
        await self._store.add(measured, self._clock.now(), resolution)

    async def totals(self) -> list[tuple[Series, Samples]]:
        """Return the totals of the database's own metrics since the beginning."""
        await self.buffer.flush()
        return await self._store.totals()
