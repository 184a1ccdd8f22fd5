"""Rows of the authorisation table for PartiQL: each statement has an action of its own."""

from __future__ import annotations

from typing import Final, final

from hashrange.api.access.demands import Demand, RequestKeys, Row, table_demand
from hashrange.api.access.item_keys import ORDINALS, key_text
from hashrange.api.operation import Request
from hashrange.api.scope import RequestScope
from hashrange.errors import ValidationException
from hashrange.expressions.binding import Values
from hashrange.expressions.partiql.statements import (
    DeleteStatement,
    InsertStatement,
    SelectStatement,
    Statement,
    UpdateStatement,
    prepare_statement,
)
from hashrange.model.schema import KeyPart, Table


@final
class StatementKeys(RequestKeys):
    """The condition keys of a statement."""

    __slots__ = ("_enclosing", "_statement", "_values")

    def __init__(self, statement: Statement, values: Values, enclosing: str) -> None:
        self._statement = statement
        self._values = values
        self._enclosing = enclosing

    def find(self, key: str, table: Table | None) -> str | list[str] | None:
        statement = self._statement
        if key in ORDINALS:
            return self._partition_values(ORDINALS[key], table)
        if key == "dynamodb:attributes":
            return self._attributes()
        if key == "dynamodb:enclosingoperation":
            return self._enclosing or None
        if key == "dynamodb:fulltablescan" and _is_read(statement):
            return "true" if self._is_scan(table) else "false"
        if key == "dynamodb:select" and isinstance(statement, SelectStatement):
            return "ALL_ATTRIBUTES" if statement.selection is None else "SPECIFIC_ATTRIBUTES"
        if key == "dynamodb:returnvalues":
            return _returned(statement)
        return None

    def _parts(self, table: Table) -> tuple[KeyPart, ...]:
        index = table.by_name.get(self._statement.index_name or "")
        return (table.partition,) if index is None else index.partition

    def _fixed(self, part: KeyPart) -> list[str] | None:
        """Return the values that a WHERE clause leaves to a part of the key, None if all."""
        where = self._statement.where
        if where is None:
            return None
        values: dict[str, None] = {}
        for alternative in where.alternatives:
            found = False
            for conjunct in alternative:
                test = conjunct.test
                if (
                    test is not None
                    and test.attribute == part.name
                    and test.operator in ("=", "IN")
                ):
                    found = True
                    for name in test.values:
                        values[key_text(self._values[name])] = None
            if not found:
                return None
        return list(values)

    def _partition_values(self, ordinal: int, table: Table | None) -> list[str] | None:
        if table is None:
            return None
        parts = self._parts(table)
        if ordinal >= len(parts):
            return None
        part = parts[ordinal]
        if isinstance(self._statement, InsertStatement):
            value = self._statement.item(self._values).get(part.name)
            return None if value is None else [key_text(value)]
        return self._fixed(part)

    def _is_scan(self, table: Table | None) -> bool:
        return table is None or any(self._fixed(part) is None for part in self._parts(table))

    def _attributes(self) -> list[str]:
        statement = self._statement
        found: dict[str, None] = {}
        if statement.where is not None:
            found.update(dict.fromkeys(sorted(statement.where.attributes)))
        if isinstance(statement, SelectStatement):
            if statement.selection is not None:
                found.update(dict.fromkeys(statement.selection.attributes))
            found.update(dict.fromkeys(name for name, _ in statement.order))
        if isinstance(statement, InsertStatement | UpdateStatement):
            found.update(dict.fromkeys(statement.attributes))
        return list(found)


def _is_read(statement: Statement) -> bool:
    return not isinstance(statement, InsertStatement | UpdateStatement | DeleteStatement)


def _returned(statement: Statement) -> str | None:
    if not isinstance(statement, UpdateStatement | DeleteStatement):
        return None
    returning = statement.returning
    if returning is None:
        return "NONE"
    return f"{'ALL' if returning.scope == 'ALL' else 'UPDATED'}_{returning.images}"


def _action(statement: Statement) -> str:
    if isinstance(statement, InsertStatement):
        return "dynamodb:PartiQLInsert"
    if isinstance(statement, UpdateStatement):
        return "dynamodb:PartiQLUpdate"
    if isinstance(statement, DeleteStatement):
        return "dynamodb:PartiQLDelete"
    return "dynamodb:PartiQLSelect"


def _demand(scope: RequestScope, member: Request, enclosing: str) -> Demand:
    statement = prepare_statement(member["Statement"])
    values = statement.values(member.get("Parameters") or ())
    keys = StatementKeys(statement, values, enclosing)
    index = statement.index_name or ""
    return table_demand(scope, _action(statement), statement.table_name, keys, index)


def statement_row(scope: RequestScope, request: Request) -> list[Demand]:
    """Demand the action of ExecuteStatement."""
    return [_demand(scope, request, "")]


def batch_row(scope: RequestScope, request: Request) -> list[Demand]:
    """Demand the actions of BatchExecuteStatement; what does not parse is answered in its place."""
    found = []
    for member in request["Statements"]:
        try:
            found.append(_demand(scope, member, ""))
        except ValidationException:
            continue
    return found


def transaction_row(scope: RequestScope, request: Request) -> list[Demand]:
    """Demand the actions of ExecuteTransaction."""
    return [
        _demand(scope, member, "ExecuteTransaction") for member in request["TransactStatements"]
    ]


STATEMENT_ROWS: Final[dict[str, Row]] = {
    "BatchExecuteStatement": batch_row,
    "ExecuteStatement": statement_row,
    "ExecuteTransaction": transaction_row,
}
