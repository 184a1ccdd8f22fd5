"""The recorder of metrics: counts, latency, units and errors of every request to the database.

The hot path adds to the cell of an operation on a table. A cell is folded into samples when it has
many durations, when the minute ends and when samples are written. The units of most requests to a
table are the same, so only those that differ are counted one by one.

A request belongs to the minute in which it ended. The clock is asked when a minute has passed by
the machine's steady clock; a virtual clock is asked for each request, as it may be moved.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from time import perf_counter
from typing import Final, final

from hashrange.api.scope import NOBODY, Consumed, RequestScope
from hashrange.clock import Clock, SystemClock
from hashrange.engine.base import Engine
from hashrange.limits import METRIC_CELLS_MAX
from hashrange.metrics.buffer import MetricBuffer
from hashrange.metrics.series import DYNAMODB, INTERNAL, Series, make_series
from hashrange.metrics.store import MINUTE
from hashrange.storage.catalog import Catalog
from hashrange.wire.recorders.key_access import KeyAccess

# 0.11 µs for each duration, and half a millisecond in one go; with 512 it is 0.24 µs for each.
_PENDING_MAX: Final = 4096
_SERVICES: Final = ("dynamodb", "dynamodbstreams")
_ROW_COUNTERS: Final = frozenset({"Query", "Scan", "ExecuteStatement"})
_SINGLE: Final = frozenset({"GetItem", "PutItem", "UpdateItem", "DeleteItem"})
_STREAM_READ: Final = "GetRecords"
# The values of the dimension Operation, as on AWS: operations on tables themselves have no metrics.
_MEASURED: Final = frozenset(
    {
        *("PutItem", "DeleteItem", "UpdateItem", "GetItem", "Query", "Scan", _STREAM_READ),
        *("BatchGetItem", "BatchWriteItem", "TransactGetItems", "TransactWriteItems"),
        *("ExecuteStatement", "BatchExecuteStatement", "ExecuteTransaction"),
    }
)
_CONDITION_FAILED: Final = frozenset({"ConditionalCheckFailedException", "DuplicateItemException"})
_CONFLICT: Final = "TransactionConflictException"
_THROTTLED: Final = frozenset(
    {"ProvisionedThroughputExceededException", "RequestLimitExceeded", "ThrottlingException"}
)
_UNITS: Final = ("ConsumedReadCapacityUnits", "ConsumedWriteCapacityUnits")
_UNKNOWN: Final = "UnknownOperationException"
_INSIGHTS_SET: Final = "UpdateContributorInsights"
_NEVER: Final = float("-inf")

Place = tuple[str, str, str]
"""Account, region and name of a table."""


def _place_of(arn: str) -> Place | None:
    """Return the table of the ARN of a table, an index or a stream."""
    parts = arn.split(":", 5)
    if len(parts) < 6 or not parts[5].startswith("table/"):
        return None
    return parts[4], parts[3], parts[5].split("/", 2)[1]


def reason_metric(reason: str) -> str:
    """Return the metric of a throttling reason, such as TableReadKeyRangeThroughputExceeded."""
    kind = reason.removeprefix("Table").removeprefix("Index").removesuffix("Exceeded")
    return f"{kind}ThrottleEvents"


@final
class _Cell:
    """Requests of one operation on one table that succeeded and are not folded yet."""

    __slots__ = (
        "arn",
        "catalog",
        "consumed",
        "counts_rows",
        "durations",
        "insights",
        "is_plain",
        "is_read",
        "is_stream",
        "latency",
        "operation",
        "other_units",
        "place",
        "returned",
        "uncounted",
        "units",
    )

    def __init__(
        self, operation: str, arn: str, place: Place, label: str, catalog: Catalog
    ) -> None:
        dimensions = {"TableName": place[2], "Operation": operation}
        if label:
            dimensions["StreamLabel"] = label
        self.operation = operation
        self.arn = arn
        self.place = place
        self.catalog = catalog
        # The table, if its keys are counted.
        table = catalog.known_table(*place)
        self.insights = table if table is not None and table.insights else None
        # Reads or writes of single items, of which nothing but units and latency is measured. A
        # single item that is throttled is refused, so it does not come here.
        self.is_plain = operation in _SINGLE and self.insights is None
        self.is_read = operation == "GetItem"
        # The units that most plain requests consumed, how many consumed others, and how many
        # requests with a duration are not plain.
        self.units = 0.0
        self.other_units: dict[float, int] = {}
        self.uncounted = 0
        self.latency = _table_series("SuccessfulRequestLatency", place, dimensions)
        self.is_stream = operation == _STREAM_READ
        self.counts_rows = operation in _ROW_COUNTERS or self.is_stream
        self.durations: list[float] = []
        self.consumed: dict[Consumed, int] = {}
        self.returned: dict[tuple[int, int], int] = {}

    def note_units(self, units: float) -> None:
        """Count a plain request that consumed other units than most."""
        if not self.units:
            self.units = units  # the first since the last fold
        else:
            self.other_units[units] = self.other_units.get(units, 0) + 1

    def note_rows(self, scope: RequestScope, consumed: Iterable[Consumed]) -> None:
        """Count what was consumed, and the rows of a query, scan or read of a stream."""
        self.uncounted += 1
        for units in consumed:
            self.consumed[units] = self.consumed.get(units, 0) + 1
        if self.counts_rows:
            more = scope.returned_bytes if self.is_stream else scope.examined_count
            rows = scope.returned_count, more
            self.returned[rows] = self.returned.get(rows, 0) + 1


def _table_series(name: str, place: Place, dimensions: dict[str, str]) -> Series:
    return make_series(place[0], place[1], DYNAMODB, name, dimensions)


@final
class RequestMetrics:
    """Records the metrics of requests; one per process."""

    def __init__(self, clock: Clock, buffer: MetricBuffer, keys: KeyAccess, engine: Engine) -> None:
        self._clock = clock
        self._buffer = buffer
        self._keys = keys
        self._engine = engine
        self._counter = engine.counter()
        self._is_steady = isinstance(clock, SystemClock)
        self._cells: dict[tuple[str, str], _Cell] = {}
        self._last: _Cell | None = None
        self._unit_series: dict[tuple[Place, str | None, int], Series] = {}
        self._until = _NEVER
        self._minute = self._now_minute()
        buffer.add_source(self.collect)

    def record(self, scope: RequestScope) -> None:
        """Take note of a request that was answered."""
        ended = scope.ended
        if ended >= self._until:
            self._turn()
        resources, consumed = scope.resources, scope.consumed
        if scope.status == 200 and len(resources) == 1 and len(consumed) < 2:
            cell = self._last
            if cell is None or cell.arn is not resources[0] or cell.operation != scope.operation:
                cell = self._find_cell(scope, resources[0])
                if cell is None:
                    return
            durations = cell.durations
            durations.append(ended - scope.started)
            if cell.is_plain and consumed:
                # One resource, so what was consumed is the table's own.
                units = consumed[0][2] if cell.is_read else consumed[0][3]
                if units != cell.units:
                    cell.note_units(units)
            else:
                self._record_more(scope, cell)
            if len(durations) >= _PENDING_MAX:
                self._fold(cell)
        elif scope.service in _SERVICES:
            self._record_rest(scope)

    def _record_more(self, scope: RequestScope, cell: _Cell) -> None:
        """Record what only some operations and tables have."""
        cell.note_rows(scope, scope.consumed)
        if cell.insights is not None:
            self._keys.note(scope, cell.insights, self._minute)
        if scope.throttles:
            self._note_throttles(scope)

    def _now_minute(self) -> int:
        now = int(self._clock.now())
        return now - now % MINUTE

    def _turn(self) -> None:
        """Begin another minute if it is time."""
        now = self._clock.now()
        minute = int(now) - int(now) % MINUTE
        if self._is_steady:
            self._until = perf_counter() + max(0.0, minute + MINUTE - now)
        if minute != self._minute:
            self.collect()
            self._minute = minute

    def collect(self) -> None:
        """Move everything that was recorded to the buffer."""
        for cell in self._cells.values():
            if cell.durations:
                self._fold(cell)
        counter = self._engine.counter()
        if len(self._cells) >= METRIC_CELLS_MAX or counter != self._counter:
            # A table may have changed, and with it whether its keys are counted.
            self._cells.clear()
            self._last = None
            self._counter = counter

    def _find_cell(self, scope: RequestScope, arn: str) -> _Cell | None:
        """Return the cell of a request that used one resource; None if it is not measured."""
        cell = self._cells.get((scope.operation, arn)) or self._add_cell(scope, arn)
        if cell is not None:
            # The same object again tells the same resource sooner than a look-up.
            cell.arn = arn
            self._last = cell
        return cell

    def _add_cell(self, scope: RequestScope, arn: str) -> _Cell | None:
        operation = scope.operation
        place = _place_of(arn)
        if place is None or operation not in _MEASURED:
            if operation == _INSIGHTS_SET:
                self.collect()
            return None
        if len(self._cells) >= METRIC_CELLS_MAX:
            self.collect()
        label = arn.partition("/stream/")[2] if operation == _STREAM_READ else ""
        catalog = scope.context.catalog
        cell = self._cells[(operation, arn)] = _Cell(operation, arn, place, label, catalog)
        return cell

    def _fold(self, cell: _Cell) -> None:
        """Move what a cell holds to the buffer."""
        buffer, minute = self._buffer, self._minute
        if cell.units:
            self._fold_units(cell)
        if cell.durations:
            samples = buffer.samples(cell.latency, minute, "Milliseconds")
            samples.add_all(cell.durations, 1000.0)
            cell.durations.clear()
            cell.uncounted = 0
        if cell.consumed:
            self._fold_consumed(cell.catalog, cell.place, cell.consumed)
            cell.consumed.clear()
        if cell.returned:
            self._fold_rows(cell)
            cell.returned.clear()

    def _fold_units(self, cell: _Cell) -> None:
        """Move the units of plain requests to the buffer."""
        others = cell.other_units
        others[cell.units] = len(cell.durations) - cell.uncounted - sum(others.values())
        kind = 0 if cell.is_read else 1
        series = self._series_of_units(cell.catalog, cell.place, None, kind)
        samples = self._buffer.samples(series, self._minute, "Count")
        for units, count in others.items():
            samples.add(units, count)
        others.clear()
        cell.units = 0.0

    def _fold_consumed(self, catalog: Catalog, place: Place, consumed: dict[Consumed, int]) -> None:
        for (_, index, reads, writes), count in consumed.items():
            for kind, units in enumerate((reads, writes)):
                if units:
                    series = self._series_of_units(catalog, place, index, kind)
                    self._buffer.samples(series, self._minute, "Count").add(units, count)

    def _series_of_units(
        self, catalog: Catalog, place: Place, index: str | None, kind: int
    ) -> Series:
        """Return the metric of consumed units; those of local indexes are the table's own."""
        key = (place, index, kind)
        series = self._unit_series.get(key)
        if series is None:
            dimensions = {"TableName": place[2]}
            if index is not None:
                table = catalog.known_table(*place)
                found = None if table is None else table.by_name.get(index)
                if found is None or found.is_global:
                    dimensions["GlobalSecondaryIndexName"] = index
            series = _table_series(_UNITS[kind], place, dimensions)
            if len(self._unit_series) >= METRIC_CELLS_MAX:
                self._unit_series.clear()
            self._unit_series[key] = series
        return series

    def _fold_rows(self, cell: _Cell) -> None:
        account, region, _, _, dimensions = cell.latency
        if cell.is_stream:
            wanted = [
                (DYNAMODB, "ReturnedRecordsCount", "Count"),
                (DYNAMODB, "ReturnedBytes", "Bytes"),
            ]
        else:
            wanted = [
                (DYNAMODB, "ReturnedItemCount", "Count"),
                (INTERNAL, "ExaminedItemCount", "Count"),
            ]
        for column, (namespace, name, unit) in enumerate(wanted):
            series = Series(account, region, namespace, name, dimensions)
            samples = self._buffer.samples(series, self._minute, unit)
            for row, count in cell.returned.items():
                samples.add(float(row[column]), count)

    def _record_rest(self, scope: RequestScope) -> None:
        """Record a request that failed, or one with several tables or indexes."""
        places = _places(scope)
        for place in places if scope.operation in _MEASURED else ():
            own = [units for units in scope.consumed if units[0] == place[2]]
            if scope.status == 200:
                cell = self._table_cell(scope, place)
                cell.durations.append(scope.ended - scope.started)
                cell.note_rows(scope, own)
                if len(cell.durations) >= _PENDING_MAX:
                    self._fold(cell)
            table = scope.context.catalog.known_table(*place)
            if table is not None and table.insights:
                self._keys.note(scope, table, self._minute)
            if scope.status != 200 and own:
                self._fold_consumed(scope.context.catalog, place, Counter(own))
        if scope.status != 200:
            self._record_failure(scope, places)
        if scope.throttles:
            self._note_throttles(scope)
        for name, count in Counter(scope.conflicts).items():
            self._count_conflicts(scope, name, count)

    def _table_cell(self, scope: RequestScope, place: Place) -> _Cell:
        key = (scope.operation, f"arn:aws:dynamodb:{place[1]}:{place[0]}:table/{place[2]}")
        cell = self._cells.get(key)
        if cell is None:
            cell = _Cell(scope.operation, key[1], place, "", scope.context.catalog)
            self._cells[key] = cell
        return cell

    def _record_failure(self, scope: RequestScope, places: list[Place]) -> None:
        caller = scope.caller
        if caller is NOBODY:
            return
        error = scope.error
        for place in places:
            table = {"TableName": place[2]}
            with_operation = {**table, "Operation": scope.operation}
            if error in _CONDITION_FAILED:
                self._count("ConditionalCheckFailedRequests", place, table)
            elif error in _THROTTLED or scope.throttles:
                self._count("ThrottledRequests", place, with_operation)
            elif scope.status >= 500:
                self._count("SystemErrors", place, with_operation)
            if error == _CONFLICT:
                self._count("TransactionConflict", place, table)
        if scope.status < 500 and error not in _CONDITION_FAILED and error not in _THROTTLED:
            self._count("UserErrors", (*caller.world, ""), {})
        # A name that no operation has is the client's own, of which there may be any number.
        is_known = error != _UNKNOWN
        refusal = {"Operation": scope.operation if is_known else "unknown", "Error": error}
        self._buffer.count(
            make_series(caller.account, caller.region, INTERNAL, "RefusedRequests", refusal)
        )

    def _count(
        self, name: str, place: Place, dimensions: dict[str, str], amount: float = 1.0
    ) -> None:
        series = _table_series(name, place, dimensions)
        self._buffer.samples(series, self._minute, "Count").add(amount)

    def _note_throttles(self, scope: RequestScope) -> None:
        for table, index, reason in scope.throttles:
            place = (*scope.caller.world, table)
            dimensions = {"TableName": table}
            if index is not None:
                dimensions["GlobalSecondaryIndexName"] = index
            kind = "Read" if "Read" in reason else "Write"
            self._count(f"{kind}ThrottleEvents", place, dimensions)
            self._count(reason_metric(reason), place, dimensions)

    def _count_conflicts(self, scope: RequestScope, table: str, count: int) -> None:
        """Count the items of a table that a transaction could not lock, as one sample."""
        place = (*scope.caller.world, table)
        self._count("TransactionConflict", place, {"TableName": table}, count)


def _places(scope: RequestScope) -> list[Place]:
    """Return the tables that a request used, each once."""
    found: dict[Place, None] = {}
    for arn in scope.resources:
        place = _place_of(arn)
        if place is not None:
            found[place] = None
    return list(found)
