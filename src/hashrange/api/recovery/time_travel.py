"""Reads at an earlier time: the header X-Hashrange-At of GetItem, Query and Scan.

Its value is a time: ISO 8601, with Z or another offset, or seconds since 1970. The read sees the
table as it was after all changes made up to that time. The table needs point-in-time recovery, and
the time has to lie in its window. Secondary indexes have no history, so they cannot be read so.
"""

from __future__ import annotations

from datetime import UTC, datetime
from math import isfinite
from typing import Final

from hashrange.api.operation import Context, Request
from hashrange.api.scope import RequestScope
from hashrange.errors import (
    InvalidRestoreTimeException,
    PointInTimeRecoveryUnavailableException,
    ValidationException,
)
from hashrange.model.records import TableRecord
from hashrange.model.schema import Table
from hashrange.storage.past import PastView, TimeCut

HEADER: Final = "X-Hashrange-At"
OPERATIONS: Final = frozenset({"GetItem", "Query", "Scan"})
_ALLOWED: Final = "GetItem, Query and Scan"


def requested_time(text: bytes, operation: str) -> float:
    """Return the time that a request asks for in its header."""
    if operation not in OPERATIONS:
        raise ValidationException(f"{HEADER} is for {_ALLOWED}, not for {operation}")
    given = text.decode("latin-1").strip()
    try:
        return parse_time(given)
    except ValueError:
        raise ValidationException(
            f"{HEADER} is a time such as 2026-01-31T12:00:00Z, or seconds since 1970, not {given}"
        ) from None


def parse_time(text: str) -> float:
    """Return the seconds since 1970 of a time in ISO 8601 or in seconds; without offset it is UTC.

    Raises ValueError if it is neither.
    """
    try:
        seconds = float(text)
    except ValueError:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return moment.timestamp()
    if not isfinite(seconds):
        raise ValueError(text)
    return seconds


async def past_view(scope: RequestScope, table: Table, request: Request) -> PastView:
    """Return the view of a table at the time that the request asks for."""
    assert scope.at is not None
    context = scope.context
    if request.get("IndexName") is not None:
        raise ValidationException(
            f"{HEADER} reads tables; secondary indexes keep no history: {request['IndexName']}"
        )
    record = await context.catalog.record(table.account, table.region, table.name)
    check_window(context, record, scope.at)
    assert record.recovery is not None
    return PastView(context.engine, record.recovery.store, TimeCut(scope.at))


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
