"""RestoreTableToPointInTime and RestoreTableFromBackup.

Both start a job that fills the new table; until it has ended, the table is CREATING.
"""

from __future__ import annotations

from typing import Any

from hashrange.api.operation import Context, Request, Response
from hashrange.api.recovery.backup_names import find_backup
from hashrange.api.recovery.continuous_backups import recoverable_table
from hashrange.api.recovery.restored_records import encrypt_restored, restored_record
from hashrange.api.recovery.time_travel import check_window
from hashrange.api.scope import RequestScope
from hashrange.api.tables.descriptions import describe
from hashrange.errors import (
    BackupInUseException,
    LimitExceededException,
    ResourceInUseException,
    TableAlreadyExistsException,
    TableInUseException,
    ValidationException,
)
from hashrange.limits import JOBS_ACTIVE_MAX
from hashrange.model.jobs import JobRecord
from hashrange.model.records import TableRecord, plain_record, record_of
from hashrange.storage.jobs import JobStore, new_job_id
from hashrange.storage.loading import begin_load

_KIND = "restore"


async def restore_table_to_point_in_time(scope: RequestScope, request: Request) -> Response:
    """Restore a table to a new one, as it was at a time."""
    context = scope.context
    source = await _find_source(scope, request)
    recovery = source.recovery
    now = context.clock.now()
    time = request.get("RestoreDateTime")
    if request.get("UseLatestRestorableTime"):
        if time is not None:
            raise ValidationException(
                "Both RestoreDateTime and UseLatestRestorableTime cannot be set"
            )
        if recovery is not None and recovery.is_enabled:
            time = recovery.latest(now, context.catalog.delays.recovery_seconds)
    elif time is None:
        raise ValidationException(
            "Either one of RestoreDateTime or UseLatestRestorableTime must be specified"
        )
    check_window(context, source, now if time is None else time)
    assert recovery is not None
    assert time is not None
    record = restored_record(context, source, request, now)
    await encrypt_restored(context, record, source, request)
    record.restore = {"SourceTableArn": source.arn, "RestoreDateTime": round(time, 3)}
    wanted = {
        "time": time,
        "account": source.account,
        "region": source.region,
        "name": source.name,
        "history": recovery.store,
    }
    return await _start(scope, record, wanted)


async def restore_table_from_backup(scope: RequestScope, request: Request) -> Response:
    """Restore a backup to a new table."""
    context = scope.context
    backup = await find_backup(scope, request["BackupArn"])
    if not backup.is_available:
        raise BackupInUseException(f"Backup is being created: {backup.arn}")
    now = context.clock.now()
    source = record_of(backup.table)
    record = restored_record(context, source, request, now)
    await encrypt_restored(context, record, source, request)
    record.restore = {
        "SourceBackupArn": backup.arn,
        "SourceTableArn": source.arn,
        "RestoreDateTime": round(backup.created_at, 3),
    }
    wanted: dict[str, Any] = {"backup": backup.id}
    if backup.store:
        wanted |= {"store": backup.store, "shards": source.shards}
    return await _start(scope, record, wanted)


async def _find_source(scope: RequestScope, request: Request) -> TableRecord:
    arn, name = request.get("SourceTableArn"), request.get("SourceTableName")
    if (arn is None) == (name is None):
        raise ValidationException("Must provide exactly one of: sourceTableArn, sourceTableName")
    return await recoverable_table(scope, arn or name or "")


async def _start(scope: RequestScope, record: TableRecord, source: dict[str, Any]) -> Response:
    """Start the job, and make the table that it fills."""
    context = scope.context
    scope.touch(record.arn)
    await _check_free(context, record)
    job = JobRecord(
        id=new_job_id(record.created_at),
        kind=_KIND,
        account=context.account,
        region=context.region,
        arn=f"{record.arn}/restore",
        created_at=record.created_at,
        request={"table": plain_record(record), "source": source},
    )
    store = JobStore(context.engine)
    if await store.count_active(context.account, context.region, _KIND) >= JOBS_ACTIVE_MAX:
        raise LimitExceededException(
            f"Subscriber limit exceeded: Only {JOBS_ACTIVE_MAX} restore operations can be in "
            "progress at the same time"
        )
    await store.start(job, {})
    try:
        # The job would do it as well: so the table is there whatever happens to this process.
        await begin_load(context.catalog, record)
    except ResourceInUseException:
        raise TableAlreadyExistsException(f"Table already exists: {record.name}") from None
    return {"TableDescription": await describe(context, record, record.created_at, "CREATING")}


async def _check_free(context: Context, record: TableRecord) -> None:
    found = await context.catalog.find(record.account, record.region, record.name)
    if found is None:
        return
    if found.is_loading and found.restore is not None and record.restore is not None:
        arn = found.restore.get("SourceBackupArn")
        if arn is not None and arn == record.restore.get("SourceBackupArn"):
            raise TableInUseException(
                f"Table: {record.name} is already being restored from backup: {arn}"
            )
    raise TableAlreadyExistsException(f"Table already exists: {record.name}")
