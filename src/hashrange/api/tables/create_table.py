"""CreateTable."""

from __future__ import annotations

from hashrange.api.operation import Request, Response
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
from hashrange.api.tables.new_records import (
    make_data_key,
    make_record,
    make_throughput,
    new_store,
)
from hashrange.api.tables.policy_checks import make_policy
from hashrange.api.tables.stream_settings import begin_stream, check_new_stream, choose_label
from hashrange.api.tables.tag_rules import check_tags
from hashrange.errors import ResourceInUseException
from hashrange.model.records import TableRecord
from hashrange.storage.catalog import Edit, resolve_name


async def create_table(scope: RequestScope, request: Request) -> Response:
    """Create a table with its indexes; it is CREATING in the answer, whatever the delays."""
    context = scope.context
    check_definition(request)
    now = context.clock.now()
    name = resolve_name(context.account, context.region, request["TableName"])
    scope.touch_table(name)
    record = make_record(context, name, request, now)
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


def check_definition(request: Request) -> None:
    """Check everything that a request says about a new table."""
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
