"""Wires automatic scaling: its service, its worker, and their access to tables and metrics."""

from __future__ import annotations

from typing import Final, final

from hashrange.app.database import Database
from hashrange.neighbours.autoscaling import autoscaling_service
from hashrange.neighbours.service import Service as Neighbour
from hashrange.scaling.alarms import Alarms
from hashrange.scaling.store import ScalingStore, World
from hashrange.scaling.worker import Consumption, ScalingWorker
from hashrange.services.background import Service

_IDLE_SECONDS: Final = 1.0


@final
class TableCapacities:
    """The provisioned capacity of tables and global indexes, changed through UpdateTable."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def capacity(self, world: World, table: str, index: str | None) -> dict[str, int] | None:
        """Return ReadCapacityUnits and WriteCapacityUnits, None if nothing is provisioned."""
        record = await self._database.catalog.find(*world, table)
        if record is None or record.gone_at is not None or record.is_on_demand:
            return None
        throughput = record.throughput
        if index is not None:
            found = record.index(index)
            if found is None or not found.is_global:
                return None
            throughput = found.throughput
        return {
            "ReadCapacityUnits": throughput.read_units,
            "WriteCapacityUnits": throughput.write_units,
        }

    async def set_capacity(
        self, world: World, table: str, index: str | None, units: dict[str, int]
    ) -> None:
        """Change both units; raises what UpdateTable answers with."""
        change: dict[str, object] = {"ProvisionedThroughput": units}
        if index is not None:
            update = {"Update": {"IndexName": index, **change}}
            change = {"GlobalSecondaryIndexUpdates": [update]}
        await self._database.call(world, "UpdateTable", {"TableName": table, **change})


@final
class Scaling:
    """Automatic scaling of one process; without metrics, only bounds and schedules."""

    def __init__(
        self, database: Database, consumption: Consumption | None, alarms: Alarms | None
    ) -> None:
        store = ScalingStore(database.engine)
        capacities = TableCapacities(database)
        self.worker = ScalingWorker(store, database.clock, capacities, consumption, alarms)
        self.service: Neighbour = autoscaling_service(
            store, capacities, alarms, is_measuring=consumption is not None
        )
        database.add_services(
            Service("scaling capacity", self.worker.step, idle_seconds=_IDLE_SECONDS)
        )
