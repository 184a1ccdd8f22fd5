"""ExportTableToPointInTime, DescribeExport and ListExports."""

from __future__ import annotations

from typing import Any, Final

from hashrange.api.operation import Request, Response
from hashrange.api.scope import RequestScope
from hashrange.api.transfers.filters import read_filter
from hashrange.api.transfers.jobs import EXPORT, date, find_job, list_jobs, start_job
from hashrange.errors import (
    ExportConflictException,
    ExportNotFoundException,
    InvalidExportTimeException,
    PointInTimeRecoveryUnavailableException,
    TableNotFoundException,
    ValidationException,
)
from hashrange.limits import EXPORT_SECONDS_MAX, EXPORT_SECONDS_MIN
from hashrange.model.jobs import COMPLETED, JobRecord
from hashrange.model.records import TableRecord, make_table
from hashrange.model.recovery import RecoveryRecord
from hashrange.storage.catalog import split_table_arn
from hashrange.storage.jobs import TokenReuseError

_INCREMENTAL: Final = "INCREMENTAL_EXPORT"
_BOTH_IMAGES: Final = "NEW_AND_OLD_IMAGES"
# What a description repeats of the request.
_ECHOED: Final = (
    "ClientToken",
    "S3Bucket",
    "S3BucketOwner",
    "S3Prefix",
    "S3SseAlgorithm",
    "S3SseKmsKeyId",
    "FilterSpecification",
)


async def export_table(scope: RequestScope, request: Request) -> Response:
    """Start an export of a table as it was, or of what changed between two times."""
    context = scope.context
    record = await _find_table(scope, request["TableArn"])
    if request.get("S3SseAlgorithm") == "KMS" or request.get("S3SseKmsKeyId"):
        raise ValidationException("S3SseKmsKeyId is not supported by this server")
    recovery = record.recovery
    if recovery is None or not recovery.is_enabled:
        raise PointInTimeRecoveryUnavailableException(
            f"Point in time recovery is not enabled for table '{record.name}'"
        )
    now = context.clock.now()
    is_incremental = request.get("ExportType") == _INCREMENTAL
    facts: dict[str, Any] = {"table_id": record.id, "table_arn": record.arn}
    if is_incremental:
        facts |= _check_period(request, recovery, now)
    else:
        facts["at"] = _check_time(request, recovery, now)
    read_filter(make_table(record), request.get("FilterSpecification"))
    try:
        job = await start_job(context, EXPORT, record.arn, request, facts)
    except TokenReuseError:
        raise ExportConflictException(
            "Export conflict: Duplicate request detected with conflicting parameters"
        ) from None
    return {"ExportDescription": _describe(job)}


async def _find_table(scope: RequestScope, arn: str) -> TableRecord:
    context = scope.context
    parts = split_table_arn(arn)
    if parts is None:
        raise ValidationException(
            "One or more parameter values were invalid: tableArn is not a valid ARN"
        )
    account, region, name = parts
    scope.touch_table(name)
    record = None
    if (account, region) == (context.account, context.region):
        record = await context.catalog.find(account, region, name)
    if record is None or not record.takes_items(context.clock.now()):
        raise TableNotFoundException(f"Table not found: {name}")
    return record


def _check_time(request: Request, recovery: RecoveryRecord, now: float) -> float:
    if request.get("IncrementalExportSpecification") is not None:
        raise ValidationException(
            "Invalid Request: IncrementalExportSpecification is only allowed for INCREMENTAL_EXPORT"
        )
    at: float = request.get("ExportTime", now)
    if not recovery.earliest(now) <= at <= now:
        raise InvalidExportTimeException("Export Time is invalid")
    return at


def _check_period(request: Request, recovery: RecoveryRecord, now: float) -> dict[str, Any]:
    specification = request.get("IncrementalExportSpecification") or {}
    if "ExportTime" in request:
        raise ValidationException("Invalid Request: ExportTime is only allowed for FULL_EXPORT")
    if "ExportFromTime" not in specification:
        raise ValidationException(
            "Invalid Request: ExportFromTime must be provided in IncrementalExportSpecification"
        )
    begin: float = specification["ExportFromTime"]
    end: float = specification.get("ExportToTime", min(now, begin + EXPORT_SECONDS_MAX))
    if end - begin < EXPORT_SECONDS_MIN:
        raise ValidationException(
            "Difference between export period from time and export period to time is less than "
            "15 minutes"
        )
    if end - begin > EXPORT_SECONDS_MAX:
        raise ValidationException(
            "Difference between export period from time and export period to time is greater than "
            "24 hours"
        )
    if begin < recovery.earliest(now) or end > now:
        raise InvalidExportTimeException("Export Time is invalid")
    view = specification.get("ExportViewType", _BOTH_IMAGES)
    return {"from": begin, "to": end, "view": view}


async def describe_export(scope: RequestScope, request: Request) -> Response:
    """Describe an export."""
    arn = request["ExportArn"]
    job = await find_job(scope.context, EXPORT, arn)
    if job is None:
        raise ExportNotFoundException(f"Export not found: {arn}")
    return {"ExportDescription": _describe(job)}


async def list_exports(scope: RequestScope, request: Request) -> Response:
    """List exports, the newest first."""
    jobs, token = await list_jobs(scope.context, EXPORT, request, request.get("MaxResults"))
    response: Response = {"ExportSummaries": [_summarise(job) for job in jobs]}
    if token is not None:
        response["NextToken"] = token
    return response


def _summarise(job: JobRecord) -> dict[str, Any]:
    kind = job.request["parameters"].get("ExportType", "FULL_EXPORT")
    return {"ExportArn": job.arn, "ExportStatus": job.status, "ExportType": kind}


def _describe(job: JobRecord) -> dict[str, Any]:
    """Return an ExportDescription; the members about the result are there at the end."""
    parameters = job.request["parameters"]
    described: dict[str, Any] = {
        "ExportArn": job.arn,
        "ExportStatus": job.status,
        "StartTime": date(job.created_at),
        "TableArn": job.request["table_arn"],
        "TableId": job.request["table_id"],
        "ExportFormat": parameters.get("ExportFormat", "DYNAMODB_JSON"),
        **{name: parameters[name] for name in _ECHOED if name in parameters},
    }
    described.setdefault("S3SseAlgorithm", "AES256")
    if "at" in job.request:
        described["ExportTime"] = date(job.request["at"])
    else:
        described["ExportType"] = _INCREMENTAL
        described["IncrementalExportSpecification"] = {
            "ExportFromTime": date(job.request["from"]),
            "ExportToTime": date(job.request["to"]),
            "ExportViewType": job.request["view"],
        }
    if job.ended_at is not None:
        described["EndTime"] = date(job.ended_at)
    if job.status == COMPLETED:
        described["ExportManifest"] = job.progress["manifest"]
        described["ItemCount"] = job.progress["items"]
        described["BilledSizeBytes"] = job.progress["billed_bytes"]
    if job.failure_code:
        described["FailureCode"] = job.failure_code
        described["FailureMessage"] = job.failure_message
    return described
