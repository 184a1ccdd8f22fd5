"""CreateTable."""

from __future__ import annotations

import uuid
from typing import Final

from hashrange.api.operation import Context, Request, Response
from hashrange.api.scope import RequestScope
from hashrange.api.tables.definition_checks import (
    check_billing,
    check_changeable,
    check_encryption,
    check_indexes,
    check_offered,
    check_on_demand,
    check_table_keys,
    check_warm,
)
from hashrange.api.tables.descriptions import describe, warm_throughput
from hashrange.api.tables.new_records import make_data_key, make_index, make_throughput, new_store
from hashrange.api.tables.policy_checks import make_policy
from hashrange.api.tables.stream_settings import begin_stream, check_new_stream, choose_label
from hashrange.api.tables.tag_rules import check_tags
from hashrange.errors import ResourceInUseException
from hashrange.model.records import TableRecord
from hashrange.storage.catalog import Delays, Edit, resolve_name

_LOCAL: Final = "LocalSecondaryIndexes"
_GLOBAL: Final = "GlobalSecondaryIndexes"


async def create_table(scope: RequestScope, request: Request) -> Response:
    """Create a table with its indexes; it is CREATING in the answer, whatever the delays."""
    context = scope.context
    _check(request)
    now = context.clock.now()
    name = resolve_name(context.account, context.region, request["TableName"])
    scope.touch_table(name)
    record = _make_record(context, name, request, now)
    data_key = await make_data_key(context, name, request.get("SSESpecification"))
    if data_key is not None:
        record.data_keys, record.encryption_key_arn = [data_key], data_key.key_arn
    if request.get("ResourcePolicy") is not None:
        record.policy = make_policy(record.arn, request["ResourcePolicy"], now)
    edit = Edit(record, creates=record.stores())
    stream = request.get("StreamSpecification")
    if stream is not None and stream["StreamEnabled"]:
        place = (await choose_label(context, name, now), new_store())
        begin_stream(record, stream["StreamViewType"], place, now, edit)

    def create(existing: TableRecord | None) -> Edit:
        if existing is not None:
            if existing.gone_at is not None:
                check_changeable(existing, now)
            raise ResourceInUseException(f"Table already exists: {name}")
        return edit

    await context.catalog.change(context.account, context.region, name, create)
    return {"TableDescription": await describe(context, record, now, "CREATING")}


def _check(request: Request) -> None:
    is_on_demand = request.get("BillingMode") == "PAY_PER_REQUEST"
    check_billing(request)
    check_table_keys(request)
    check_indexes(request)
    check_on_demand(request.get("OnDemandThroughput"), is_on_demand=is_on_demand)
    check_encryption(request.get("SSESpecification"))
    check_tags(request.get("Tags", ()), {})
    check_new_stream(request.get("StreamSpecification"))
    throughput = make_throughput(request.get("ProvisionedThroughput"))
    check_warm(
        request.get("WarmThroughput"),
        warm_throughput(None, throughput, is_on_demand=is_on_demand),
        resource="table",
    )
    check_offered(request)


def _make_record(context: Context, name: str, request: Request, now: float) -> TableRecord:
    """Return the record of the table that a request, checked before, describes."""
    delays: Delays = context.catalog.delays
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
        active_at=now + delays.create_seconds,
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
