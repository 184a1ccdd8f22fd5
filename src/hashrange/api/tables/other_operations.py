"""DescribeTable, ListTables, DeleteTable, DescribeLimits and DescribeEndpoints."""

from __future__ import annotations

from hashrange.api.operation import Request, Response
from hashrange.api.recovery.backups import system_backup
from hashrange.api.scope import RequestScope
from hashrange.api.tables.definition_checks import check_changeable
from hashrange.api.tables.descriptions import describe, describe_deleted
from hashrange.api.tables.stream_settings import end_stream
from hashrange.errors import StaleVersionError, ValidationException
from hashrange.limits import (
    ACCOUNT_CAPACITY_UNITS_MAX,
    LIST_TABLES_PAGE_MAX,
    TABLE_CAPACITY_UNITS_MAX,
)
from hashrange.model.records import TableRecord
from hashrange.storage.backups import backup_key
from hashrange.storage.catalog import Edit, resolve_name, table_not_found


async def describe_table(scope: RequestScope, request: Request) -> Response:
    """Describe a table."""
    context = scope.context
    record = await context.catalog.record(context.account, context.region, request["TableName"])
    scope.touch_table(record.name)
    return {"Table": await describe(context, record, context.clock.now())}


async def list_tables(scope: RequestScope, request: Request) -> Response:
    """List the names of the tables of one account and region."""
    context = scope.context
    names, has_more = await context.catalog.names(
        context.account,
        context.region,
        after=request.get("ExclusiveStartTableName"),
        names_max=request.get("Limit", LIST_TABLES_PAGE_MAX),
    )
    response: Response = {"TableNames": names}
    if has_more:
        response["LastEvaluatedTableName"] = names[-1]
    return response


async def delete_table(scope: RequestScope, request: Request) -> Response:
    """Delete a table with its indexes; its rows are gone at once."""
    context = scope.context
    name = resolve_name(context.account, context.region, request["TableName"])
    scope.touch_table(name)
    now = context.clock.now()
    delay = context.catalog.delays.delete_seconds
    found = await context.catalog.find(context.account, context.region, name)
    backup = None
    if found is not None and _is_recoverable(found):
        backup = await system_backup(context, found, now)

    def delete(record: TableRecord | None) -> Edit:
        if record is None:
            raise table_not_found(name)
        check_changeable(record, now)
        if record.is_protected:
            raise ValidationException(
                "Resource cannot be deleted as it is currently protected against deletion. "
                "Disable deletion protection first."
            )
        drops = record.stores()
        fills = record.fills()
        record.gone_at = now + delay
        left = record if delay > 0 else None
        edit = Edit(left, drops=drops, fills_ended=fills, outcome=record)
        end_stream(record, now, record.gone_at, edit)
        if _is_recoverable(record):
            # The items stay where they are, for as long as the backup does.
            if backup is None or backup.store != record.store:
                raise StaleVersionError(f"table {record.arn} has just been protected")
            edit.drops.remove(record.store)
            edit.rows.append((backup_key(backup), backup.pack()))
        return edit

    record = await context.catalog.change(context.account, context.region, name, delete)
    assert isinstance(record, TableRecord)
    return {"TableDescription": describe_deleted(record, now)}


def _is_recoverable(record: TableRecord) -> bool:
    return record.recovery is not None and record.recovery.is_enabled


async def describe_limits(scope: RequestScope, request: Request) -> Response:
    """Tell the capacity limits of an account."""
    return {
        "AccountMaxReadCapacityUnits": ACCOUNT_CAPACITY_UNITS_MAX,
        "AccountMaxWriteCapacityUnits": ACCOUNT_CAPACITY_UNITS_MAX,
        "TableMaxReadCapacityUnits": TABLE_CAPACITY_UNITS_MAX,
        "TableMaxWriteCapacityUnits": TABLE_CAPACITY_UNITS_MAX,
    }


async def describe_endpoints(scope: RequestScope, request: Request) -> Response:
    """Tell where a region's service is found: here, or clients would go on to AWS."""
    context = scope.context
    address = context.address or f"dynamodb.{context.region}.amazonaws.com"
    return {"Endpoints": [{"Address": address, "CachePeriodInMinutes": 1440}]}
