"""The store of metrics: one space with one shard, into which every process merges its samples.

sample row    := Samples          under "s" series-id tier(4) time(4)
series row    := JSON [dimensions as pairs, unit, last day]
                                  under "d" account 0 region 0 namespace 0 name 0 series-id

A sample row holds the samples of one series from `time` for `tier` seconds. Samples are merged into
the rows of all tiers when they are written, so no rows are rolled up later: retention deletes. Tier
0 holds the totals since the beginning, of the database's own series alone.

Merging is a decision on the rows as they are, so the processes of a server need no rows of their
own. A process that dies loses what it has not written yet, some seconds at most. If the outcome of
a write is unknown, its samples are not written again: a metric may miss some, and counts none
twice.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Final, final

import orjson

from hashrange.engine.base import STRONG, Changes, Engine, Fence, Row, RowKey
from hashrange.limits import METRIC_SERIES_PER_WRITE_MAX
from hashrange.metrics.samples import Samples, unpack
from hashrange.metrics.series import DYNAMODB, INTERNAL, LAMBDA, Series

STORE: Final = "metrics"

TOTALS: Final = 0
SECOND: Final = 1
MINUTE: Final = 60
FIVE_MINUTES: Final = 300
HOUR: Final = 3600
DAY_SECONDS: Final = 86_400
RETENTION: Final = {
    SECOND: 3 * HOUR,
    MINUTE: 15 * DAY_SECONDS,
    FIVE_MINUTES: 63 * DAY_SECONDS,
    HOUR: 455 * DAY_SECONDS,
}
"""How long the rows of a tier are kept, in seconds, as CloudWatch keeps them."""

_KEPT_TIERS: Final = (MINUTE, FIVE_MINUTES, HOUR)
_ROWS_MAX: Final = 1000
_BYTES_MAX: Final = 1 << 20
_OWN: Final = (DYNAMODB, INTERNAL, LAMBDA)

Point = tuple[Series, int]
"""A series and a time, a full minute unless it is of high resolution."""

Measured = Mapping[Point, tuple[Samples, str]]
"""Samples and their unit."""


def sample_key(series_id: bytes, tier: int, time: int) -> bytes:
    """Return where the samples of a series are."""
    return b"s" + series_id + tier.to_bytes(4, "big") + time.to_bytes(4, "big")


def _series_key(series: Series) -> bytes:
    return _series_prefix(*series[:4]) + series.id


def _series_prefix(*parts: str) -> bytes:
    return b"d" + b"".join(part.encode() + b"\x00" for part in parts)


@final
class MetricStore:
    """The metrics of all accounts, on an engine; one per process."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        # The day on which this process last wrote the row of a series.
        self._listed: dict[Series, int] = {}

    async def add(self, measured: Measured, now: float, resolution: int = MINUTE) -> None:
        """Merge samples into the rows of all tiers from a resolution on, SECOND or MINUTE."""
        points = list(measured.items())
        today = int(now) // DAY_SECONDS
        for begin in range(0, len(points), METRIC_SERIES_PER_WRITE_MAX):
            part = points[begin : begin + METRIC_SERIES_PER_WRITE_MAX]
            merges: dict[bytes, Samples] = {}
            puts: list[tuple[bytes, bytes]] = []
            for (series, time), (samples, unit) in part:
                for key in _rows_of(series, time, resolution):
                    known = merges.get(key)
                    if known is None:
                        merges[key] = known = Samples()
                    known.merge(samples)
                if self._listed.get(series) != today:
                    row = orjson.dumps([series.dimensions, unit, today])
                    puts.append((_series_key(series), row))
            await self._engine.write(_Merge(merges, puts))
            self._listed.update({series: today for (series, _), _ in part})

    async def read(self, series: Series, tier: int, start: int, end: int) -> dict[int, Samples]:
        """Return the samples of a series from one time to another, by time."""
        found: dict[int, Samples] = {}
        lower, upper = sample_key(series.id, tier, start), sample_key(series.id, tier, end)
        async for key, row in self._rows(lower, upper):
            found[int.from_bytes(key[-4:], "big")] = unpack(row)
        return found

    async def totals(self) -> list[tuple[Series, Samples]]:
        """Return the totals of the database's own series."""
        listed = [series for series, _, _ in await self.list() if series.namespace in _OWN]
        found: list[tuple[Series, Samples]] = []
        for begin in range(0, len(listed), _ROWS_MAX):
            part = listed[begin : begin + _ROWS_MAX]
            keys: list[RowKey] = [(STORE, 0, sample_key(s.id, TOTALS, 0)) for s in part]
            rows = await self._engine.read(keys, STRONG)
            found.extend(
                (series, unpack(row))
                for series, row in zip(part, rows, strict=True)
                if row is not None
            )
        return found

    async def list(self, *parts: str) -> list[tuple[Series, str, int]]:
        """Return series with their units and the last day they had samples on.

        `parts` are as many of account, region, namespace and name as are known.
        """
        prefix = _series_prefix(*parts)
        found: list[tuple[Series, str, int]] = []
        async for key, row in self._rows(prefix, prefix + b"\xff" if parts else b"e"):
            names = [part.decode() for part in key[1:].split(b"\x00", 4)[:4]]
            pairs, unit, day = orjson.loads(row)
            dimensions = tuple((name, value) for name, value in pairs)
            found.append((Series(names[0], names[1], names[2], names[3], dimensions), unit, day))
        return found

    async def _rows(self, lower: bytes, upper: bytes) -> AsyncIterator[Row]:
        ended = False
        while not ended:
            rows, ended = await self._engine.range(
                STORE,
                0,
                lower,
                upper,
                reverse=False,
                rows_max=_ROWS_MAX,
                bytes_max=_BYTES_MAX,
                consistency=STRONG,
            )
            for row in rows:
                yield row
            if rows:
                lower = rows[-1][0] + b"\x00"

    async def drop_old(self, series: Series, now: float, *, day: int) -> int:
        """Delete a bounded number of rows that are too old; return how many."""
        doomed: list[RowKey] = []
        for tier, seconds in RETENTION.items():
            rows, _ = await self._engine.range(
                STORE,
                0,
                sample_key(series.id, tier, 0),
                sample_key(series.id, tier, max(0, int(now) - seconds)),
                reverse=False,
                rows_max=_ROWS_MAX,
                bytes_max=_BYTES_MAX,
                consistency=STRONG,
            )
            doomed.extend((STORE, 0, key) for key, _ in rows)
        if day * DAY_SECONDS < now - RETENTION[HOUR] - DAY_SECONDS:
            doomed.append((STORE, 0, _series_key(series)))
            doomed.append((STORE, 0, sample_key(series.id, TOTALS, 0)))
        if doomed:
            await self._engine.write(Removal(doomed))
        return len(doomed)


