"""DeleteItem: remove one item by its key."""

from __future__ import annotations

from hashrange.api.items.consumed_capacity import report_write
from hashrange.api.items.item_writes import check_write, make_delete
from hashrange.api.items.write_refusals import condition_failed
from hashrange.api.operation import Context, Request, Response
from hashrange.storage.layout import splice
from hashrange.storage.transactions import write_item


async def delete_item(context: Context, request: Request) -> Response:
    """Delete the item if its condition holds; return what was there before if asked."""
    _, arguments = check_write(request, "delete")
    table = context.known_table(request["TableName"]) or await context.table(request["TableName"])
    write = make_delete(table, request["Key"], arguments.condition)
    outcome = await write_item(context.engine, write, context.clock.now())
    if not outcome.matched:
        raise condition_failed(request, outcome)
    response: Response = {}
    if outcome.old is not None and request.get("ReturnValues") == "ALL_OLD":
        response["Attributes"] = splice(outcome.old)
    return report_write(response, request, write, outcome)
