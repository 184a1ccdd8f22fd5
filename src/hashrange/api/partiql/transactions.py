"""ExecuteTransaction: several statements, all or nothing; all of them reads, or all writes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from hashrange.api.items.keys import request_key
from hashrange.api.items.transaction_steps import (
    Reason,
    bind_all,
    cancel_if_any,
    failure_reason,
    read_all,
    report_reads,
    report_repeat,
    report_writes,
    write_all,
)
from hashrange.api.operation import Request, Response
from hashrange.api.partiql.keys import read_key
from hashrange.api.partiql.reads import find_source
from hashrange.api.partiql.writes import (
    DUPLICATE,
    NO_CONDITION,
    check_statement,
    make_write,
    returning_of,
    says_more_than_key,
)
from hashrange.api.scope import RequestScope
from hashrange.engine.base import RowKey
from hashrange.errors import ValidationException
from hashrange.expressions.binding import Values
from hashrange.expressions.partiql.statements import (
    ExistsStatement,
    InsertStatement,
    SelectStatement,
    Statement,
    prepare_statement,
)
from hashrange.model.schema import Table
from hashrange.model.values import Item, Value
from hashrange.pauses import Pace, off_loop
from hashrange.storage.items import item_row, project
from hashrange.storage.layout import splice
from hashrange.storage.lock_steps import Outcome
from hashrange.storage.writes import ItemOutcome, ItemWrite

_MIXED: Final = (
    "ExecuteTransaction API does not support both read and write operations in the same request."
)
_NOT_BY_KEY: Final = (
    "Select statements within ExecuteTransaction must specify the primary key in the where clause."
)


class _Member:
    """One statement of a transaction, with its place in it."""

    __slots__ = ("index", "request", "statement", "values")

    def __init__(self, index: int, request: Request, statement: Statement) -> None:
        self.index = index
        self.request = request
        self.statement = statement
        parameters: list[Value] = request.get("Parameters", [])
        with _naming(index):
            statement.check_count(parameters)
        self.values: Values = statement.values(parameters)

    def check(self, table: Table) -> None:
        """Refuse statements that are not allowed in transactions."""
        raise NotImplementedError


@contextmanager
def _naming(index: int) -> Iterator[None]:
    """Add the number of the statement to an error."""
    try:
        yield
    except ValidationException as error:
        raise ValidationException(
            f"Validation failed in TransactStatements[{index}]: {error.message}"
        ) from None


class _Write(_Member):
    """A statement that writes, or EXISTS."""

    __slots__ = ()

    def check(self, table: Table) -> None:
        if returning_of(self.statement) is not None:
            raise ValidationException("RETURNING clause is not supported in ExecuteTransaction.")
        if isinstance(self.statement, ExistsStatement) and not says_more_than_key(
            self.statement, table, self.values
        ):
            raise ValidationException(NO_CONDITION)

    def bind(self, table: Table) -> ItemWrite:
        return make_write(self.statement, table, self.values)

    def reason(self, outcome: Outcome) -> Reason:
        """Return why this statement cancels the transaction, if it does."""
        if (
            isinstance(self.statement, InsertStatement)
            and isinstance(outcome, ItemOutcome)
            and not outcome.matched
        ):
            return {"Code": "DuplicateItem", "Message": DUPLICATE}
        return failure_reason(self.request, outcome)


class _Read(_Member):
    """A SELECT."""

    __slots__ = ("key",)

    def check(self, table: Table) -> None:
        assert isinstance(self.statement, SelectStatement)
        if self.statement.index_name is not None:
            raise ValidationException("Reads on indices are not supported within transactions.")
        find_source(table, self.statement, consistent=False)
        key = read_key(table, self.statement.where, self.values)
        if key is None:
            raise ValidationException(_NOT_BY_KEY)
        self.key: Item = key

    def bind(self, table: Table) -> RowKey:
        return item_row(table, request_key(table, self.key))

    def shown(self, row: bytes | None) -> dict[str, object]:
        """Return the response to this statement."""
        if row is None:
            return {}
        assert isinstance(self.statement, SelectStatement)
        selection = self.statement.selection
        # Unlike a single SELECT, this one keeps maps and lists around what it returns.
        return {"Item": splice(row) if selection is None else project(row, selection.projection)}


async def execute_transaction(scope: RequestScope, request: Request) -> Response:
    """Carry out all statements, or none."""
    pace = Pace()
    members: list[_Read | _Write] = []
    for index, member in enumerate(request["TransactStatements"]):
        if scope.is_bulky:
            members.append(await off_loop(_member, index, member))
        else:
            members.append(_member(index, member))
        if pace.is_over():
            await pace.pause()
    reads = [member for member in members if isinstance(member, _Read)]
    writes = [member for member in members if isinstance(member, _Write)]
    if reads and writes:
        raise ValidationException(_MIXED)
    if reads:
        return await _read_all(scope, request, reads)
    return await _write_all(scope, request, writes)


def _member(index: int, request: Request) -> _Read | _Write:
    with _naming(index):
        statement = prepare_statement(request["Statement"])
    kind = _Read if isinstance(statement, SelectStatement) else _Write
    return kind(index, request, statement)


async def _tables(scope: RequestScope, members: Sequence[_Member]) -> list[Table]:
    """Return the tables of statements, and check the statements against them."""
    tables = [await scope.table(member.statement.table_name) for member in members]
    for member, table in zip(members, tables, strict=True):
        with _naming(member.index):
            member.check(table)
    return tables


async def _read_all(scope: RequestScope, request: Request, members: list[_Read]) -> Response:
    tables = await _tables(scope, members)
    keys = await bind_all(members, tables)
    rows = await read_all(scope, tables, keys)
    responses: list[dict[str, object]] = []
    pace = Pace()
    for member, row in zip(members, rows, strict=True):
        responses.append(member.shown(row))
        if pace.is_over():
            await pace.pause_or_restart()
    response = report_reads(scope, request, tables, keys, rows)
    response["Responses"] = responses
    return response


async def _write_all(scope: RequestScope, request: Request, members: list[_Write]) -> Response:
    for member in members:
        if scope.is_bulky:
            await off_loop(check_statement, member.statement, member.values)
        else:
            check_statement(member.statement, member.values)
    writes = await bind_all(members, await _tables(scope, members))
    outcomes = await write_all(scope, request, writes, content=request["TransactStatements"])
    if outcomes is None:
        response = await report_repeat(scope, request, writes)
    else:
        cancel_if_any(
            [member.reason(outcome) for member, outcome in zip(members, outcomes, strict=True)]
        )
        response = report_writes(scope, request, writes, outcomes)
    response["Responses"] = []
    return response
