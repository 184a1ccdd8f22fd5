"""TransactGetItems and TransactWriteItems: several items, all or nothing.

Errors in the request itself are reported as for single calls. Errors that depend on a table's
schema or on the stored items cancel the transaction, with a reason for each action.
"""

from __future__ import annotations

from collections.abc import Sequence

from hashrange.api.items.arguments import (
    Kind,
    WriteArguments,
    read_get_arguments,
    read_write_arguments,
)
from hashrange.api.items.item_writes import check_put, make_delete, make_put, make_update
from hashrange.api.items.key_paths import check_paths
from hashrange.api.items.keys import (
    check_empty_index_keys,
    check_empty_keys,
    check_given_index_keys,
    request_key,
)
from hashrange.api.items.transaction_steps import (
    bind_all,
    cancel_if_any,
    check_total,
    failure_reason,
    read_all,
    report_reads,
    report_repeat,
    report_writes,
    write_all,
)
from hashrange.api.operation import Request, Response
from hashrange.api.scope import RequestScope
from hashrange.engine.base import RowKey
from hashrange.errors import ValidationException
from hashrange.model.schema import Table
from hashrange.model.values import OLDER, check_item
from hashrange.pauses import Pace, off_loop
from hashrange.storage.items import item_row, project
from hashrange.storage.layout import splice
from hashrange.storage.writes import CheckWrite, ItemWrite

_KINDS: dict[str, Kind] = {
    "ConditionCheck": "check",
    "Put": "put",
    "Delete": "delete",
    "Update": "update",
}
_SEVERAL_KINDS = "TransactItems can only contain one of Check, Put, Update or Delete"
_NO_KIND = "Invalid Request: TransactWriteRequest should contain Delete or Put or Update request"


class _Action:
    """One action of a TransactWriteItems, checked as far as the request alone allows."""

    __slots__ = ("arguments", "kind", "request", "size")

    def __init__(self, member: Request) -> None:
        if len(member) != 1:
            raise ValidationException(_SEVERAL_KINDS if member else _NO_KIND)
        self.kind, self.request = next(iter(member.items()))
        if self.kind == "Put":
            self.size = check_put(self.request["Item"], OLDER)
        self.arguments: WriteArguments = read_write_arguments(
            self.request, kind=_KINDS[self.kind], wording=OLDER
        )
        if self.kind != "Put":
            self.size = check_item(self.request["Key"], OLDER)

    def check_empty_keys(self, table: Table) -> None:
        """Refuse empty keys: the one schema error that is not a cancellation reason."""
        if self.kind == "Put":
            check_empty_keys(table, self.request["Item"])
            check_empty_index_keys(table, self.request["Item"])
            return
        check_empty_keys(table, self.request["Key"])
        if self.arguments.update is not None:
            check_given_index_keys(table, self.arguments.update)

    def bind(self, table: Table) -> ItemWrite:
        """Return the item write for the action's table."""
        if self.kind == "Put":
            return make_put(table, self.request["Item"], self.size, self.arguments.condition)
        key = self.request["Key"]
        if self.kind == "Update":
            return make_update(table, key, self.arguments, counts_actions=False)
        if self.kind == "Delete":
            return make_delete(table, key, self.arguments.condition)
        return CheckWrite(table, request_key(table, key), key, self.arguments.condition)


class _Get:
    """One get of a TransactGetItems, checked as far as the request alone allows."""

    __slots__ = ("projection", "request")

    def __init__(self, request: Request) -> None:
        self.request = request
        check_item(request["Key"], OLDER)
        self.projection = read_get_arguments(request)

    def bind(self, table: Table) -> RowKey:
        """Return where the item is."""
        key = request_key(table, self.request["Key"])
        check_paths(table, self.projection)
        return item_row(table, key)

    def shown(self, row: bytes) -> object:
        """Return the item, or the part of it that was asked for."""
        return splice(row) if self.projection is None else project(row, self.projection)


def _actions(members: Sequence[Request]) -> list[_Action]:
    return [_Action(member) for member in members]


def _gets(members: Sequence[Request]) -> list[_Get]:
    return [_Get(member["Get"]) for member in members]


async def transact_write_items(scope: RequestScope, request: Request) -> Response:
    """Carry out all actions, or none."""
    members = request["TransactItems"]
    actions: list[_Action] = []
    if scope.is_bulky:
        actions = await off_loop(_actions, members)
        members = ()
    pace = Pace()
    for member in members:
        actions.append(_Action(member))
        if pace.is_over():
            await pace.pause()
    check_total(action.size for action in actions)
    tables = [await scope.table(action.request["TableName"]) for action in actions]
    for action, table in zip(actions, tables, strict=True):
        action.check_empty_keys(table)
    writes = await bind_all(actions, tables)
    outcomes = await write_all(scope, request, writes, content=request["TransactItems"])
    if outcomes is None:
        return await report_repeat(scope, request, writes)
    cancel_if_any(
        [
            failure_reason(action.request, outcome)
            for action, outcome in zip(actions, outcomes, strict=True)
        ]
    )
    return report_writes(scope, request, writes, outcomes)


async def transact_get_items(scope: RequestScope, request: Request) -> Response:
    """Return the items as they were at one moment."""
    members = request["TransactItems"]
    gets = await off_loop(_gets, members) if scope.is_bulky else _gets(members)
    tables = [await scope.table(get.request["TableName"]) for get in gets]
    keys = await bind_all(gets, tables)
    rows = await read_all(scope, tables, keys)
    responses: list[Response] = []
    pace = Pace()
    for get, row in zip(gets, rows, strict=True):
        responses.append({} if row is None else {"Item": get.shown(row)})
        if pace.is_over():
            await pace.pause_or_restart()
    response = report_reads(scope, request, tables, keys, rows)
    response["Responses"] = responses
    return response
