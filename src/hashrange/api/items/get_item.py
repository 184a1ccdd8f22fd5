"""GetItem: one item by its key."""

from __future__ import annotations

from hashrange.api.items.admission import admit_read, charge_read
from hashrange.api.items.arguments import read_get_arguments
from hashrange.api.items.consumed_capacity import Capacity, capacity_detail, read_units
from hashrange.api.items.key_paths import check_paths
from hashrange.api.items.keys import request_key
from hashrange.api.operation import Request, Response
from hashrange.api.recovery.time_travel import past_view
from hashrange.api.scope import RequestScope
from hashrange.engine.base import EVENTUAL, STRONG
from hashrange.limits import READ_UNIT_BYTES
from hashrange.model.keys import plain_key
from hashrange.model.values import check_item
from hashrange.pauses import off_loop
from hashrange.storage.items import item_row, read_items
from hashrange.storage.layout import splice, unpack_item, unpack_size


async def get_item(scope: RequestScope, request: Request) -> Response:
    """Return the item, or nothing if there is none."""
    table = scope.known_table(request["TableName"])
    key = None
    if table is not None and len(request["Key"]) == len(table.parts):
        key = plain_key(table, request["Key"])
    if key is None and scope.is_bulky:
        await off_loop(check_item, request["Key"])
    elif key is None:
        check_item(request["Key"])
    # Fast path: the request has only a table and a key.
    is_plain = len(request) == 2
    projection = None if is_plain else read_get_arguments(request)
    if table is None:
        table = await scope.table(request["TableName"])
    if key is None:
        key = request_key(table, request["Key"])
    if projection is not None:
        check_paths(table, projection)
    consistent = False if is_plain else request.get("ConsistentRead", False)
    if table.meter is not None:
        admit_read(scope, table, None, key)
    rows = (item_row(table, key),)
    if scope.at is not None:
        row = (await (await past_view(scope, table, request)).read(rows))[0]
    elif consistent:
        row = (await read_items(scope.context.engine, rows, STRONG))[0]
    else:
        row = (await scope.context.engine.read(rows, EVENTUAL))[0]
    size = 0
    response: Response = {}
    if row is not None:
        response["Item"] = splice(row) if projection is None else projection.apply(unpack_item(row))
        size = unpack_size(row)[0]
        scope.examined_count = scope.returned_count = 1
        scope.examined_bytes = scope.returned_bytes = size
    # Written out for the common case, as this is the most frequent request.
    units = 0.5
    if size > READ_UNIT_BYTES or not is_plain:
        units = read_units(size, consistent=consistent)
    scope.consumed.append((table.name, None, units, 0.0))
    if table.meter is not None:
        charge_read(scope, table, None, key, units)
    detail = None if is_plain else capacity_detail(request)
    if detail is not None:
        response["ConsumedCapacity"] = Capacity(table, units).document(detail)
    return response
