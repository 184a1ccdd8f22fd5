"""Publishes the gauges of tables every five minutes, and deletes metrics that are too old.

Gauges are what a table is set to, not what happened to it: provisioned and maximal throughput, the
quotas of the account and their use.
"""

from __future__ import annotations

from typing import Final, final

from hashrange.alarms.store import AlarmStore
from hashrange.clock import Clock
from hashrange.limits import ACCOUNT_CAPACITY_UNITS_MAX, TABLE_CAPACITY_UNITS_MAX
from hashrange.metrics.buffer import MetricBuffer
from hashrange.metrics.insights import InsightStore
from hashrange.metrics.series import DYNAMODB, Series, make_series
from hashrange.metrics.store import FIVE_MINUTES, HOUR, MetricStore
from hashrange.model.records import IndexRecord, TableRecord
from hashrange.storage.catalog import Catalog

_USAGE: Final = "AWS/Usage"
_DIRECTIONS: Final = (("Read", "read_units"), ("Write", "write_units"))


@final
class MetricUpkeep:
    """Gauges and retention; one process does it."""

    def __init__(
        self,
        stores: tuple[MetricStore, InsightStore],
        buffer: MetricBuffer,
        catalog: Catalog,
        alarms: AlarmStore,
        clock: Clock,
    ) -> None:
        self._store, self._insights = stores
        self._buffer = buffer
        self._catalog = catalog
        self._alarms = alarms
        self._clock = clock
        self._published = -1
        self._swept = -1
        self._sweeping: list[tuple[Series, str, int]] = []

    async def step(self) -> int:
        """Do a bounded piece of work; return 0 when there is nothing to do now."""
        now = self._clock.now()
        if int(now) // FIVE_MINUTES != self._published:
            self._published = int(now) // FIVE_MINUTES
            await self._publish()
            await self._buffer.flush()
        if int(now) // HOUR != self._swept:
            self._swept = int(now) // HOUR
            self._sweeping = await self._store.list()
            await self._alarms.drop_old_history()
            while await self._insights.drop_old(now):
                pass
        if not self._sweeping:
            return 0
        series, _, day = self._sweeping[-1]
        if not await self._store.drop_old(series, now, day=day):
            self._sweeping.pop()
        return 1

    async def _publish(self) -> None:
        """Add the gauges of all tables."""
        by_world: dict[tuple[str, str], list[TableRecord]] = {}
        for account, region, name in await self._catalog.tables():
            record = await self._catalog.find(account, region, name)
            if record is not None:
                by_world.setdefault((account, region), []).append(record)
        for world, records in by_world.items():
            for record in records:
                self._publish_table(world, record)
            self._publish_account(world, records)

    def _publish_table(self, world: tuple[str, str], record: TableRecord) -> None:
        table = {"TableName": record.name}
        holders: list[tuple[TableRecord | IndexRecord, dict[str, str]]] = [(record, table)]
        for index in record.indexes:
            if index.is_global:
                dimensions = {**table, "GlobalSecondaryIndexName": index.name}
                holders.append((index, dimensions))
        for holder, dimensions in holders:
            for direction, field in _DIRECTIONS:
                units = getattr(holder.throughput, field)
                if units:
                    name = f"Provisioned{direction}CapacityUnits"
                    self._gauge(world, name, units, dimensions)
                ceiling = (holder.on_demand or {}).get(f"Max{direction}RequestUnits", -1)
                if ceiling > 0:
                    self._gauge(world, f"OnDemandMax{direction}RequestUnits", ceiling, dimensions)

    def _publish_account(self, world: tuple[str, str], records: list[TableRecord]) -> None:
        for direction, field in _DIRECTIONS:
            throughputs = [record.throughput for record in records]
            throughputs += [i.throughput for r in records for i in r.indexes if i.is_global]
            each = [getattr(throughput, field) for throughput in throughputs]
            total, largest = sum(each), max(each, default=0)
            kind = f"{direction}CapacityUtilization"
            for name, value in (
                (f"AccountMax{direction}s", ACCOUNT_CAPACITY_UNITS_MAX),
                (f"AccountMaxTableLevel{direction}s", TABLE_CAPACITY_UNITS_MAX),
            ):
                self._gauge(world, name, value, {})
            for name, share in (
                (f"AccountProvisioned{kind}", total / ACCOUNT_CAPACITY_UNITS_MAX),
                (f"MaxProvisionedTable{kind}", largest / TABLE_CAPACITY_UNITS_MAX),
            ):
                self._gauge(world, name, 100 * share, {}, "Percent")
            self._usage(world, f"AccountProvisioned{direction}CapacityUnits", total)
        self._usage(world, "TableCount", len(records))

    def _usage(self, world: tuple[str, str], resource: str, value: float) -> None:
        dimensions = {
            "Type": "Resource",
            "Resource": resource,
            "Service": "DynamoDB",
            "Class": "None",
        }
        series = make_series(*world, _USAGE, "ResourceCount", dimensions)
        self._buffer.count(series, value)

    def _gauge(
        self,
        world: tuple[str, str],
        name: str,
        value: float,
        dimensions: dict[str, str],
        unit: str = "Count",
    ) -> None:
        self._buffer.count(make_series(*world, DYNAMODB, name, dimensions), float(value), unit)
