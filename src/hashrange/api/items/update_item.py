"""UpdateItem: edit an item's attributes in place."""

from __future__ import annotations

from hashrange.api.items.admission import admit_write
from hashrange.api.items.consumed_capacity import note_outcome, report_write
from hashrange.api.items.item_writes import check_write, make_update
from hashrange.api.items.write_refusals import condition_failed
from hashrange.api.operation import Request, Response
from hashrange.api.scope import RequestScope
from hashrange.expressions.updates import Update
from hashrange.pauses import off_loop
from hashrange.storage.layout import splice, unpack_item
from hashrange.storage.transactions import write_item
from hashrange.storage.writes import ItemOutcome


async def update_item(scope: RequestScope, request: Request) -> Response:
    """Edit the item if its condition holds; return the values asked for."""
    context = scope.context
    if scope.is_bulky:
        _, arguments = await off_loop(check_write, request, "update")
    else:
        _, arguments = check_write(request, "update")
    table = scope.known_table(request["TableName"]) or await scope.table(request["TableName"])
    write = make_update(table, request["Key"], arguments, counts_actions=True)
    if table.history_stores:
        write.who = scope.author
    write.is_bulky = scope.is_bulky
    if table.meter is not None:
        admit_write(scope, write)
    outcome = await write_item(context.engine, write, context.clock.now())
    note_outcome(scope, write, outcome)
    if not outcome.matched:
        raise condition_failed(request, outcome)
    response: Response = {}
    attributes = _returned(request.get("ReturnValues"), arguments.update, outcome)
    if attributes:
        response["Attributes"] = attributes
    return report_write(response, request, write, outcome)


def _returned(return_values: str | None, update: Update | None, outcome: ItemOutcome) -> object:
    """Return the attributes that ReturnValues asks for."""
    if return_values is None or return_values == "NONE":
        return None
    row = outcome.old if return_values.endswith("_OLD") else outcome.new
    if row is None:
        return None
    if return_values.startswith("ALL_"):
        return splice(row)
    return None if update is None else update.updated(unpack_item(row))
