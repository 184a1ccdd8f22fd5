"""CreateTable."""

from __future__ import annotations

import uuid
from typing import Any

from hashrange.api.descriptions import describe, warm_throughput
from hashrange.api.operation import Context, Request, Response
from hashrange.api.table_checks import (
    check_billing,
    check_encryption,
    check_indexes,
    check_offered,
    check_on_demand,
    check_table_keys,
    check_tags,
    check_warm,
)
from hashrange.errors import ResourceInUseException
from hashrange.model.records import IndexRecord, TableRecord, Throughput
from hashrange.storage.catalog import Delays, Edit, resolve_name


async def create_table(context: Context, request: Request) -> Response:
    """Create a table with its indexes; it is CREATING in the answer, whatever the delays."""
    _check(request)
    now = context.clock.now()
    name = resolve_name(context.account, context.region, request["TableName"])
    record = make_record(context, name, request, now)

    def create(existing: TableRecord | None) -> Edit:
        if existing is not None:
            raise ResourceInUseException(f"Table already exists: {name}")
        return Edit(record, creates=record.stores())

    await context.catalog.change(context.account, context.region, name, create)
    return {"TableDescription": await describe(context.engine, record, now, "CREATING")}


def _check(request: Request) -> None:
    is_on_demand = request.get("BillingMode") == "PAY_PER_REQUEST"
    check_billing(request)
    check_table_keys(request)
    check_indexes(request)
    check_on_demand(request.get("OnDemandThroughput"), is_on_demand=is_on_demand)
    check_encryption(request.get("SSESpecification"))
    check_tags(request.get("Tags", ()), {})
    throughput = make_throughput(request.get("ProvisionedThroughput"))
    check_warm(
        request.get("WarmThroughput"),
        warm_throughput(None, throughput, is_on_demand=is_on_demand),
        resource="table",
    )
    check_offered(request)


def make_record(context: Context, name: str, request: Request, now: float) -> TableRecord:
    """Return the record of the table that a request, checked before, describes."""
    delays: Delays = context.catalog.delays
    billing_mode = request.get("BillingMode", "PROVISIONED")
    tags = request.get("Tags", ())
    indexes = [make_index(index, is_global=False) for index in request.get(_LOCAL, ())]
    indexes += [make_index(index, is_global=True) for index in request.get(_GLOBAL, ())]
    return TableRecord(
        name=name,
        id=str(uuid.uuid4()),
        account=context.account,
        region=context.region,
        store=new_store(),
        key_schema=request["KeySchema"],
        attribute_types={
            definition["AttributeName"]: definition["AttributeType"]
            for definition in request["AttributeDefinitions"]
        },
        created_at=now,
        active_at=now + delays.create_seconds,
        billing_mode=billing_mode,
        throughput=make_throughput(request.get("ProvisionedThroughput")),
        indexes=indexes,
        on_demand_at=now if billing_mode == "PAY_PER_REQUEST" else None,
        table_class=request.get("TableClass"),
        is_protected=request.get("DeletionProtectionEnabled", False),
        on_demand=request.get("OnDemandThroughput"),
        warm=request.get("WarmThroughput"),
        encryption_key_arn=encryption_key(context, request.get("SSESpecification")),
        tags={tag["Key"]: tag["Value"] for tag in tags},
    )


_LOCAL = "LocalSecondaryIndexes"
_GLOBAL = "GlobalSecondaryIndexes"


def make_index(index: dict[str, Any], *, is_global: bool) -> IndexRecord:
    """Return the record of an index as described on the wire."""
    projection = index["Projection"]
    return IndexRecord(
        name=index["IndexName"],
        store=new_store(),
        is_global=is_global,
        key_schema=index["KeySchema"],
        projection_type=projection["ProjectionType"],
        non_key_attributes=projection.get("NonKeyAttributes", []),
        throughput=make_throughput(index.get("ProvisionedThroughput")),
        on_demand=index.get("OnDemandThroughput"),
        warm=index.get("WarmThroughput"),
    )


def make_throughput(throughput: dict[str, int] | None) -> Throughput:
    """Return the provisioned capacity of something new."""
    if throughput is None:
        return Throughput()
    return Throughput(throughput["ReadCapacityUnits"], throughput["WriteCapacityUnits"])


def encryption_key(context: Context, specification: dict[str, Any] | None) -> str | None:
    """Return the ARN of the key a table says it is encrypted with, None for AWS's own."""
    if specification is None or not specification.get("Enabled"):
        return None
    key = specification.get("KMSMasterKeyId", "alias/aws/dynamodb")
    if key.startswith("arn:"):
        return str(key)
    kind = "" if key.startswith(("alias/", "key/")) else "key/"
    return f"arn:aws:kms:{context.region}:{context.account}:{kind}{key}"


def new_store() -> str:
    """Return a name that no store has or ever had."""
    return "t" + uuid.uuid4().hex
