"""CreateBackup, DescribeBackup, ListBackups and DeleteBackup."""

from __future__ import annotations

import secrets
from typing import Any, Final

from hashrange.api.operation import Context, Request, Response
from hashrange.api.recovery.backup_names import find_backup
from hashrange.api.recovery.continuous_backups import recoverable_table
from hashrange.api.scope import RequestScope
from hashrange.api.tables.closed_tables import check_open
from hashrange.api.tables.descriptions import describe_projection
from hashrange.errors import BackupInUseException, LimitExceededException, ValidationException
from hashrange.limits import JOBS_ACTIVE_MAX
from hashrange.model.backups import (
    BACKUP_KIND,
    REMOVAL_KIND,
    SYSTEM,
    SYSTEM_BACKUP_SECONDS,
    SYSTEM_SUFFIX,
    USER,
    BackupRecord,
    split_backup_arn,
)
from hashrange.model.jobs import JobRecord, job_id
from hashrange.model.records import IndexRecord, TableRecord, Throughput, plain_record, record_of
from hashrange.storage.backups import BackupStore
from hashrange.storage.catalog import resolve_name
from hashrange.storage.jobs import JobStore, new_job_id

_PAGE_MAX: Final = 100


async def create_backup(scope: RequestScope, request: Request) -> Response:
    """Begin a backup of a table."""
    context = scope.context
    record = await recoverable_table(scope, request["TableName"])
    await check_open(context, record.name)
    active = JobStore(context.engine).count_active(context.account, context.region, BACKUP_KIND)
    if await active >= JOBS_ACTIVE_MAX:
        raise LimitExceededException(
            f"Subscriber limit exceeded: Only {JOBS_ACTIVE_MAX} backup operations can be in "
            "progress at the same time"
        )
    now = context.clock.now()
    backup = await _new_backup(context, record, request["BackupName"], now)
    await BackupStore(context.engine).add(backup)
    await _start_job(context, BACKUP_KIND, backup)
    return {"BackupDetails": _describe(backup)}


async def _new_backup(context: Context, record: TableRecord, name: str, now: float) -> BackupRecord:
    items, size = await context.engine.tally(record.store, record.shards, record.store)
    return BackupRecord(
        id=job_id(now, secrets.token_hex(4)),
        account=record.account,
        region=record.region,
        name=name,
        type=USER,
        created_at=now,
        table=plain_record(record),
        items=items,
        size=size,
        features=_features(record, now),
    )


async def system_backup(context: Context, record: TableRecord, now: float) -> BackupRecord:
    """Return the backup that a protected table leaves when it is deleted: its own items."""
    backup = await _new_backup(context, record, f"{record.name}$DeletedTableBackup", now)
    backup.id = job_id(now, SYSTEM_SUFFIX)
    backup.type = SYSTEM
    backup.is_available = True
    backup.expires_at = now + SYSTEM_BACKUP_SECONDS
    backup.store = record.store
    return backup


async def _start_job(context: Context, kind: str, backup: BackupRecord) -> None:
    now = context.clock.now()
    job = JobRecord(
        id=new_job_id(now),
        kind=kind,
        account=backup.account,
        region=backup.region,
        arn=f"{backup.arn}/{kind}",
        created_at=now,
        request={"backup": backup.id, "table": backup.table["name"]},
    )
    await JobStore(context.engine).start(job, {})


async def describe_backup(scope: RequestScope, request: Request) -> Response:
    """Describe a backup and the table it is of."""
    backup = await find_backup(scope, request["BackupArn"])
    return {"BackupDescription": _describe_whole(backup)}


async def delete_backup(scope: RequestScope, request: Request) -> Response:
    """Take a backup from the list; its files are deleted in the background."""
    context = scope.context
    backup = await find_backup(scope, request["BackupArn"])
    if backup.type == SYSTEM:
        raise ValidationException("not allowed to delete the system backup")
    if not backup.is_available:
        raise BackupInUseException(f"Backup is being created: {backup.arn}")
    for job in await JobStore(context.engine).active():
        if job.kind == "restore" and job.request["source"].get("backup") == backup.id:
            raise BackupInUseException(
                f"Backup is being used to restore another table: {backup.arn}"
            )
    await _start_job(context, REMOVAL_KIND, backup)
    await BackupStore(context.engine).change(backup, lambda _: None)
    description = _describe_whole(backup)
    description["BackupDetails"]["BackupStatus"] = "DELETED"
    return {"BackupDescription": description}


