"""INSERT, UPDATE and DELETE as item writes, and their RETURNING clauses."""

from __future__ import annotations

from typing import Any

from hashrange.api.items.arguments import WriteArguments, check_scalar_keys
from hashrange.api.items.item_writes import make_delete, make_put, make_update
from hashrange.api.items.keys import request_key
from hashrange.api.partiql.keys import check_key_value, write_key
from hashrange.errors import DuplicateItemException, ValidationException
from hashrange.expressions.binding import Values
from hashrange.expressions.conditions import Condition
from hashrange.expressions.operands import AttributeOperand
from hashrange.expressions.partiql.statements import (
    DeleteStatement,
    ExistsStatement,
    InsertStatement,
    Statement,
    UpdateStatement,
)
from hashrange.expressions.partiql.tree import Returning
from hashrange.expressions.partiql.where import Where
from hashrange.expressions.predicates import NotExists, Or
from hashrange.expressions.updates import Update
from hashrange.limits import ITEM_BYTES_MAX
from hashrange.model.schema import Table
from hashrange.model.values import Item, item_size
from hashrange.storage.layout import splice, unpack_item
from hashrange.storage.writes import CheckWrite, ItemOutcome, ItemWrite, PutWrite, UpdateWrite

DUPLICATE = "Duplicate primary key exists in table"
NO_CONDITION = "EXISTS() must contain a single item read with additional condition"


def check_statement(statement: Statement, values: Values) -> None:
    """Check a write as far as possible without its table."""
    if isinstance(statement, UpdateStatement):
        statement.update(values)
    elif isinstance(statement, InsertStatement):
        _item(statement, values)


def make_write(statement: Statement, table: Table, values: Values) -> ItemWrite:
    """Return the item write of a statement."""
    if isinstance(statement, InsertStatement):
        return _make_insert(statement, table, values)
    if statement.where is not None:
        check_scalar_keys(statement.where.nested_attributes, table.key_names, "Key")
    key, is_all = write_key(table, statement.where, values)
    assert statement.where is not None
    if isinstance(statement, UpdateStatement):
        # The condition includes the key, so that it fails for an absent item.
        condition = statement.where.bind(values)
        arguments = WriteArguments(condition, statement.update(values))
        return make_update(table, key, arguments, counts_actions=False)
    if isinstance(statement, ExistsStatement):
        condition = statement.where.bind(values)
        return CheckWrite(table, request_key(table, key), key, condition)
    return make_delete(table, key, None if is_all else _if_there(table, statement.where, values))


def _if_there(table: Table, where: Where, values: Values) -> Condition:
    """Return the condition of a DELETE, which also holds for an absent item."""
    absent = NotExists(AttributeOperand(table.partition.name))
    return Condition(Or((absent, where.predicate)), values, where.attributes)


def _make_insert(statement: InsertStatement, table: Table, values: Values) -> PutWrite:
    item, size = _item(statement, values)
    for part in table.parts:
        value = item.get(part.name)
        if value is None:
            raise ValidationException(
                f"Key attribute should be present in the item: Key {part.name}"
            )
        check_key_value(part, value)
    name = table.partition.name
    absent = Condition(NotExists(AttributeOperand(name)), values, frozenset((name,)))
    return make_put(table, item, size, absent)


def _item(statement: InsertStatement, values: Values) -> tuple[Item, int]:
    item = statement.item(values)
    size = item_size(item)
    if size > ITEM_BYTES_MAX:
        raise ValidationException("Item size has exceeded the maximum allowed size")
    return item, size


def duplicate_item() -> DuplicateItemException:
    """Return the error for an INSERT of an item that exists."""
    return DuplicateItemException(DUPLICATE)


def returned(statement: Statement, write: ItemWrite, outcome: ItemOutcome) -> Any:
    """Return what the RETURNING clause of a statement asks for, or None."""
    if not isinstance(statement, UpdateStatement | DeleteStatement):
        return None
    returning = statement.returning
    if returning is None:
        return None
    row = outcome.old if returning.images == "OLD" else outcome.new
    if row is None:
        return None
    if returning.scope == "ALL":
        return splice(row)
    assert isinstance(write, UpdateWrite)
    assert write.update is not None
    return _modified(write.update, unpack_item(row)) or None


def _modified(update: Update, item: Item) -> Item:
    """Return the whole attributes in which the update changed an existing part."""
    touched = update.updated(item)
    return {name: item[name] for name in touched}


def returning_of(statement: Statement) -> Returning | None:
    """Return the RETURNING clause of a statement, if it has one."""
    if isinstance(statement, UpdateStatement | DeleteStatement):
        return statement.returning
    return None


def says_more_than_key(statement: Statement, table: Table, values: Values) -> bool:
    """Tell whether the WHERE clause has a condition beyond the key of one item."""
    try:
        _, is_all = write_key(table, statement.where, values)
    except ValidationException:
        return False
    return not is_all
