"""Rows of the authorisation table for tables, streams, tags, resource policies and triggers."""

from __future__ import annotations

from typing import Any, Final

from hashrange.api.access.demands import (
    ANY,
    NO_KEYS,
    Demand,
    PlainKeys,
    RequestKeys,
    Row,
    arn_demand,
    table_demand,
)
from hashrange.api.operation import Request
from hashrange.api.scope import RequestScope

LOADING: Final = (
    *("BatchWriteItem", "DeleteItem", "GetItem", "PutItem", "Query", "Scan", "UpdateItem"),
)
"""The actions that restores need on the new table, beside their own."""


def table_row(action: str) -> Row:
    """Return the row of an operation that names a table."""

    def demands(scope: RequestScope, request: Request) -> list[Demand]:
        return [table_demand(scope, action, request["TableName"])]

    return demands


def account_row(action: str) -> Row:
    """Return the row of an operation on no resource in particular."""

    def demands(scope: RequestScope, request: Request) -> list[Demand]:
        return [Demand(action, ANY)]

    return demands


def list_tables_row(scope: RequestScope, request: Request) -> list[Demand]:
    """Demand ListTables on all tables of the account and region, as AWS names it in messages."""
    caller = scope.caller
    resource = f"arn:aws:dynamodb:{caller.region}:{caller.account}:table/*"
    return [Demand("dynamodb:ListTables", resource)]


def create_table_row(scope: RequestScope, request: Request) -> list[Demand]:
    """Demand CreateTable, and what setting tags and a policy needs."""
    name = request["TableName"]
    keys = tag_keys(request.get("Tags"))
    found = [table_demand(scope, "dynamodb:CreateTable", name, keys)]
    if request.get("Tags"):
        found.append(table_demand(scope, "dynamodb:TagResource", name, keys))
    if request.get("ResourcePolicy") is not None:
        found.append(table_demand(scope, "dynamodb:PutResourcePolicy", name))
    return found


def resource_row(action: str) -> Row:
    """Return the row of an operation that names a table or stream by ResourceArn."""

    def demands(scope: RequestScope, request: Request) -> list[Demand]:
        keys: RequestKeys = NO_KEYS
        if action == "dynamodb:TagResource":
            keys = tag_keys(request.get("Tags"))
        elif action == "dynamodb:UntagResource":
            keys = PlainKeys({"aws:tagkeys": list(request.get("TagKeys") or [])})
        return [arn_demand(scope, action, request.get("ResourceArn") or "", keys)]

    return demands


def stream_row(action: str) -> Row:
    """Return the row of an operation that names a stream."""

    def demands(scope: RequestScope, request: Request) -> list[Demand]:
        return [arn_demand(scope, action, request["StreamArn"])]

    return demands


def get_records_row(scope: RequestScope, request: Request) -> list[Demand]:
    """Demand GetRecords on the stream that an iterator belongs to."""
    arn = request["ShardIterator"].partition("|")[0]
    return [arn_demand(scope, "dynamodb:GetRecords", arn)]


def backup_row(action: str) -> Row:
    """Return the row of an operation that names a backup."""

    def demands(scope: RequestScope, request: Request) -> list[Demand]:
        return [arn_demand(scope, action, request["BackupArn"])]

    return demands


def restore_backup_row(scope: RequestScope, request: Request) -> list[Demand]:
    """Demand RestoreTableFromBackup on the backup and on the new table."""
    action = "dynamodb:RestoreTableFromBackup"
    return [
        arn_demand(scope, action, request["BackupArn"]),
        table_demand(scope, action, request["TargetTableName"]),
        *_loading_demands(scope, request["TargetTableName"]),
    ]


def restore_time_row(scope: RequestScope, request: Request) -> list[Demand]:
    """Demand RestoreTableToPointInTime on the source and on the new table."""
    action = "dynamodb:RestoreTableToPointInTime"
    source = request.get("SourceTableArn") or request.get("SourceTableName") or ""
    return [
        table_demand(scope, action, source),
        table_demand(scope, action, request["TargetTableName"]),
        *_loading_demands(scope, request["TargetTableName"]),
    ]


def _loading_demands(scope: RequestScope, name: str) -> list[Demand]:
    """Demand what AWS wants of whoever fills a table with the items of another."""
    return [table_demand(scope, f"dynamodb:{action}", name) for action in LOADING]


def tag_keys(tags: Any) -> RequestKeys:
    """Return the condition keys of the tags in a request."""
    if not tags:
        return NO_KEYS
    values: dict[str, str | list[str]] = {"aws:tagkeys": [tag["Key"] for tag in tags]}
    for tag in tags:
        values[f"aws:requesttag/{tag['Key'].lower()}"] = tag.get("Value") or ""
    return PlainKeys(values)


