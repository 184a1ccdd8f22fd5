"""UpdateContributorInsights, DescribeContributorInsights and ListContributorInsights."""

from __future__ import annotations

import base64
import binascii
from typing import Any, Final

from hashrange.api.operation import Request, Response
from hashrange.api.scope import RequestScope
from hashrange.api.tables.closed_tables import check_open
from hashrange.errors import ResourceNotFoundException, ValidationException
from hashrange.limits import TABLES_PER_ACCOUNT_MAX
from hashrange.model.insights import ACCESSED, has_sort, kinds_of, rule_name
from hashrange.model.records import InsightSetting, TableRecord
from hashrange.storage.catalog import Edit, resolve_name, table_not_found

_PAGE_MAX: Final = 100


def _status(setting: InsightSetting | None) -> str:
    return "ENABLED" if setting is not None and setting["is_enabled"] else "DISABLED"


def _check_index(record: TableRecord, name: str) -> None:
    """Refuse an index that is not a global one of the table."""
    found = record.index(name) if name else None
    if name and (found is None or not found.is_global):
        raise ResourceNotFoundException(
            f"Requested resource not found: Table: {record.name} Index: {name} not found"
        )


async def update_contributor_insights(scope: RequestScope, request: Request) -> Response:
    """Turn insights on or off for a table or an index of it, or change their mode."""
    context = scope.context
    name = resolve_name(context.account, context.region, request["TableName"])
    scope.touch_table(name)
    await check_open(context, name)
    index = request.get("IndexName") or ""
    is_enabled = request["ContributorInsightsAction"] == "ENABLE"
    now = context.clock.now()

    def update(record: TableRecord | None) -> Edit:
        if record is None:
            raise table_not_found(name)
        if record.status(now) not in ("ACTIVE", "UPDATING"):
            raise ValidationException("TableStatus must be ACTIVE")
        _check_index(record, index)
        old = record.insights.get(index)
        mode = request.get("ContributorInsightsMode", ACCESSED)
        if old is not None and not is_enabled:
            mode = old["mode"]
        was_enabled = old is not None and old["is_enabled"]
        enabled_at = old["enabled_at"] if old is not None and was_enabled else now
        record.insights[index] = {
            "mode": mode,
            "is_enabled": is_enabled,
            "enabled_at": enabled_at,
            "changed_at": now,
        }
        return Edit(record, outcome=(was_enabled, mode))

    outcome: Any = await context.catalog.change(context.account, context.region, name, update)
    was_enabled, mode = outcome
    status = "ENABLING" if is_enabled else "DISABLING" if was_enabled else "DISABLED"
    response: Response = {"TableName": name, "ContributorInsightsStatus": status}
    if index:
        response["IndexName"] = index
    if is_enabled:
        response["ContributorInsightsMode"] = mode
    return response


async def describe_contributor_insights(scope: RequestScope, request: Request) -> Response:
    """Describe the insights of a table or index, with the names of its rules."""
    context = scope.context
    record = await context.catalog.record(context.account, context.region, request["TableName"])
    scope.touch(record.arn)
    index = request.get("IndexName") or ""
    _check_index(record, index)
    setting = record.insights.get(index)
    response: Response = {
        "TableName": record.name,
        "ContributorInsightsStatus": _status(setting),
    }
    if index:
        response["IndexName"] = index
    if setting is not None:
        response["LastUpdateDateTime"] = round(setting["changed_at"], 3)
        if setting["is_enabled"]:
            response["ContributorInsightsMode"] = setting["mode"]
            response["ContributorInsightsRuleList"] = [
                rule_name(kind, record.name, index, setting)
                for kind in kinds_of(setting["mode"], has_sort=has_sort(record, index))
            ]
    return response


async def list_contributor_insights(scope: RequestScope, request: Request) -> Response:
    """List the tables and indexes with insights, of one table or of all."""
    context = scope.context
    if "TableName" in request:
        record = await context.catalog.record(context.account, context.region, request["TableName"])
        scope.touch(record.arn)
        names = [record.name]
    else:
        names, _ = await context.catalog.names(
            context.account, context.region, after=None, names_max=TABLES_PER_ACCOUNT_MAX
        )
    found: list[Response] = []
    for name in names:
        table = await context.catalog.find(context.account, context.region, name)
        for index, setting in sorted(table.insights.items()) if table is not None else ():
            if setting["is_enabled"]:
                summary = {"TableName": name, "ContributorInsightsStatus": _status(setting)}
                summary["ContributorInsightsMode"] = setting["mode"]
                found.append(summary | ({"IndexName": index} if index else {}))
    begin = _read_token(request.get("NextToken"))
    size = request.get("MaxResults") or _PAGE_MAX
    response: Response = {"ContributorInsightsSummaries": found[begin : begin + size]}
    if begin + size < len(found):
        token = base64.b64encode(str(begin + size).encode()).decode()
        response["NextToken"] = token
    return response


def _read_token(token: str | None) -> int:
    try:
        return 0 if token is None else max(0, int(base64.b64decode(token)))
    except (ValueError, binascii.Error):
        raise ValidationException("Invalid NextToken") from None
