"""DeleteItem: remove one item by its key."""

from __future__ import annotations

from hashrange.api.items.admission import admit_write
from hashrange.api.items.consumed_capacity import note_outcome, report_write
from hashrange.api.items.item_writes import check_write, make_delete
from hashrange.api.items.write_refusals import condition_failed
from hashrange.api.operation import Request, Response
from hashrange.api.recovery.time_travel import expect_unchanged
from hashrange.api.scope import RequestScope
from hashrange.pauses import off_loop
from hashrange.storage.layout import splice
from hashrange.storage.transactions import write_item


async def delete_item(scope: RequestScope, request: Request) -> Response:
    """Delete the item if its condition holds; return what was there before if asked."""
    context = scope.context
    if scope.is_bulky:
        _, arguments = await off_loop(check_write, request, "delete")
    else:
        _, arguments = check_write(request, "delete")
    table = scope.known_table(request["TableName"]) or await scope.table(request["TableName"])
    write = make_delete(table, request["Key"], arguments.condition)
    if table.history_stores:
        write.who = scope.author
    if scope.at is not None:
        await expect_unchanged(scope, write)
    if table.meter is not None:
        admit_write(scope, write)
    outcome = await write_item(context.engine, write, context.clock.now())
    note_outcome(scope, write, outcome)
    if not outcome.matched:
        raise condition_failed(request, outcome)
    response: Response = {}
    if outcome.old is not None and request.get("ReturnValues") == "ALL_OLD":
        response["Attributes"] = splice(outcome.old)
    return report_write(response, request, write, outcome)
