"""What the operations on jobs share: starting them, finding them by ARN, and pages of them."""

from __future__ import annotations

import re
from typing import Any, Final

from hashrange.api.operation import Context
from hashrange.errors import LimitExceededException, ValidationException
from hashrange.limits import EXPORTS_ACTIVE_MAX, JOBS_ACTIVE_MAX, LIST_JOBS_PAGE_MAX
from hashrange.model.jobs import JobRecord
from hashrange.storage.jobs import JobStore, new_job_id

EXPORT: Final = "export"
IMPORT: Final = "import"
BULK: Final = "bulk-operation"

_ARN: Final = re.compile(
    r"arn:aws[a-z-]*:dynamodb:([^:/]+):([^:/]+):table/([a-zA-Z0-9_.-]+)/([a-z-]+)/"
    r"([0-9]{14}-[0-9a-f]{8})"
)
_TOKEN_BYTES: Final = 56


async def start_job(
    context: Context, kind: str, table_arn: str, parameters: dict[str, Any], facts: dict[str, Any]
) -> JobRecord:
    """Start a job, or return the one that was started with the same client token.

    `parameters` are those of the request, `facts` what the job needs besides.
    """
    now = context.clock.now()
    store = JobStore(context.engine)
    active = await store.count_active(context.account, context.region, kind)
    most = EXPORTS_ACTIVE_MAX if kind == EXPORT else JOBS_ACTIVE_MAX
    id = new_job_id(now)
    job = JobRecord(
        id=id,
        kind=kind,
        account=context.account,
        region=context.region,
        arn=f"{table_arn}/{kind}/{id}",
        created_at=now,
        request={"parameters": parameters, **facts},
        token=parameters.get("ClientToken", ""),
    )
    if active >= most and not await store.is_known(job):
        raise LimitExceededException(f"There is a limit of {most} concurrent {kind}s")
    return await store.start(job, parameters)


async def find_job(context: Context, kind: str, arn: str) -> JobRecord | None:
    """Return the job of an ARN, None if this account and region has none."""
    match = _ARN.fullmatch(arn)
    if match is None or match.group(4) != kind:
        raise ValidationException(f"Invalid {kind.title()} ARN")
    region, account, _, _, id = match.groups()
    if (account, region) != (context.account, context.region):
        return None
    job = await JobStore(context.engine).find(account, region, kind, id)
    return None if job is None or job.arn.partition("/")[2] != arn.partition("/")[2] else job


async def list_jobs(
    context: Context, kind: str, request: dict[str, Any], size: int | None
) -> tuple[list[JobRecord], str | None]:
    """Return a page of jobs, the newest first, and the token of the next page if there is one."""
    table_arn = request.get("TableArn")
    prefix = "" if table_arn is None else f"{table_arn}/{kind}/"
    jobs_max = size or LIST_JOBS_PAGE_MAX
    before = _position(request.get("NextToken"))
    found: list[JobRecord] = []
    store = JobStore(context.engine)
    while True:
        jobs, more = await store.page(
            context.account, context.region, kind, before=before, jobs_max=LIST_JOBS_PAGE_MAX
        )
        for job in jobs:
            if job.arn.startswith(prefix):
                if len(found) == jobs_max:
                    return found, _next_token(found[-1].id)
                found.append(job)
        if not more or not jobs:
            return found, None
        before = jobs[-1].id


def _position(token: str | None) -> str | None:
    if token is None:
        return None
    try:
        return bytes.fromhex(token).rstrip(b"\x00").decode("ascii")
    except ValueError as error:
        raise ValidationException("Invalid NextToken") from error


def _next_token(id: str) -> str:
    return id.encode().ljust(_TOKEN_BYTES, b"\x00").hex()


def date(seconds: float) -> float:
    """Return a time as descriptions show it."""
    return round(seconds, 3)