async def list_backups(scope: RequestScope, request: Request) -> Response:
    """List backups, the oldest first."""
    context = scope.context
    lower, upper = request.get("TimeRangeLowerBound"), request.get("TimeRangeUpperBound")
    if lower is not None and upper is not None and lower > upper:
        raise ValidationException(
            "Time range lower bound must be less than or equal to upper bound"
        )
    after = ""
    if request.get("ExclusiveStartBackupArn") is not None:
        parts = split_backup_arn(request["ExclusiveStartBackupArn"])
        if parts is None:
            raise ValidationException("Invalid Backup ARN")
        after = f"{parts[3]}\x00{parts[2]}"
    name = None
    if request.get("TableName") is not None:
        name = resolve_name(context.account, context.region, request["TableName"])
        scope.touch_table(name)
    kind = request.get("BackupType", USER)
    limit = request.get("Limit", _PAGE_MAX)
    now = context.clock.now()
    found: list[BackupRecord] = []
    response: Response = {}
    world = (context.account, context.region)
    async for backup in BackupStore(context.engine).walk(*world, after=after):
        if (
            (name is not None and backup.table["name"] != name)
            or kind not in (backup.type, "ALL")
            or (lower is not None and backup.created_at < lower)
            or (upper is not None and backup.created_at >= upper)
            or not backup.is_kept(now)
        ):
            continue
        if len(found) == limit:
            response["LastEvaluatedBackupArn"] = found[-1].arn
            break
        found.append(backup)
    response["BackupSummaries"] = [_summary(backup) for backup in found]
    return response


def _describe(backup: BackupRecord) -> dict[str, Any]:
    """Return BackupDetails."""
    details: dict[str, Any] = {
        "BackupArn": backup.arn,
        "BackupName": backup.name,
        "BackupSizeBytes": backup.size,
        "BackupStatus": backup.status,
        "BackupType": backup.type,
        "BackupCreationDateTime": round(backup.created_at, 3),
    }
    if backup.expires_at is not None:
        details["BackupExpiryDateTime"] = round(backup.expires_at, 3)
    return details


def _summary(backup: BackupRecord) -> dict[str, Any]:
    """Return a BackupSummary."""
    record = record_of(backup.table)
    table = {"TableName": record.name, "TableId": record.id, "TableArn": record.arn}
    return table | _describe(backup)


def _describe_whole(backup: BackupRecord) -> dict[str, Any]:
    """Return a BackupDescription."""
    record = record_of(backup.table)
    table: dict[str, Any] = {
        "TableName": record.name,
        "TableId": record.id,
        "TableArn": record.arn,
        "TableSizeBytes": backup.size,
        "KeySchema": record.key_schema,
        "TableCreationDateTime": round(record.created_at, 3),
        "ProvisionedThroughput": _throughput(record.throughput),
        "ItemCount": backup.items,
        "BillingMode": record.billing_mode,
    }
    if record.on_demand is not None:
        table["OnDemandThroughput"] = record.on_demand
    return {
        "BackupDetails": _describe(backup),
        "SourceTableDetails": table,
        "SourceTableFeatureDetails": backup.features,
    }


def _throughput(throughput: Throughput) -> dict[str, int]:
    return {
        "ReadCapacityUnits": throughput.read_units,
        "WriteCapacityUnits": throughput.write_units,
    }


def _features(record: TableRecord, now: float) -> dict[str, Any]:
    """Return the SourceTableFeatureDetails of a table as it is now."""
    features: dict[str, Any] = {}
    indexes = record.live_indexes(now)
    local = [_index(index) for index in indexes if not index.is_global]
    if local:
        features["LocalSecondaryIndexes"] = local
    spread = [
        _index(index) | {"ProvisionedThroughput": _throughput(index.throughput)}
        for index in indexes
        if index.is_global
    ]
    if spread:
        features["GlobalSecondaryIndexes"] = spread
    if record.stream is not None and record.stream.is_enabled:
        features["StreamDescription"] = {
            "StreamEnabled": True,
            "StreamViewType": record.stream.view_type,
        }
    setting = record.time_to_live
    status = "DISABLED" if setting is None else setting.status(now)
    features["TimeToLiveDescription"] = {"TimeToLiveStatus": status}
    if setting is not None and status != "DISABLED":
        features["TimeToLiveDescription"]["AttributeName"] = setting.attribute
    if record.encryption_key_arn is not None and record.data_keys:
        features["SSEDescription"] = {
            "Status": "ENABLED",
            "SSEType": "KMS",
            "KMSMasterKeyArn": record.encryption_key_arn,
        }
    return features


def _index(index: IndexRecord) -> dict[str, Any]:
    return {
        "IndexName": index.name,
        "KeySchema": index.key_schema,
        "Projection": describe_projection(index),
    }
