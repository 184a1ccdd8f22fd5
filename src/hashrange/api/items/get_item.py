"""GetItem: one item by its key."""

from __future__ import annotations

from hashrange.api.items.arguments import read_get_arguments
from hashrange.api.items.consumed_capacity import Capacity, capacity_detail, read_units
from hashrange.api.items.key_paths import check_paths
from hashrange.api.items.keys import request_key
from hashrange.api.operation import Context, Request, Response
from hashrange.model.keys import plain_key
from hashrange.model.values import check_item
from hashrange.storage.items import consistency_of, item_row, read_item
from hashrange.storage.layout import row_size, splice, unpack_item


async def get_item(context: Context, request: Request) -> Response:
    """Return the item, or nothing if there is none."""
    table = context.known_table(request["TableName"])
    key = None
    if table is not None and len(request["Key"]) == len(table.parts):
        key = plain_key(table, request["Key"])
    if key is None:
        check_item(request["Key"])
    # With nothing but a table and a key, nothing else has to be looked for.
    is_plain = len(request) == 2
    projection = None if is_plain else read_get_arguments(request)
    if table is None:
        table = await context.table(request["TableName"])
    if key is None:
        key = request_key(table, request["Key"])
    if projection is not None:
        check_paths(table, projection)
    consistent = False if is_plain else request.get("ConsistentRead", False)
    row = await read_item(context.engine, item_row(table, key), consistency_of(consistent))
    response: Response = {}
    if row is not None:
        response["Item"] = splice(row) if projection is None else projection.apply(unpack_item(row))
    detail = None if is_plain else capacity_detail(request)
    if detail is not None:
        size = 0 if row is None else row_size(row)
        units = read_units(size, consistent=consistent)
        response["ConsumedCapacity"] = Capacity(table, units).document(detail)
    return response
