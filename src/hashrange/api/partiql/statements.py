"""ExecuteStatement and BatchExecuteStatement, built on the item reads and writes."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from hashrange.api.items.admission import admit_write, note_throttled, take_read
from hashrange.api.items.consumed_capacity import (
    Capacity,
    capacity_detail,
    note_outcome,
    read_units,
    report_write,
)
from hashrange.api.items.item_writes import sign_writes
from hashrange.api.items.keys import request_key
from hashrange.api.items.write_refusals import condition_failed
from hashrange.api.operation import Request, Response
from hashrange.api.partiql.keys import read_key
from hashrange.api.partiql.reads import find_source, run_select
from hashrange.api.partiql.writes import (
    check_statement,
    duplicate_item,
    make_write,
    returned,
)
from hashrange.api.scope import RequestScope
from hashrange.engine.base import RowKey
from hashrange.errors import ClientError, ValidationException
from hashrange.expressions.binding import Values
from hashrange.expressions.partiql.statements import (
    ExistsStatement,
    SelectStatement,
    Statement,
    prepare_statement,
)
from hashrange.model.schema import Table
from hashrange.pauses import Pace, off_loop
from hashrange.storage.items import consistency_of, item_row, read_items
from hashrange.storage.layout import row_size, splice, unpack_item
from hashrange.storage.transactions import write_item
from hashrange.storage.writes import ItemOutcome, ItemWrite, PutWrite

_EXISTS: Final = "EXISTS can only be used in ExecuteTransaction write requests."
_NOT_BY_KEY: Final = (
    "Select statements within BatchExecuteStatement must specify the primary key in the where "
    "clause."
)
# How a batch names the errors that a single statement raises.
_CODES: Final = {
    "ConditionalCheckFailedException": "ConditionalCheckFailed",
    "DuplicateItemException": "DuplicateItem",
    "ItemCollectionSizeLimitExceededException": "ItemCollectionSizeLimitExceeded",
    "ProvisionedThroughputExceededException": "ProvisionedThroughputExceeded",
    "ResourceNotFoundException": "ResourceNotFound",
    "ThrottlingException": "ThrottlingError",
    "TransactionConflictException": "TransactionConflict",
    "ValidationException": "ValidationError",
}


async def execute_statement(scope: RequestScope, request: Request) -> Response:
    """Carry out one statement."""
    pace = Pace()
    statement = prepare_statement(request["Statement"])
    if pace.is_over():
        await pace.pause()
    parameters = request.get("Parameters", ())
    if scope.is_bulky:
        values = await off_loop(statement.values, parameters)
    else:
        values = statement.values(parameters)
    if isinstance(statement, ExistsStatement):
        raise ValidationException(_EXISTS)
    if isinstance(statement, SelectStatement):
        return await run_select(scope, request, statement, values)
    if scope.is_bulky:
        await off_loop(check_statement, statement, values)
        table = await scope.table(statement.table_name)
        write = await off_loop(make_write, statement, table, values)
    else:
        check_statement(statement, values)
        table = await scope.table(statement.table_name)
        write = make_write(statement, table, values)
    outcome = await _carry_out(scope, request, write)
    item = returned(statement, write, outcome)
    response: Response = {"Items": [] if item is None else [item]}
    return report_write(response, request, write, outcome)


async def _carry_out(scope: RequestScope, request: Request, write: ItemWrite) -> ItemOutcome:
    context = scope.context
    write.is_bulky = scope.is_bulky
    if write.table.meter is not None:
        admit_write(scope, write)
    sign_writes(scope, (write,))
    outcome = await write_item(context.engine, write, context.clock.now())
    note_outcome(scope, write, outcome)
    if not outcome.matched:
        if isinstance(write, PutWrite):
            raise duplicate_item()
        raise condition_failed(request, outcome)
    return outcome


class _Member:
    """One statement of a batch on its way to a response."""

    __slots__ = ("key", "request", "response", "statement", "table", "values", "write")

    def __init__(self, request: Request) -> None:
        self.request = request
        self.response: dict[str, Any] = {}
        self.statement: Statement | None = None
        self.values: Values = {}
        self.table: Table
        self.key: RowKey | None = None
        self.write: ItemWrite | None = None

    def prepare(self) -> None:
        statement = prepare_statement(self.request["Statement"])
        if isinstance(statement, ExistsStatement):
            raise ValidationException(_EXISTS)
        self.statement = statement
        self.values = statement.values(self.request.get("Parameters", ()))
        check_statement(statement, self.values)

    async def bind(self, scope: RequestScope) -> None:
        """Find the item the statement is about."""
        statement = self.statement
        assert statement is not None
        table = await scope.table(statement.table_name)
        self.table = table
        if isinstance(statement, SelectStatement):
            find_source(table, statement, consistent=False)
            key = None
            if statement.index_name is None:
                key = read_key(table, statement.where, self.values)
            if key is None:
                raise ValidationException(_NOT_BY_KEY)
            self.key = item_row(table, request_key(table, key))
        else:
            if scope.is_bulky:
                self.write = await off_loop(make_write, statement, table, self.values)
            else:
                self.write = make_write(statement, table, self.values)
            self.key = self.write.row_key

    def fail(self, error: ClientError) -> None:
        """Answer with an error."""
        failure: dict[str, Any] = {
            "Code": _CODES.get(error.code, error.code),
            "Message": error.message,
        }
        if error.members and "Item" in error.members:
            failure["Item"] = error.members["Item"]
        self.response = {"Error": failure}
        if self.key is not None:
            self.response["TableName"] = self.table.name

    def show(self, row: bytes | None) -> None:
        """Answer with the item a SELECT names."""
        assert isinstance(self.statement, SelectStatement)
        self.response = {"TableName": self.table.name}
        if row is not None:
            selection = self.statement.selection
            if selection is None:
                self.response["Item"] = splice(row)
            else:
                self.response["Item"] = selection.apply(unpack_item(row))


async def batch_execute_statement(scope: RequestScope, request: Request) -> Response:
    """Carry out statements, each by itself: all of them reads of one item, or all of them writes.

    An error of a statement is reported in its place of the response.
    """
    members = [_Member(member) for member in request["Statements"]]
    pace = Pace()
    for member in members:
        try:
            if scope.is_bulky:
                await off_loop(member.prepare)
            else:
                member.prepare()
        except ValidationException as error:
            member.fail(error)
        if pace.is_over():
            await pace.pause()
    kinds = {
        isinstance(member.statement, SelectStatement)
        for member in members
        if member.statement is not None
    }
    if len(kinds) > 1:
        raise ValidationException(
            "Read and write requests together in the same batch is not supported."
        )
    for member in members:
        if not member.response:
            try:
                await member.bind(scope)
            except ClientError as error:
                member.fail(error)
            if pace.is_over():
                await pace.pause()
    ready = [member for member in members if member.key is not None and not member.response]
    if len({member.key for member in ready}) < len(ready):
        raise ValidationException("Provided list of item keys contains duplicates")
    capacities: dict[str, Capacity] = {}
    if True in kinds:
        await _read(scope, ready, capacities)
    else:
        await asyncio.gather(*(_write(scope, member, capacities) for member in ready))
    response: Response = {"Responses": [member.response for member in members]}
    detail = capacity_detail(request)
    if detail is not None:
        response["ConsumedCapacity"] = [
            capacity.document(detail) for capacity in capacities.values()
        ]
    return response


async def _read(
    scope: RequestScope, members: list[_Member], capacities: dict[str, Capacity]
) -> None:
    keys = [member.key for member in members if member.key is not None]
    is_consistent = any(member.request.get("ConsistentRead", False) for member in members)
    rows = await read_items(scope.context.engine, keys, consistency_of(is_consistent))
    pace = Pace()
    for member, row in zip(members, rows, strict=True):
        if pace.is_over():
            await pace.pause()
        assert member.key is not None
        size = 0 if row is None else row_size(row)
        consistent = member.request.get("ConsistentRead", False)
        units = read_units(size, consistent=consistent)
        refusal = take_read(scope, member.table, member.key[2], units)
        if refusal is not None:
            note_throttled(scope, refusal)
            member.fail(refusal)
            continue
        member.show(row)
        capacity = capacities.setdefault(member.table.name, Capacity(member.table))
        capacity.table_units += units
        scope.note_read(member.table.name, units)
        if row is not None:
            scope.note_rows(1, size, 1, size)


async def _write(scope: RequestScope, member: _Member, capacities: dict[str, Capacity]) -> None:
    assert member.statement is not None
    assert member.write is not None
    try:
        outcome = await _carry_out(scope, member.request, member.write)
    except ClientError as error:
        note_throttled(scope, error)
        member.fail(error)
        return
    capacity = capacities.setdefault(member.table.name, Capacity(member.table))
    capacity.charge_write(outcome)
    member.response = {"TableName": member.table.name}
    item = returned(member.statement, member.write, outcome)
    if item is not None:
        member.response["Item"] = item
