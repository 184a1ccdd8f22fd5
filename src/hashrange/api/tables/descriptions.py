"""How a table's record is described on the wire.

Item counts and sizes are exact and current; AWS refreshes them every six hours or so.
"""

from __future__ import annotations

from typing import Any, Final

from hashrange.api.operation import Context
from hashrange.engine.base import Engine
from hashrange.model.records import IndexRecord, TableRecord, Throughput

_SECONDS_PER_DAY: Final = 86_400
# Warm throughput of a new on-demand table.
_ON_DEMAND_WARM: Final = {"ReadUnitsPerSecond": 12_000, "WriteUnitsPerSecond": 4_000}


INACCESSIBLE: Final = "INACCESSIBLE_ENCRYPTION_CREDENTIALS"
"""The status of a table whose KMS key cannot be used."""


async def describe(
    context: Context, record: TableRecord, now: float, status: str | None = None
) -> dict[str, Any]:
    """Return the TableDescription of a record; `status` overrides what the clock says."""
    engine = context.engine
    status = status or record.status(now)
    closed_at = await _closed_since(context, record)
    if status == "ACTIVE" and closed_at is not None:
        status = INACCESSIBLE
    items, size = await engine.tally(record.store, record.shards, record.store)
    description: dict[str, Any] = {
        "AttributeDefinitions": [
            {"AttributeName": name, "AttributeType": type}
            for name, type in record.attribute_types.items()
        ],
        "TableName": record.name,
        "KeySchema": record.key_schema,
        "TableStatus": status,
        "CreationDateTime": _date(record.created_at),
        "ProvisionedThroughput": describe_throughput(record.throughput.described(status), now),
        "TableSizeBytes": size,
        "ItemCount": items,
        "TableArn": record.arn,
        "TableId": record.id,
    }
    await _describe_indexes(engine, record, now, status, description)
    _describe_settings(record, status, description)
    if closed_at and "SSEDescription" in description:
        description["SSEDescription"]["InaccessibleEncryptionDateTime"] = _date(closed_at)
    return description


async def _closed_since(context: Context, record: TableRecord) -> float | None:
    """Return since when the items of a table cannot be used, because of a KMS key."""
    for arn in {key.key_arn for key in record.data_keys}:
        closed_at = await context.table_keys.closed_since(arn)
        if closed_at is not None:
            return closed_at
    return None


def describe_deleted(record: TableRecord, now: float) -> dict[str, Any]:
    """Return the description in the answer to DeleteTable, which has fewer members."""
    description: dict[str, Any] = {
        "TableName": record.name,
        "TableStatus": "DELETING",
        "ProvisionedThroughput": describe_throughput(record.throughput, now),
        "TableSizeBytes": 0,
        "ItemCount": 0,
        "TableArn": record.arn,
        "TableId": record.id,
    }
    _describe_settings(record, "DELETING", description)
    return description


def describe_throughput(throughput: Throughput, now: float) -> dict[str, Any]:
    """Return a ProvisionedThroughputDescription."""
    today = throughput.decreases_day == int(now // _SECONDS_PER_DAY)
    description: dict[str, Any] = {}
    if throughput.increased_at is not None:
        description["LastIncreaseDateTime"] = _date(throughput.increased_at)
    if throughput.decreased_at is not None:
        description["LastDecreaseDateTime"] = _date(throughput.decreased_at)
    description["NumberOfDecreasesToday"] = throughput.decreases if today else 0
    description["ReadCapacityUnits"] = throughput.read_units
    description["WriteCapacityUnits"] = throughput.write_units
    return description


def warm_throughput(
    warm: dict[str, int] | None, throughput: Throughput, *, is_on_demand: bool
) -> dict[str, int]:
    """Return the throughput a table or index can serve at once."""
    if is_on_demand:
        floor = _ON_DEMAND_WARM
    else:
        floor = {
            "ReadUnitsPerSecond": throughput.read_units,
            "WriteUnitsPerSecond": throughput.write_units,
        }
    return {name: max(units, (warm or {}).get(name, 0)) for name, units in floor.items()}


def _date(seconds: float) -> float:
    return round(seconds, 3)


async def _describe_indexes(
    engine: Engine, record: TableRecord, now: float, status: str, description: dict[str, Any]
) -> None:
    local = []
    indexes = []
    for index in record.live_indexes(now):
        items, size = await engine.tally(record.store, record.shards, index.store)
        described = {
            "IndexName": index.name,
            "KeySchema": index.key_schema,
            "Projection": describe_projection(index),
            "IndexSizeBytes": size,
            "ItemCount": items,
            "IndexArn": f"{record.arn}/index/{index.name}",
        }
        if not index.is_global:
            local.append(described)
            continue
        index_status = "CREATING" if status == "CREATING" else index.status(now)
        described["IndexStatus"] = index_status
        if not index.is_filled and index.gone_at is None:
            described["Backfilling"] = now >= index.fill_at
        throughput = index.throughput.described(status)
        described["ProvisionedThroughput"] = describe_throughput(throughput, now)
        if index.on_demand is not None:
            described["OnDemandThroughput"] = index.on_demand
        warm = warm_throughput(index.warm, throughput, is_on_demand=record.is_on_demand)
        described["WarmThroughput"] = {**warm, "Status": index_status}
        indexes.append(described)
    if local:
        description["LocalSecondaryIndexes"] = local
    if indexes:
        description["GlobalSecondaryIndexes"] = indexes


def describe_projection(index: IndexRecord) -> dict[str, Any]:
    """Return an index's Projection."""
    projection: dict[str, Any] = {"ProjectionType": index.projection_type}
    if index.non_key_attributes:
        projection["NonKeyAttributes"] = index.non_key_attributes
    return projection


def _describe_settings(record: TableRecord, status: str, description: dict[str, Any]) -> None:
    if record.on_demand_at is not None:
        summary: dict[str, Any] = {"BillingMode": record.billing_mode}
        if status != "CREATING":
            summary["LastUpdateToPayPerRequestDateTime"] = _date(record.on_demand_at)
        description["BillingModeSummary"] = summary
    # A table of an earlier release can name a key that nothing was ever encrypted with.
    if record.encryption_key_arn is not None and record.data_keys:
        description["SSEDescription"] = {
            "Status": "UPDATING" if record.is_resealing else "ENABLED",
            "SSEType": "KMS",
            "KMSMasterKeyArn": record.encryption_key_arn,
        }
    if record.restore is not None and record.is_loading:
        description["RestoreSummary"] = record.restore | {"RestoreInProgress": True}
    stream = record.stream
    if stream is not None:
        if stream.is_enabled:
            description["StreamSpecification"] = {
                "StreamEnabled": True,
                "StreamViewType": stream.view_type,
            }
        description["LatestStreamLabel"] = stream.label
        description["LatestStreamArn"] = stream.arn
    if record.table_class is not None:
        description["TableClassSummary"] = {"TableClass": record.table_class}
        if record.table_class_at is not None:
            changed_at = _date(record.table_class_at)
            description["TableClassSummary"]["LastUpdateDateTime"] = changed_at
    description["DeletionProtectionEnabled"] = record.is_protected
    if record.on_demand is not None:
        description["OnDemandThroughput"] = record.on_demand
    throughput = record.throughput.described(status)
    warm = warm_throughput(record.warm, throughput, is_on_demand=record.is_on_demand)
    description["WarmThroughput"] = {**warm, "Status": status}
