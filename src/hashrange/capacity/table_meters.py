"""The meter of one table: what may be read and written now, of the table and its global indexes.

Local indexes use the capacity of their table. A write needs capacity of the table and of every
global index that it changes, so an index without capacity refuses writes to its table.
"""

from __future__ import annotations

from typing import Final, final

from hashrange.capacity.key_ranges import Kind, Position
from hashrange.capacity.stores import CapacityStore, Outcome

_LIMITS: Final[dict[Outcome, str]] = {
    "store": "ProvisionedThroughputExceeded",
    "maximum": "MaxOnDemandThroughputExceeded",
    "growth": "KeyRangeThroughputExceeded",
    "partition": "KeyRangeThroughputExceeded",
    "quota": "AccountLimitExceeded",
}


@final
class Throttle:
    """Why a request was throttled: DynamoDB's reason, and the index, None for the table itself.

    `is_on_demand` is the billing mode of the table.
    """

    __slots__ = ("index", "is_on_demand", "limit", "reason")

    def __init__(self, index: str | None, kind: Kind, outcome: Outcome, *, is_on_demand: bool):
        self.index = index
        self.is_on_demand = is_on_demand
        self.limit = outcome
        resource = "Table" if index is None else "Index"
        self.reason = f"{resource}{kind.capitalize()}{_LIMITS[outcome]}"


@final
class Pressure:
    """The global indexes, and ranges of their keys, that take no writes at this moment."""

    __slots__ = ("_indexes", "_ranges")

    def __init__(self, indexes: dict[str, Throttle], ranges: _Ranges) -> None:
        self._indexes = indexes
        self._ranges = ranges

    def refusal(self, index: str, position: Position | None) -> Throttle | None:
        """Return why an index does not take a change of a row at a position."""
        found = self._indexes.get(index)
        if found is None and position is not None and index in self._ranges:
            throttle, ranges = self._ranges[index]
            if any(start <= position < end for start, end in ranges):
                return throttle
        return found


_Ranges = dict[str, tuple[Throttle, list[tuple[Position, Position]]]]


@final
class TableMeter:
    """The stores of a table and of its global indexes."""

    __slots__ = ("has_ranges", "indexes", "table")

    def __init__(self, table: CapacityStore, indexes: dict[str, CapacityStore]) -> None:
        self.table = table
        self.indexes = indexes
        # Whether requests have to tell the positions of the keys they use.
        self.has_ranges = table.ranges is not None

    def refuse_read(
        self, index: str | None, position: Position | None, now: float
    ) -> Throttle | None:
        """Return why a read is throttled, None if it is admitted."""
        store = self._store(index)
        outcome = store.refusal(position, "read", now)
        if outcome == "admitted":
            return None
        return _throttle(index if index in self.indexes else None, "read", outcome, store)

    def refuse_write(
        self, position: Position | None, now: float, ahead: float = 0.0
    ) -> Throttle | None:
        """Return why the table takes no write after one of `ahead` units."""
        outcome = self.table.refusal(position, "write", now, ahead)
        return None if outcome == "admitted" else _throttle(None, "write", outcome, self.table)

    def pressure(self, now: float) -> Pressure | None:
        """Return which indexes take no writes now, None if all do."""
        exhausted: dict[str, Throttle] = {}
        ranges: _Ranges = {}
        for name, store in self.indexes.items():
            outcome = store.refusal(None, "write", now)
            if outcome != "admitted":
                exhausted[name] = _throttle(name, "write", outcome, store)
            elif store.ranges is not None:
                hot = [(each.start, each.end) for each in store.ranges.exhausted("write", now)]
                if hot:
                    ranges[name] = _throttle(name, "write", "partition", store), hot
        return Pressure(exhausted, ranges) if exhausted or ranges else None

    def charge_read(
        self, index: str | None, position: Position | None, units: float, now: float
    ) -> None:
        """Take the units of a read."""
        self._store(index).charge(position, "read", units, now)

    def charge_write(
        self, index: str | None, position: Position | None, units: float, now: float
    ) -> None:
        """Take the units of a write, or of the change of an index that it brings."""
        self._store(index).charge(position, "write", units, now)

    def _store(self, index: str | None) -> CapacityStore:
        return self.table if index is None else self.indexes.get(index, self.table)


def _throttle(index: str | None, kind: Kind, outcome: Outcome, store: CapacityStore) -> Throttle:
    return Throttle(index, kind, outcome, is_on_demand=store.provided.is_on_demand)