def create_mapping_row(scope: RequestScope, request: Request) -> list[Demand]:
    """Demand CreateEventSourceMapping, and reading the stream.

    Functions have no roles here: what one reads, whoever connects it must be allowed to read.
    """
    function = _function_arn(scope, request.get("FunctionName") or "")
    keys = PlainKeys({"lambda:functionarn": function})
    source = request.get("EventSourceArn") or ""
    return [
        Demand("lambda:CreateEventSourceMapping", ANY, None, keys),
        arn_demand(scope, "dynamodb:GetRecords", source),
    ]


def mapping_row(action: str) -> Row:
    """Return the row of an operation that names a mapping."""

    def demands(scope: RequestScope, request: Request) -> list[Demand]:
        caller = scope.caller
        world = f"{caller.region}:{caller.account}"
        keys: RequestKeys = NO_KEYS
        if request.get("FunctionName"):
            function = _function_arn(scope, request["FunctionName"])
            keys = PlainKeys({"lambda:functionarn": function})
        resource = f"arn:aws:lambda:{world}:event-source-mapping:{request['UUID']}"
        return [Demand(action, resource, None, keys)]

    return demands


def function_row(action: str) -> Row:
    """Return the row of an operation that names a function."""

    def demands(scope: RequestScope, request: Request) -> list[Demand]:
        return [Demand(action, _function_arn(scope, request["Name"]))]

    return demands


def _function_arn(scope: RequestScope, name: str) -> str:
    if name.startswith("arn:"):
        return name
    caller = scope.caller
    return f"arn:aws:lambda:{caller.region}:{caller.account}:function:{name}"


TABLE_ROWS: Final[dict[str, Row]] = {
    "CreateBackup": table_row("dynamodb:CreateBackup"),
    "CreateTable": create_table_row,
    "DeleteBackup": backup_row("dynamodb:DeleteBackup"),
    "DeleteResourcePolicy": resource_row("dynamodb:DeleteResourcePolicy"),
    "DeleteTable": table_row("dynamodb:DeleteTable"),
    "DescribeBackup": backup_row("dynamodb:DescribeBackup"),
    "DescribeContinuousBackups": table_row("dynamodb:DescribeContinuousBackups"),
    "DescribeContributorInsights": table_row("dynamodb:DescribeContributorInsights"),
    "DescribeEndpoints": account_row("dynamodb:DescribeEndpoints"),
    "DescribeLimits": account_row("dynamodb:DescribeLimits"),
    "DescribeTableReplicaAutoScaling": table_row("dynamodb:DescribeTableReplicaAutoScaling"),
    "UpdateTableReplicaAutoScaling": table_row("dynamodb:UpdateTableReplicaAutoScaling"),
    "DescribeTable": table_row("dynamodb:DescribeTable"),
    "DescribeTimeToLive": table_row("dynamodb:DescribeTimeToLive"),
    "GetResourcePolicy": resource_row("dynamodb:GetResourcePolicy"),
    "ListBackups": account_row("dynamodb:ListBackups"),
    "ListContributorInsights": account_row("dynamodb:ListContributorInsights"),
    "ListTables": list_tables_row,
    "ListTagsOfResource": resource_row("dynamodb:ListTagsOfResource"),
    "PutResourcePolicy": resource_row("dynamodb:PutResourcePolicy"),
    "RestoreTableFromBackup": restore_backup_row,
    "RestoreTableToPointInTime": restore_time_row,
    "TagResource": resource_row("dynamodb:TagResource"),
    "UntagResource": resource_row("dynamodb:UntagResource"),
    "UpdateContinuousBackups": table_row("dynamodb:UpdateContinuousBackups"),
    "UpdateContributorInsights": table_row("dynamodb:UpdateContributorInsights"),
    "UpdateTable": table_row("dynamodb:UpdateTable"),
    "UpdateTimeToLive": table_row("dynamodb:UpdateTimeToLive"),
}

STREAM_ROWS: Final[dict[str, Row]] = {
    "DescribeStream": stream_row("dynamodb:DescribeStream"),
    "GetRecords": get_records_row,
    "GetShardIterator": stream_row("dynamodb:GetShardIterator"),
    "ListStreams": account_row("dynamodb:ListStreams"),
}

LAMBDA_ROWS: Final[dict[str, Row]] = {
    "CreateEventSourceMapping": create_mapping_row,
    "DeleteEventSourceMapping": mapping_row("lambda:DeleteEventSourceMapping"),
    "DeleteFunction": function_row("lambda:DeleteFunction"),
    "GetEventSourceMapping": mapping_row("lambda:GetEventSourceMapping"),
    "GetFunction": function_row("lambda:GetFunction"),
    "ListEventSourceMappings": account_row("lambda:ListEventSourceMappings"),
    "ListFunctions": account_row("lambda:ListFunctions"),
    "PutFunction": function_row("lambda:CreateFunction"),
    "UpdateEventSourceMapping": mapping_row("lambda:UpdateEventSourceMapping"),
}
