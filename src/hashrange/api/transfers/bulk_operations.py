"""StartBulkPutItems, DescribeBulkOperation, ListBulkOperations and CancelBulkOperation."""

from __future__ import annotations

from typing import Any, Final

from hashrange.api.operation import Context, Request, Response
from hashrange.api.scope import RequestScope
from hashrange.api.transfers.jobs import BULK, date, find_job, list_jobs, start_job
from hashrange.errors import (
    IdempotentParameterMismatchException,
    ResourceInUseException,
    ResourceNotFoundException,
    ValidationException,
)
from hashrange.model.jobs import CANCELLED, CANCELLING, FAILED, JobRecord
from hashrange.storage.jobs import JobStore, TokenReuseError

_ECHOED: Final = (
    "ClientToken",
    "InputS3Configuration",
    "OutputS3Configuration",
    "MaxWriteRequestUnits",
)
_COUNTS: Final = {
    "ProcessedItemCount": "processed",
    "ProcessedInputBytes": "bytes",
    "FailedItemCount": "errors",
}


async def start_bulk_put(scope: RequestScope, request: Request) -> Response:
    """Start to put items from objects into an existing table."""
    context = scope.context
    record = await context.catalog.record(context.account, context.region, request["TableName"])
    scope.touch_table(record.name)
    status = record.status(context.clock.now())
    if status != "ACTIVE":
        raise ResourceInUseException(f"Table is not in ACTIVE state: {record.name}")
    output = request["OutputS3Configuration"]
    if output["OutputType"] and "S3Bucket" not in output:
        raise ValidationException(
            "One or more parameter values were invalid: S3Bucket must be provided in "
            "OutputS3Configuration"
        )
    if output.get("S3SseAlgorithm") == "KMS" or output.get("S3SseKmsKeyId"):
        raise ValidationException("S3SseKmsKeyId is not supported by this server")
    if request.get("PerformanceTier") == "ACCELERATED":
        raise ValidationException("PerformanceTier ACCELERATED is not supported by this server")
    facts = {"table_name": record.name, "table_id": record.id}
    try:
        job = await start_job(context, BULK, record.arn, request, facts)
    except TokenReuseError:
        raise IdempotentParameterMismatchException(
            "Idempotent parameter mismatch: the request does not match the one the "
            "token was first used with"
        ) from None
    return {"BulkOperationDescription": _describe(job)}


async def describe_bulk_operation(scope: RequestScope, request: Request) -> Response:
    """Describe a bulk operation."""
    job = await _find(scope.context, request["BulkOperationArn"])
    return {"BulkOperationDescription": _describe(job)}


async def list_bulk_operations(scope: RequestScope, request: Request) -> Response:
    """List bulk operations, the newest first."""
    jobs, token = await list_jobs(scope.context, BULK, request, request.get("MaxResults"))
    response: Response = {"BulkOperationsSummaryList": [_summarise(job) for job in jobs]}
    if token is not None:
        response["NextToken"] = token
    return response


async def cancel_bulk_operation(scope: RequestScope, request: Request) -> Response:
    """Ask a bulk operation to stop; what it has written stays."""
    job = await _find(scope.context, request["BulkOperationArn"])

    def cancel(found: JobRecord) -> None:
        found.status = CANCELLING
        found.failure_code = "Cancelled"
        found.failure_message = "The bulk operation was cancelled"

    changed = await JobStore(scope.context.engine).change(job, cancel) or job
    return {"BulkOperationArn": job.arn, "BulkOperationStatus": changed.status}


async def _find(context: Context, arn: str) -> JobRecord:
    job = await find_job(context, BULK, arn)
    if job is None:
        raise ResourceNotFoundException(f"Requested resource not found: {arn}")
    return job


def _summarise(job: JobRecord) -> dict[str, Any]:
    summary: dict[str, Any] = {
        "BulkOperationArn": job.arn,
        "BulkOperationStatus": job.status,
        "StartTime": date(job.created_at),
    }
    if job.ended_at is not None:
        summary["EndTime"] = date(job.ended_at)
    return summary


def _describe(job: JobRecord) -> dict[str, Any]:
    parameters, progress = job.request["parameters"], job.progress
    name = job.request["table_name"]
    described: dict[str, Any] = {
        **_summarise(job),
        "TableDetails": [{"TableName": name, "TableId": job.request["table_id"]}],
        "PerformanceTier": parameters.get("PerformanceTier", "STANDARD"),
        **{member: parameters[member] for member in _ECHOED if member in parameters},
        **{member: progress.get(count, 0) for member, count in _COUNTS.items()},
    }
    if "total_bytes" in progress:
        described["TotalInputBytes"] = progress["total_bytes"]
    if "usage" in progress:
        described["BulkOperationUsage"] = [_describe_usage(name, progress["usage"])]
    if job.status in (FAILED, CANCELLED) and job.failure_code:
        described["FailureCode"] = job.failure_code
        described["FailureMessage"] = job.failure_message
    return described


def _describe_usage(name: str, usage: dict[str, dict[str, int]]) -> dict[str, Any]:
    """Return the bytes that were put, into the table and each index."""

    def of_all(kind: str) -> dict[str, Any]:
        return {index: {"BulkPutBytes": size} for index, size in usage[kind].items()}

    table = usage["table"]["bytes"]
    total = table + sum(usage["local"].values()) + sum(usage["global"].values())
    described: dict[str, Any] = {
        "TableName": name,
        "BulkPutBytes": total,
        "Table": {"BulkPutBytes": table},
    }
    if usage["local"]:
        described["LocalSecondaryIndexes"] = of_all("local")
    if usage["global"]:
        described["GlobalSecondaryIndexes"] = of_all("global")
    return described
