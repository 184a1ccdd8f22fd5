"""Builds the records of tables and indexes from checked requests."""

from __future__ import annotations

import uuid
from typing import Any

from hashrange.api.operation import Context
from hashrange.model.records import DataKey, IndexRecord, Throughput


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