def _rows_of(series: Series, time: int, resolution: int) -> list[bytes]:
    """Return the keys of the rows that the samples of a time belong to."""
    id = series.id
    keys = [sample_key(id, tier, time - time % tier) for tier in _KEPT_TIERS]
    if resolution == SECOND:
        keys.append(sample_key(id, SECOND, time))
    if series.namespace in _OWN:
        keys.append(sample_key(id, TOTALS, 0))
    return keys


@final
class _Merge:
    """The decision that merges samples into rows."""

    def __init__(self, merges: Mapping[bytes, Samples], puts: Sequence[Row]) -> None:
        self.fences: Sequence[Fence] = ()
        self._merges = merges
        self._puts = puts
        self.keys: Sequence[RowKey] = [(STORE, 0, key) for key in merges]

    def decide(self, rows: Sequence[bytes | None]) -> Changes:
        changes = Changes()
        changes.creates = [STORE]
        for (key, samples), row in zip(self._merges.items(), rows, strict=True):
            merged = Samples() if row is None else unpack(row)
            merged.merge(samples)
            changes.puts.append((STORE, 0, key, merged.pack()))
        changes.puts.extend((STORE, 0, key, row) for key, row in self._puts)
        return changes


@final
class Removal:
    """The decision that deletes rows, whatever is in them."""

    def __init__(self, keys: Sequence[RowKey]) -> None:
        self.fences: Sequence[Fence] = ()
        self.keys = keys

    def decide(self, rows: Sequence[bytes | None]) -> Changes:
        changes = Changes()
        changes.deletes.extend(self.keys)
        return changes
