"""Builds item writes from request parameters; shared by single, batch and transact calls."""

from __future__ import annotations

from collections.abc import Iterable

from hashrange.api.items.arguments import (
    Kind,
    WriteArguments,
    check_update_keys,
    read_write_arguments,
)
from hashrange.api.items.key_paths import check_paths
from hashrange.api.items.keys import (
    check_index_keys,
    check_updated_index_keys,
    put_key,
    request_key,
)
from hashrange.api.items.write_refusals import check_old_values
from hashrange.api.operation import Request
from hashrange.api.scope import RequestScope
from hashrange.api.shapes.deep_requests import is_deep
from hashrange.errors import ValidationException
from hashrange.expressions.conditions import Condition
from hashrange.limits import ITEM_BYTES_MAX
from hashrange.model.schema import Table
from hashrange.model.values import ENVELOPED, OLDER, Item, check_item
from hashrange.storage.writes import DeleteWrite, ItemWrite, PutWrite, UpdateWrite


def check_write(request: Request, kind: Kind) -> tuple[int, WriteArguments]:
    """Check PutItem, UpdateItem or DeleteItem as far as the request alone allows.

    Returns the size of its item or key, and its condition and update.
    """
    try:
        return _check_write(request, kind, ENVELOPED)
    except ValidationException:
        if is_deep(request):
            _check_write(request, kind, OLDER)
        raise


def _check_write(request: Request, kind: Kind, wording: int) -> tuple[int, WriteArguments]:
    if kind == "put":
        size = check_put(request["Item"], wording)
    else:
        size = check_item(request["Key"], wording)
    if kind != "update":
        check_old_values(request, wording)
    return size, read_write_arguments(request, kind=kind, wording=wording)


def check_put(item: Item, wording: int) -> int:
    """Check the values of an item to be put, and its size, which is returned."""
    size = check_item(item, wording, ITEM_BYTES_MAX)
    if size > ITEM_BYTES_MAX:
        raise ValidationException("Item size has exceeded the maximum allowed size")
    return size


def sign_writes(scope: RequestScope, writes: Iterable[ItemWrite]) -> None:
    """Have the histories of tables name the principal of a request."""
    for write in writes:
        if write.table.history_stores:
            write.who = scope.author


def make_put(table: Table, item: Item, size: int, condition: Condition | None) -> PutWrite:
    """Return the write that puts an item whose values were checked."""
    key = put_key(table, item)
    if table.indexes:
        check_index_keys(table, item)
    check_paths(table, condition)
    return PutWrite(table, key, item, condition, size=size)


def make_delete(table: Table, key: Item, condition: Condition | None) -> DeleteWrite:
    """Return the write that deletes the item with a key whose values were checked."""
    key_bytes = request_key(table, key)
    check_paths(table, condition)
    return DeleteWrite(table, key_bytes, key, condition)


def make_update(
    table: Table, key: Item, arguments: WriteArguments, *, counts_actions: bool
) -> UpdateWrite:
    """Return the write that updates the item with a key whose values were checked."""
    key_bytes = request_key(table, key)
    if arguments.update is not None:
        check_update_keys(arguments.update, table.key_names)
        check_paths(table, arguments.update)
    check_paths(table, arguments.condition)
    return UpdateWrite(
        table,
        key_bytes,
        key,
        arguments.condition,
        update=arguments.update,
        check=check_updated_index_keys,
        counts_actions=counts_actions,
    )
