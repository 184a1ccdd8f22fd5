"""Consumed capacity, noted in the scope of every request, and item collection metrics."""

from __future__ import annotations

from typing import Any, final

from hashrange.api.items.admission import charge_write
from hashrange.api.operation import Request
from hashrange.api.scope import RequestScope
from hashrange.limits import READ_UNIT_BYTES
from hashrange.model.schema import Table
from hashrange.storage.writes import ItemOutcome, ItemWrite

_GIGABYTE = 1 << 30


def read_units(size: int, *, consistent: bool) -> float:
    """Return the read capacity units for this many bytes."""
    units = 1 if size <= READ_UNIT_BYTES else -(-size // READ_UNIT_BYTES)
    return float(units) if consistent else units / 2


@final
class Capacity:
    """What a request consumed of one table and of its indexes."""

    __slots__ = ("indexes", "table", "table_units")

    def __init__(self, table: Table, table_units: float = 0.0) -> None:
        self.table = table
        self.table_units = table_units
        self.indexes: dict[str, float] = {}

    def charge_index(self, name: str, units: float) -> None:
        """Add units consumed of an index."""
        self.indexes[name] = self.indexes.get(name, 0.0) + units

    def charge_write(self, outcome: ItemOutcome, factor: int = 1) -> None:
        """Add what an item write consumed; transactions double the table's part alone."""
        self.table_units += outcome.units * factor
        for name, units in outcome.charges.items():
            self.charge_index(name, units)

    def note_reads(self, scope: RequestScope) -> None:
        """Note the units as read units of a request."""
        scope.note_read(self.table.name, self.table_units)
        for name, units in self.indexes.items():
            scope.note_read(self.table.name, units, name)

    def note_writes(self, scope: RequestScope) -> None:
        """Note the units as write units of a request."""
        scope.note_write(self.table.name, self.table_units)
        for name, units in self.indexes.items():
            scope.note_write(self.table.name, units, name)

    def document(self, detail: str, direction: str | None = None) -> dict[str, Any]:
        """Return the ConsumedCapacity document.

        `direction` ("Read" or "Write") adds the split units that transactions report.
        """
        total = self.table_units + sum(self.indexes.values())
        document = _units(total, direction)
        document["TableName"] = self.table.name
        if detail == "INDEXES":
            document["Table"] = _units(self.table_units, direction)
            for member, is_global in _INDEX_MEMBERS:
                arms = {
                    name: _units(units, direction)
                    for name, units in self.indexes.items()
                    if self.table.by_name[name].is_global is is_global
                }
                if arms:
                    document[member] = arms
        return document


_INDEX_MEMBERS = (("GlobalSecondaryIndexes", True), ("LocalSecondaryIndexes", False))


def _units(units: float, direction: str | None) -> dict[str, Any]:
    document: dict[str, Any] = {"CapacityUnits": units}
    if direction is not None:
        document[f"{direction}CapacityUnits"] = units
    return document


def capacity_detail(request: Request) -> str | None:
    """Return how much of the consumed capacity is asked for: TOTAL, INDEXES or None."""
    detail: str | None = request.get("ReturnConsumedCapacity")
    return None if detail == "NONE" else detail


def wants_collection_metrics(request: Request) -> bool:
    """Tell whether item collection metrics are asked for."""
    return request.get("ReturnItemCollectionMetrics") == "SIZE"


def collection_metrics(write: ItemWrite, outcome: ItemOutcome) -> dict[str, Any]:
    """Return the ItemCollectionMetrics of a write to a table with local indexes."""
    partition = write.table.partition.name
    gigabytes = outcome.collection_size / _GIGABYTE
    return {
        "ItemCollectionKey": {partition: write.key_item[partition]},
        "SizeEstimateRangeGB": [float(int(gigabytes)), float(int(gigabytes) + 1)],
    }


def note_outcome(scope: RequestScope, write: ItemWrite, outcome: ItemOutcome) -> None:
    """Note the units of a single write; a failed condition consumes them too."""
    name = write.table.name
    if write.table.meter is not None:
        charge_write(scope, write, outcome)
    scope.consumed.append((name, None, 0.0, outcome.units))
    if outcome.charges:
        for index, units in outcome.charges.items():
            scope.note_write(name, units, index)


def report_write(
    response: dict[str, Any], request: Request, write: ItemWrite, outcome: ItemOutcome
) -> dict[str, Any]:
    """Add the capacity and metrics a single write was asked to report."""
    detail = capacity_detail(request)
    if detail is not None:
        capacity = Capacity(write.table)
        capacity.charge_write(outcome)
        response["ConsumedCapacity"] = capacity.document(detail)
    if write.table.local_indexes and wants_collection_metrics(request):
        response["ItemCollectionMetrics"] = collection_metrics(write, outcome)
    return response
