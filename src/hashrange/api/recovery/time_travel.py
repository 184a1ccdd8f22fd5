"""The header X-Hashrange-At: reads at an earlier time, changes of an interval, careful writes.

A *time* is ISO 8601, with Z or another offset, or seconds since 1970.

    GetItem, Query, Scan     time        see the table after all changes made up to that time
    Query, Scan              from/to     answer with the changes between two times; see `changes`
    PutItem, DeleteItem      time        fail like a condition if the item changed after that time

Either end of an interval may be left out. The table needs point-in-time recovery, and the times
have to lie in its window. Secondary indexes have no history, so they cannot be read so.
"""

from __future__ import annotations

from datetime import UTC, datetime
from math import inf
from typing import Final, final

from hashrange.api.operation import Context, Request
from hashrange.api.scope import RequestScope
from hashrange.clock import parse_time
from hashrange.engine.base import STRONG
from hashrange.errors import (
    InvalidRestoreTimeException,
    PointInTimeRecoveryUnavailableException,
    ValidationException,
)
from hashrange.expressions.binding import Values
from hashrange.expressions.conditions import Condition
from hashrange.model.records import TableRecord
from hashrange.model.recovery import SECONDS_PER_DAY, RecoveryRecord
from hashrange.model.schema import Table
from hashrange.model.values import Item
from hashrange.storage.items import read_items
from hashrange.storage.layout import unpack_item
from hashrange.storage.past import PastView, TimeCut
from hashrange.storage.writes import ItemWrite

HEADER: Final = "X-Hashrange-At"
OPERATIONS: Final = frozenset({"GetItem", "Query", "Scan", "PutItem", "DeleteItem"})
_OF_INTERVALS: Final = frozenset({"Query", "Scan"})
_ALLOWED: Final = "GetItem, Query, Scan, PutItem and DeleteItem"


def note_times(scope: RequestScope, text: bytes, operation: str) -> None:
    """Note the time or the interval that a request names in its header."""
    if operation not in OPERATIONS:
        raise ValidationException(f"{HEADER} is for {_ALLOWED}, not for {operation}")
    given = text.decode("latin-1").strip()
    first, slash, last = given.partition("/")
    if slash and operation not in _OF_INTERVALS:
        raise ValidationException(f"{HEADER} has an interval for Query and Scan, not {operation}")
    try:
        if slash:
            scope.between = (
                parse_time(first) if first else -inf,
                parse_time(last) if last else inf,
            )
        else:
            scope.at = parse_time(given)
    except ValueError:
        raise ValidationException(
            f"{HEADER} is a time such as 2026-01-31T12:00:00Z, or seconds since 1970, not {given}"
        ) from None


async def past_view(scope: RequestScope, table: Table, request: Request) -> PastView:
    """Return the view of a table at the time that the request asks for."""
    assert scope.at is not None
    refuse_index(request)
    recovery = await _recovery(scope, table, scope.at)
    return PastView(scope.context.engine, recovery.store, TimeCut(scope.at))


async def expect_unchanged(scope: RequestScope, write: ItemWrite) -> None:
    """Have a write fail if its item changed after the time that the request names.

    The item is compared with what it is now, and the history says whether that is what it was.
    """
    assert scope.at is not None
    recovery = await _recovery(scope, write.table, min(scope.at, scope.clock.now()))
    view = PastView(scope.engine, recovery.store, TimeCut(scope.at))
    rows = await read_items(scope.engine, (write.row_key,), STRONG)
    _, shard, key = write.row_key
    is_unchanged = await view.first_after(shard, key) is None
    expected = ({} if rows[0] is None else unpack_item(rows[0])) if is_unchanged else None
    write.condition = Condition(_Unchanged(expected, write.condition), {}, frozenset())


@final
class _Unchanged:
    """Holds for an item that equals the one expected, if the request's own condition does too."""

    __slots__ = ("_condition", "_expected")

    def __init__(self, expected: Item | None, condition: Condition | None) -> None:
        self._expected = expected
        self._condition = condition

    def evaluate(self, item: Item, _values: Values) -> bool:
        is_met = self._condition is None or self._condition.matches(item)
        return is_met and item == self._expected


def refuse_index(request: Request) -> None:
    """Refuse to read the past of an index."""
    if request.get("IndexName") is not None:
        raise ValidationException(
            f"{HEADER} reads tables; secondary indexes keep no history: {request['IndexName']}"
        )


async def window_of(scope: RequestScope, table: Table) -> tuple[str, tuple[float, float]]:
    """Return the history of a table and the interval of it that the request asks for."""
    assert scope.between is not None
    since, until = scope.between
    now = scope.clock.now()
    recovery = await _recovery(scope, table, now if since == -inf else since)
    return recovery.store, (max(since, now - recovery.days * SECONDS_PER_DAY), until)


async def _recovery(scope: RequestScope, table: Table, time: float) -> RecoveryRecord:
    """Return the history of a table, in whose window a time has to lie."""
    record = await scope.context.catalog.record(table.account, table.region, table.name)
    check_window(scope.context, record, time)
    assert record.recovery is not None
    return record.recovery


def check_window(context: Context, record: TableRecord, time: float) -> None:
    """Refuse a time at which the state of a table is not known."""
    now = context.clock.now()
    recovery = record.recovery
    if recovery is None or not recovery.is_enabled:
        raise PointInTimeRecoveryUnavailableException(
            f"Point in time recovery is not enabled for table '{record.name}'"
        )
    earliest, latest = recovery.earliest(now), recovery.latest(now, 0.0)
    if not earliest <= time <= latest:
        raise InvalidRestoreTimeException(
            f"The time {_shown(time)} is not between {_shown(earliest)} and {_shown(latest)}"
        )


def _shown(seconds: float) -> str:
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
    except (OverflowError, ValueError, OSError):
        return str(seconds)
