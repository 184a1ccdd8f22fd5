"""The authorisation table: for every operation, the permissions it needs.

An operation without a row needs the action of its own name on every resource, so that a new one is
refused to everybody but administrators until somebody writes its row.
"""

from __future__ import annotations

from typing import Final

from hashrange.api.access.demands import ANY, Demand, Row
from hashrange.api.access.identity_rows import FREE, IAM_ROWS, STS_ROWS
from hashrange.api.access.item_rows import ITEM_ROWS
from hashrange.api.access.monitoring_rows import CLOUDWATCH_ROWS, SNS_ROWS
from hashrange.api.access.object_rows import S3_ROWS
from hashrange.api.access.statement_rows import STATEMENT_ROWS
from hashrange.api.access.table_rows import LAMBDA_ROWS, STREAM_ROWS, TABLE_ROWS
from hashrange.api.access.transfer_rows import TRANSFER_ROWS
from hashrange.api.operation import Request
from hashrange.api.scope import RequestScope

ROWS: Final[dict[str, dict[str, Row]]] = {
    "cloudwatch": CLOUDWATCH_ROWS,
    "dynamodb": {**ITEM_ROWS, **STATEMENT_ROWS, **TABLE_ROWS, **TRANSFER_ROWS},
    "dynamodbstreams": STREAM_ROWS,
    "iam": IAM_ROWS,
    "lambda": LAMBDA_ROWS,
    "s3": S3_ROWS,
    "sns": SNS_ROWS,
    "sts": STS_ROWS,
}
"""Rows by service and operation."""

# Services whose actions do not begin with their own name.
_PREFIXES: Final = {"dynamodbstreams": "dynamodb"}


def demands_of(scope: RequestScope, request: Request) -> list[Demand]:
    """Return the permissions that a request needs; none for the few that everybody may make."""
    service, operation = scope.service, scope.operation
    row = ROWS.get(service, {}).get(operation)
    if row is not None:
        return row(scope, request)
    if (service, operation) in FREE:
        return []
    return [Demand(f"{_PREFIXES.get(service, service)}:{operation}", ANY)]
