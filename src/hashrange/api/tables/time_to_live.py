"""UpdateTimeToLive and DescribeTimeToLive."""

from __future__ import annotations

from contextlib import suppress

from hashrange.api.operation import Context, Request, Response
from hashrange.api.scope import RequestScope
from hashrange.api.tables.closed_tables import check_open
from hashrange.api.tables.definition_checks import check_changeable
from hashrange.errors import ResourceNotFoundException, ValidationException
from hashrange.model.records import TIME_TO_LIVE_FILL, TableRecord, TimeToLive
from hashrange.storage.catalog import Edit, end_expiry_fill, resolve_name, table_not_found
from hashrange.storage.reads import is_empty


async def update_time_to_live(scope: RequestScope, request: Request) -> Response:
    """Turn time to live on or off for a table."""
    context = scope.context
    name = resolve_name(context.account, context.region, request["TableName"])
    scope.touch_table(name)
    await check_open(context, name)
    specification = request["TimeToLiveSpecification"]
    now = context.clock.now()
    setting = TimeToLive(
        attribute=specification["AttributeName"],
        is_enabled=specification["Enabled"],
        changed_at=now,
        settled_at=now + context.catalog.delays.time_to_live_seconds,
    )

    def update(record: TableRecord | None) -> Edit:
        if record is None:
            raise table_not_found(name)
        check_changeable(record, now)
        _check_change(record.time_to_live, setting, now)
        record.time_to_live = setting
        if setting.is_enabled:
            return Edit(record, creates=[record.expiry_store], fills=[TIME_TO_LIVE_FILL])
        return Edit(record, drops=[record.expiry_store], fills_ended=[TIME_TO_LIVE_FILL])

    await context.catalog.change(context.account, context.region, name, update)
    if setting.is_enabled:
        await _skip_fill_if_empty(context, name, setting)
    return {
        "TimeToLiveSpecification": {
            "Enabled": setting.is_enabled,
            "AttributeName": setting.attribute,
        }
    }


async def _skip_fill_if_empty(context: Context, name: str, setting: TimeToLive) -> None:
    """Mark the expiry index of an empty table as filled; writes maintain it already."""
    # Otherwise the setting is ENABLING until the background service has run.
    with suppress(ResourceNotFoundException):
        record = await context.catalog.record(context.account, context.region, name)
        if await is_empty(context.engine, (record.store, record.shards)):
            end = end_expiry_fill(setting)
            await context.catalog.change(context.account, context.region, name, end)


def _check_change(current: TimeToLive | None, asked: TimeToLive, now: float) -> None:
    if current is not None and now < current.settled_at:
        raise ValidationException(
            "Time to live has been modified multiple times within a fixed interval"
        )
    is_enabled = current is not None and current.is_enabled
    if not asked.is_enabled and not is_enabled:
        raise ValidationException("TimeToLive is already disabled")
    if current is None or not is_enabled:
        return
    if current.attribute != asked.attribute:
        raise ValidationException(
            "TimeToLive is active on a different AttributeName: current AttributeName is "
            f"{current.attribute}"
        )
    if asked.is_enabled:
        raise ValidationException("TimeToLive is already enabled")


async def describe_time_to_live(scope: RequestScope, request: Request) -> Response:
    """Describe a table's time-to-live setting."""
    context = scope.context
    record = await context.catalog.record(context.account, context.region, request["TableName"])
    scope.touch_table(record.name)
    setting = record.time_to_live
    status = "DISABLED" if setting is None else setting.status(context.clock.now())
    description: Response = {"TimeToLiveStatus": status}
    if setting is not None and status != "DISABLED":
        description["AttributeName"] = setting.attribute
    return {"TimeToLiveDescription": description}
