"""UpdateContinuousBackups and DescribeContinuousBackups: point-in-time recovery of a table.

Continuous backups as such are always ENABLED; they cost nothing until recovery is.
"""

from __future__ import annotations

from typing import Any

from hashrange.api.operation import Context, Request, Response
from hashrange.api.scope import RequestScope
from hashrange.api.tables.new_records import new_store
from hashrange.errors import (
    TableNotFoundException,
    ValidationException,
)
from hashrange.model.records import TableRecord
from hashrange.model.recovery import RECOVERY_DAYS_MAX, RecoveryRecord
from hashrange.storage.catalog import Edit, resolve_name


async def describe_continuous_backups(scope: RequestScope, request: Request) -> Response:
    """Describe the recovery of a table."""
    record = await recoverable_table(scope, request["TableName"])
    return {"ContinuousBackupsDescription": _describe(scope.context, record)}


async def update_continuous_backups(scope: RequestScope, request: Request) -> Response:
    """Turn the recovery of a table on or off, or change its window."""
    context = scope.context
    specification = request["PointInTimeRecoverySpecification"]
    is_enabled = specification["PointInTimeRecoveryEnabled"]
    days = specification.get("RecoveryPeriodInDays")
    if not is_enabled and days is not None:
        raise ValidationException(
            "One or more parameter values were invalid: RecoveryPeriodInDays cannot be specified "
            "when PointInTimeRecoveryEnabled is false"
        )
    record = await recoverable_table(scope, request["TableName"])
    if is_enabled:
        record = await enable_recovery(context, record.name, days or RECOVERY_DAYS_MAX)
    else:
        record = await _change(context, record.name, disable_recovery)
    return {"ContinuousBackupsDescription": _describe(context, record)}


async def recoverable_table(scope: RequestScope, name: str) -> TableRecord:
    """Return the record of a table that can be backed up."""
    context = scope.context
    name = resolve_name(context.account, context.region, name)
    scope.touch_table(name)
    record = await context.catalog.find(context.account, context.region, name)
    status = "" if record is None else record.status(context.clock.now())
    if record is None or status in ("CREATING", "DELETING"):
        raise TableNotFoundException(f"Table not found: {name}")
    return record


async def enable_recovery(context: Context, name: str, days: int) -> TableRecord:
    """Turn recovery on, or change its window.

    The window begins when all writes are sure to be logged, which is after the first step.
    """
    store = new_store()

    def begin(record: TableRecord) -> Edit:
        if record.recovery is not None and record.recovery.is_enabled:
            record.recovery.days = days
            return Edit(record, outcome=record)
        if record.recovery is not None:  # another request was cut off between the two steps
            return Edit(record, outcome=record)
        record.recovery = RecoveryRecord(f"{record.store}.{store}")
        return Edit(record, creates=[record.recovery.store], outcome=record)

    await _change(context, name, begin)
    now = context.clock.now()

    def end(record: TableRecord) -> Edit:
        if record.recovery is not None and not record.recovery.is_enabled:
            record.recovery.enabled_at = now
            record.recovery.days = days
        return Edit(record, outcome=record)

    return await _change(context, name, end)


def disable_recovery(record: TableRecord) -> Edit:
    """Turn recovery off, and drop the history."""
    recovery = record.recovery
    if recovery is None:
        return Edit(record, is_seen_by_requests=False, outcome=record)
    record.recovery = None
    return Edit(record, drops=[recovery.store], outcome=record)


async def _change(context: Context, name: str, edit: Any) -> TableRecord:
    def change(record: TableRecord | None) -> Edit:
        if record is None or record.gone_at is not None:
            raise TableNotFoundException(f"Table not found: {name}")
        changed: Edit = edit(record)
        return changed

    record = await context.catalog.change(context.account, context.region, name, change)
    assert isinstance(record, TableRecord)
    return record


def _describe(context: Context, record: TableRecord) -> dict[str, Any]:
    recovery = record.recovery
    description: dict[str, Any] = {"PointInTimeRecoveryStatus": "DISABLED"}
    if recovery is not None and recovery.is_enabled:
        now = context.clock.now()
        lag = context.catalog.delays.recovery_seconds
        description = {
            "PointInTimeRecoveryStatus": "ENABLED",
            "RecoveryPeriodInDays": recovery.days,
            "EarliestRestorableDateTime": round(recovery.earliest(now), 3),
            "LatestRestorableDateTime": round(recovery.latest(now, lag), 3),
        }
    return {
        "ContinuousBackupsStatus": "ENABLED",
        "PointInTimeRecoveryDescription": description,
    }
