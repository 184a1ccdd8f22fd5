"""From the parameters of a write to the item write: shared by single, batch and transact calls."""

from __future__ import annotations

from hashrange.api.arguments import WriteArguments, check_update_keys
from hashrange.api.keys import (
    check_index_keys,
    check_updated_index_keys,
    put_key,
    request_key,
)
from hashrange.errors import ValidationException
from hashrange.expressions.conditions import Condition
from hashrange.limits import ITEM_BYTES_MAX
from hashrange.model.schema import Table
from hashrange.model.values import Item, check_item
from hashrange.storage.writes import DeleteWrite, PutWrite, UpdateWrite


def check_put(item: Item, wording: int) -> int:
    """Check the values of an item to be put, and its size, which is returned."""
    size = check_item(item, wording)
    if size > ITEM_BYTES_MAX:
        raise ValidationException("Item size has exceeded the maximum allowed size")
    return size


def make_put(table: Table, item: Item, size: int, condition: Condition | None) -> PutWrite:
    """Return the write that puts an item whose values were checked."""
    key = put_key(table, item)
    if table.indexes:
        check_index_keys(table, item)
    return PutWrite(table, key, item, condition, size=size)


def make_delete(table: Table, key: Item, condition: Condition | None) -> DeleteWrite:
    """Return the write that deletes the item with a key whose values were checked."""
    return DeleteWrite(table, request_key(table, key), key, condition)


def make_update(
    table: Table, key: Item, arguments: WriteArguments, *, counts_actions: bool
) -> UpdateWrite:
    """Return the write that updates the item with a key whose values were checked."""
    key_bytes = request_key(table, key)
    if arguments.update is not None:
        check_update_keys(arguments.update, table.key_names)
    return UpdateWrite(
        table,
        key_bytes,
        key,
        arguments.condition,
        update=arguments.update,
        check=check_updated_index_keys,
        counts_actions=counts_actions,
    )
