"""The record of a table that is restored: what it takes from its source, and the overrides.

Restored are items, keys, indexes, billing mode, throughput and encryption. Tags, policies, streams,
time to live, recovery, deletion protection and table class are not, as on AWS.
"""

from __future__ import annotations

import uuid
from typing import Any, Final

from hashrange.api.operation import Context, Request
from hashrange.api.tables.definition_checks import (
    check_encryption,
    check_on_demand,
    check_table_limit,
    check_throughput,
)
from hashrange.api.tables.new_records import make_data_key, make_throughput, new_store
from hashrange.errors import ValidationException
from hashrange.model.records import IndexRecord, TableRecord, Throughput

_INVALID: Final = "One or more parameter values were invalid: "
_GLOBAL: Final = "GlobalSecondaryIndexOverride"
_LOCAL: Final = "LocalSecondaryIndexOverride"


def restored_record(
    context: Context, source: TableRecord, request: Request, now: float
) -> TableRecord:
    """Return the record of a new table made from a source, as the request overrides it."""
    billing_mode = _billing_mode(source, request)
    is_on_demand = billing_mode == "PAY_PER_REQUEST"
    throughput = request.get("ProvisionedThroughputOverride")
    check_on_demand(request.get("OnDemandThroughputOverride"), is_on_demand=is_on_demand)
    check_encryption(request.get("SSESpecificationOverride"))
    if request.get("VectorIndexOverride"):
        raise ValidationException(
            f"{_INVALID}Vector indexes are not supported by this server: VectorIndexOverride"
        )
    units = _units(source.throughput) if throughput is None else make_throughput(throughput)
    store, shards = new_store(), context.engine.capabilities.shards
    indexes = [
        _placed(index, store, shards, units, is_on_demand=is_on_demand)
        for index in (
            *_chosen(source, request, _LOCAL, is_global=False),
            *_chosen(source, request, _GLOBAL, is_global=True),
        )
    ]
    on_demand = request.get("OnDemandThroughputOverride", source.on_demand)
    return TableRecord(
        name=request["TargetTableName"],
        id=str(uuid.uuid4()),
        account=context.account,
        region=context.region,
        store=store,
        shards=shards,
        key_schema=source.key_schema,
        attribute_types=_used_types(source, indexes),
        created_at=now,
        active_at=now + context.catalog.delays.create_seconds,
        billing_mode=billing_mode,
        throughput=Throughput() if is_on_demand else units,
        indexes=indexes,
        on_demand_at=now if is_on_demand else None,
        on_demand=on_demand if is_on_demand else None,
    )


async def encrypt_restored(
    context: Context, record: TableRecord, source: TableRecord, request: Request
) -> None:
    """Give a restored table a data key of its own, of the source's KMS key or of the override."""
    specification = request.get("SSESpecificationOverride")
    if specification is None and source.encryption_key_arn is not None and source.data_keys:
        specification = {"Enabled": True, "KMSMasterKeyId": source.encryption_key_arn}
    data_key = await make_data_key(context, record.name, specification)
    if data_key is not None:
        record.data_keys, record.encryption_key_arn = [data_key], data_key.key_arn


def _billing_mode(source: TableRecord, request: Request) -> str:
    override = request.get("BillingModeOverride")
    throughput = request.get("ProvisionedThroughputOverride")
    mode = str(override or source.billing_mode)
    if mode != "PROVISIONED" and throughput is not None:
        raise ValidationException(
            "Cannot override ProvisionedThroughput unless BillingMode is PROVISIONED"
        )
    if override == "PROVISIONED" and throughput is None:
        raise ValidationException(
            "Must override ProvisionedThroughput if BillingMode is overridden to PROVISIONED"
        )
    check_throughput(throughput)
    check_table_limit(throughput)
    return mode


def _units(throughput: Throughput) -> Throughput:
    """Return a throughput without its history."""
    return Throughput(throughput.read_units, throughput.write_units)


def _chosen(
    source: TableRecord, request: Request, member: str, *, is_global: bool
) -> list[IndexRecord]:
    """Return the indexes to restore: all, or those that the request lists, maybe renamed."""
    offered = [
        index
        for index in source.indexes
        if index.is_global == is_global and index.gone_at is None and index.is_filled
    ]
    wanted = request.get(member)
    if wanted is None:
        return offered
    chosen: list[IndexRecord] = []
    for index in wanted:
        if index.get("WarmThroughput") is not None:
            raise ValidationException(
                f"{_INVALID}WarmThroughput cannot be specified in {member} during a restore"
            )
        match = next((found for found in offered if _matches(found, index)), None)
        if match is None:
            raise ValidationException(
                f"Index {index['IndexName']} does not match a secondary index that existed in the "
                "source table and cannot be created during the restore operation"
            )
        offered.remove(match)
        match.name = index["IndexName"]
        if index.get("ProvisionedThroughput") is not None:
            check_throughput(index["ProvisionedThroughput"])
            match.throughput = make_throughput(index["ProvisionedThroughput"])
        if index.get("OnDemandThroughput") is not None:
            match.on_demand = index["OnDemandThroughput"]
        chosen.append(match)
    names = [index.name for index in chosen]
    for name in names:
        if names.count(name) > 1:
            raise ValidationException(f"{_INVALID}Duplicate index name: {name}")
    return chosen


def _matches(index: IndexRecord, wanted: dict[str, Any]) -> bool:
    """Tell whether an index has the keys and the projection that are wanted."""
    projection = wanted["Projection"]
    return (
        index.key_schema == wanted["KeySchema"]
        and index.projection_type == projection.get("ProjectionType")
        and sorted(index.non_key_attributes) == sorted(projection.get("NonKeyAttributes", []))
    )


def _placed(
    index: IndexRecord, store: str, shards: int, units: Throughput, *, is_on_demand: bool
) -> IndexRecord:
    """Return an index of the new table."""
    throughput = Throughput()
    if index.is_global and not is_on_demand:
        throughput = _units(index.throughput) if index.throughput.read_units else _units(units)
    return IndexRecord(
        name=index.name,
        store=new_store() if index.is_global else f"{store}.{new_store()}",
        shards=shards,
        is_global=index.is_global,
        key_schema=index.key_schema,
        projection_type=index.projection_type,
        non_key_attributes=index.non_key_attributes,
        throughput=throughput,
        on_demand=index.on_demand if is_on_demand else None,
    )


def _used_types(source: TableRecord, indexes: list[IndexRecord]) -> dict[str, str]:
    """Return the types of the attributes that are keys of the new table or its indexes."""
    schemas = [source.key_schema, *(index.key_schema for index in indexes)]
    used = {element["AttributeName"] for schema in schemas for element in schema}
    return {name: type for name, type in source.attribute_types.items() if name in used}
