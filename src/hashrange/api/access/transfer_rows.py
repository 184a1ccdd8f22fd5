"""Rows of the authorisation table for exports, imports and bulk operations.

The server reads and writes objects on behalf of the caller, who needs the permissions for that.
"""

from __future__ import annotations

from typing import Any, Final

from hashrange.api.access.demands import Demand, Row, arn_demand, table_demand
from hashrange.api.access.table_rows import account_row
from hashrange.api.operation import Request
from hashrange.api.scope import RequestScope


def _arn_row(action: str, member: str) -> Row:
    def demands(scope: RequestScope, request: Request) -> list[Demand]:
        return [arn_demand(scope, action, request[member])]

    return demands


def _export_row(scope: RequestScope, request: Request) -> list[Demand]:
    prefix = request.get("S3Prefix") or ""
    folder = f"{prefix}/AWSDynamoDB/" if prefix else "AWSDynamoDB/"
    return [
        arn_demand(scope, "dynamodb:ExportTableToPointInTime", request["TableArn"]),
        Demand("s3:PutObject", f"arn:aws:s3:::{request['S3Bucket']}/{folder}"),
    ]


def _read_demands(source: dict[str, Any]) -> list[Demand]:
    bucket = f"arn:aws:s3:::{source['S3Bucket']}"
    return [
        Demand("s3:ListBucket", bucket),
        Demand("s3:GetObject", f"{bucket}/{source.get('S3KeyPrefix', '')}"),
    ]


def _import_row(scope: RequestScope, request: Request) -> list[Demand]:
    name = request["TableCreationParameters"]["TableName"]
    return [
        table_demand(scope, "dynamodb:ImportTable", name),
        *_read_demands(request["S3BucketSource"]),
    ]


def _bulk_put_row(scope: RequestScope, request: Request) -> list[Demand]:
    found = [
        table_demand(scope, "dynamodb:StartBulkPutItems", request["TableName"]),
        *_read_demands(request["InputS3Configuration"]),
    ]
    output = request["OutputS3Configuration"]
    if "S3Bucket" in output:
        prefix = output.get("S3KeyPrefix", "")
        found.append(Demand("s3:PutObject", f"arn:aws:s3:::{output['S3Bucket']}/{prefix}"))
    return found


TRANSFER_ROWS: Final[dict[str, Row]] = {
    "CancelBulkOperation": _arn_row("dynamodb:CancelBulkOperation", "BulkOperationArn"),
    "DescribeBulkOperation": _arn_row("dynamodb:DescribeBulkOperation", "BulkOperationArn"),
    "DescribeExport": _arn_row("dynamodb:DescribeExport", "ExportArn"),
    "DescribeImport": _arn_row("dynamodb:DescribeImport", "ImportArn"),
    "ExportTableToPointInTime": _export_row,
    "ImportTable": _import_row,
    "ListBulkOperations": account_row("dynamodb:ListBulkOperations"),
    "ListExports": account_row("dynamodb:ListExports"),
    "ListImports": account_row("dynamodb:ListImports"),
    "StartBulkPutItems": _bulk_put_row,
}
