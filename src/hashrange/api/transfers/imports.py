"""ImportTable, DescribeImport and ListImports."""

from __future__ import annotations

from typing import Any, Final

import orjson

from hashrange.api.operation import Request, Response
from hashrange.api.scope import RequestScope
from hashrange.api.tables.create_table import check_definition
from hashrange.api.tables.new_records import make_record
from hashrange.api.transfers.jobs import IMPORT, date, find_job, list_jobs, start_job
from hashrange.errors import (
    ImportConflictException,
    ImportNotFoundException,
    ResourceInUseException,
    ValidationException,
)
from hashrange.model.jobs import JobRecord
from hashrange.storage.jobs import TokenReuseError
from hashrange.storage.loading import begin_load

LOG_GROUP: Final = "/aws-dynamodb/imports"

_ECHOED: Final = ("ClientToken", "S3BucketSource", "InputFormat", "InputFormatOptions")
_COUNTS: Final = {
    "ProcessedSizeBytes": "bytes",
    "ProcessedItemCount": "processed",
    "ImportedItemCount": "imported",
    "ErrorCount": "errors",
}


async def import_table(scope: RequestScope, request: Request) -> Response:
    """Start an import into a new table, which is there, CREATING, when this is answered."""
    context = scope.context
    creation = request["TableCreationParameters"]
    check_definition(creation)
    if "Csv" in request.get("InputFormatOptions", {}) and request["InputFormat"] != "CSV":
        raise ValidationException(
            "One or more parameter values were invalid: InputFormatOptions does not match the "
            "InputFormat"
        )
    name = creation["TableName"]
    scope.touch_table(name)
    now = context.clock.now()
    record = make_record(context, name, creation, now)
    facts = {"record": orjson.loads(record.pack())}
    existing = await context.catalog.find(context.account, context.region, name)
    if existing is not None and not await _is_repeated(scope, request):
        raise ResourceInUseException(f"Table already exists: {name}")
    try:
        job = await start_job(context, IMPORT, record.arn, request, facts)
    except TokenReuseError:
        raise ImportConflictException(
            "Import conflict: Duplicate request detected with conflicting parameters"
        ) from None
    if job.request["record"]["table"]["id"] == record.id:
        # The job does this too; this way the table can be described at once.
        await begin_load(context.catalog, record)
    return {"ImportTableDescription": _describe(job)}


async def _is_repeated(scope: RequestScope, request: Request) -> bool:
    """Tell whether an import with the client token of a request is known."""
    token = request.get("ClientToken")
    jobs, _ = await list_jobs(scope.context, IMPORT, {}, None)
    return token is not None and any(job.token == token for job in jobs)


async def describe_import(scope: RequestScope, request: Request) -> Response:
    """Describe an import."""
    arn = request["ImportArn"]
    job = await find_job(scope.context, IMPORT, arn)
    if job is None:
        raise ImportNotFoundException(f"Import not found: {arn}")
    return {"ImportTableDescription": _describe(job)}


async def list_imports(scope: RequestScope, request: Request) -> Response:
    """List imports, the newest first."""
    jobs, token = await list_jobs(scope.context, IMPORT, request, request.get("PageSize"))
    response: Response = {"ImportSummaryList": [_summarise(job) for job in jobs]}
    if token is not None:
        response["NextToken"] = token
    return response


def _log_group(job: JobRecord) -> str:
    return f"arn:aws:logs:{job.region}:{job.account}:log-group:{LOG_GROUP}:*"


def _summarise(job: JobRecord) -> dict[str, Any]:
    parameters = job.request["parameters"]
    summary: dict[str, Any] = {
        "ImportArn": job.arn,
        "ImportStatus": job.status,
        "TableArn": job.arn.partition("/import/")[0],
        "S3BucketSource": parameters["S3BucketSource"],
        "CloudWatchLogGroupArn": _log_group(job),
        "InputFormat": parameters["InputFormat"],
        "StartTime": date(job.created_at),
    }
    if job.ended_at is not None:
        summary["EndTime"] = date(job.ended_at)
    return summary


def _describe(job: JobRecord) -> dict[str, Any]:
    parameters = job.request["parameters"]
    described: dict[str, Any] = {
        "ImportArn": job.arn,
        "ImportStatus": job.status,
        "TableArn": job.arn.partition("/import/")[0],
        "TableId": job.request["record"]["table"]["id"],
        "CloudWatchLogGroupArn": _log_group(job),
        "InputCompressionType": parameters.get("InputCompressionType", "NONE"),
        "TableCreationParameters": parameters["TableCreationParameters"],
        "StartTime": date(job.created_at),
        **{name: parameters[name] for name in _ECHOED if name in parameters},
        **{name: job.progress.get(count, 0) for name, count in _COUNTS.items()},
    }
    if job.ended_at is not None:
        described["EndTime"] = date(job.ended_at)
    if job.failure_code:
        described["FailureCode"] = job.failure_code
        described["FailureMessage"] = job.failure_message
    return described
