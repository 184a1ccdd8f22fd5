"""Builds the records of tables and indexes from checked requests."""

from __future__ import annotations

import uuid
from typing import Any, Final

from hashrange.api.operation import Context, Request
from hashrange.model.records import DataKey, IndexRecord, TableRecord, Throughput

_LOCAL: Final = "LocalSecondaryIndexes"
_GLOBAL: Final = "GlobalSecondaryIndexes"


def make_index(index: dict[str, Any], shards: int, store: str, *, is_global: bool) -> IndexRecord:
    """Return the record of an index as described on the wire, to be kept in a store."""
    projection = index["Projection"]
    return IndexRecord(
        name=index["IndexName"],
        store=store,
        shards=shards,
        is_global=is_global,
        key_schema=index["KeySchema"],
        projection_type=projection["ProjectionType"],
        non_key_attributes=projection.get("NonKeyAttributes", []),
        throughput=make_throughput(index.get("ProvisionedThroughput")),
        on_demand=index.get("OnDemandThroughput"),
        warm=index.get("WarmThroughput"),
    )


def make_throughput(throughput: dict[str, int] | None) -> Throughput:
    """Return the provisioned capacity of a new table or index."""
    if throughput is None:
        return Throughput()
    return Throughput(throughput["ReadCapacityUnits"], throughput["WriteCapacityUnits"])


async def make_data_key(
    context: Context, table: str, specification: dict[str, Any] | None
) -> DataKey | None:
    """Return a data key for a table, sealed with the KMS key it asks for; None if for none."""
    if specification is None or not specification.get("Enabled"):
        return None
    place = (context.account, context.region)
    key_id = specification.get("KMSMasterKeyId")
    return DataKey(*await context.table_keys.make(place, table, key_id))


def new_store() -> str:
    """Return a name that no store has or ever had."""
    return "t" + uuid.uuid4().hex


def make_record(context: Context, name: str, request: Request, now: float) -> TableRecord:
    """Return the record of the table that a request, checked before, describes."""
    billing_mode = request.get("BillingMode", "PROVISIONED")
    tags = request.get("Tags", ())
    store, shards = new_store(), context.engine.capabilities.shards
    indexes = [
        make_index(index, shards, f"{store}.{new_store()}", is_global=False)
        for index in request.get(_LOCAL, ())
    ]
    indexes += [
        make_index(index, shards, new_store(), is_global=True) for index in request.get(_GLOBAL, ())
    ]
    return TableRecord(
        name=name,
        id=str(uuid.uuid4()),
        account=context.account,
        region=context.region,
        store=store,
        shards=shards,
        key_schema=request["KeySchema"],
        attribute_types={
            definition["AttributeName"]: definition["AttributeType"]
            for definition in request["AttributeDefinitions"]
        },
        created_at=now,
        active_at=now + context.catalog.delays.create_seconds,
        billing_mode=billing_mode,
        throughput=make_throughput(request.get("ProvisionedThroughput")),
        indexes=indexes,
        on_demand_at=now if billing_mode == "PAY_PER_REQUEST" else None,
        table_class=request.get("TableClass"),
        is_protected=request.get("DeletionProtectionEnabled", False),
        on_demand=request.get("OnDemandThroughput"),
        warm=request.get("WarmThroughput"),
        tags={tag["Key"]: tag["Value"] for tag in tags},
    )
