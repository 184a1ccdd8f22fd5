"""Index rows: those an item change adds and removes, and their write units. Pure.

An index row holds the projection of its item, under the index key followed by the table key, so
that items with equal index keys keep distinct, ordered rows.

A change is charged only where it alters what the index stores: nothing when the entry stays as it
was, one write when it is added, removed or altered in place, two when its key moves.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol

from hashrange.engine.base import Changes, RowKey, shard_of
from hashrange.limits import WRITE_UNIT_BYTES
from hashrange.model.comparison import equal
from hashrange.model.keys import index_key
from hashrange.model.schema import Index, Table
from hashrange.model.values import Item, item_size
from hashrange.storage.layout import pack_item, row_size, unpack_item

NO_KEYS: Final[dict[str, bytes]] = {}
"""For changes of which the keys do not matter."""


class IndexPressure(Protocol):
    """Refuses writes that change an index without capacity."""

    def check(self, charges: Mapping[str, int], changes: Changes) -> None:
        """Raise a ThroughputError if an index does not take its share of the changes. Pure."""


def write_units(size: int) -> int:
    """Return the write capacity units of an item of this size."""
    return 1 if size <= WRITE_UNIT_BYTES else -(-size // WRITE_UNIT_BYTES)


def same_item(left: Item, right: Item) -> bool:
    """Tell whether two items are equal, whatever the order of attributes and set members."""
    return left == right or equal({"M": left}, {"M": right})


def project(index: Index, item: Item) -> Item:
    """Return the attributes of an item that the index keeps."""
    kept = index.projected
    if kept is None:
        return item
    return {name: value for name, value in item.items() if name in kept}


def index_row(index: Index, item: Item, row: bytes) -> bytes:
    """Return the index row of an item whose table row is given."""
    if index.projected is None:
        return row
    projection = project(index, item)
    return pack_item(projection, item_size(projection))


def index_address(index: Index, key: bytes) -> RowKey:
    """Return where the row of an index with a key is."""
    shards = index.shards
    return (index.store, 0 if shards == 1 else shard_of(key, shards), key)


def change_indexes(
    table: Table,
    old: tuple[Item, bytes] | None,
    new: tuple[Item, bytes] | None,
    changes: tuple[Changes, Changes],
    unmarked: tuple[Index, ...] = (),
) -> tuple[dict[str, int], int]:
    """Add the index rows of one item change to `changes`, those of global indexes to the second.

    `unmarked` are the indexes being filled that do not hold the item's old row yet. Return the
    write units charged per index, and the change in bytes of the local indexes.
    """
    charges: dict[str, int] = {}
    local_bytes = 0
    for index in table.indexes:
        old_key = None
        if old is not None and index not in unmarked:
            old_key = index_key(index, table, old[0])
        new_key = index_key(index, table, new[0]) if new is not None else None
        if old_key is None and new_key is None:
            continue
        target = changes[index.is_global]
        units, rows, size = _change_index(index, (old_key, old), (new_key, new), target)
        if units:
            charges[index.name] = units
            changes[0].tallies.append((index.store, rows, size))
            if not index.is_global:
                local_bytes += size
    return charges, local_bytes


def changed_keys(
    table: Table, changes: Changes, first_put: int, first_delete: int
) -> dict[str, bytes]:
    """Return the key of a row that was changed in each global index, from some changes on."""
    names = {index.store: index.name for index in table.indexes if index.is_global}
    deleted = {
        names[store]: key for store, _, key in changes.deletes[first_delete:] if store in names
    }
    put = {names[store]: key for store, _, key, _ in changes.puts[first_put:] if store in names}
    return deleted | put


_Entry = tuple[bytes | None, tuple[Item, bytes] | None]


def _change_index(
    index: Index, before: _Entry, after: _Entry, changes: Changes
) -> tuple[int, int, int]:
    """Change the row of one index; return units charged, rows added and bytes added."""
    old_key, old = before
    new_key, new = after
    old_row = None if old is None or old_key is None else index_row(index, *old)
    new_row = None if new is None or new_key is None else index_row(index, *new)
    if old_row is not None and new_row is not None and new_key is not None and old_key == new_key:
        if old_row == new_row or same_item(unpack_item(old_row), unpack_item(new_row)):
            return 0, 0, 0
        changes.puts.append((*index_address(index, new_key), new_row))
        old_size, new_size = row_size(old_row), row_size(new_row)
        return write_units(max(old_size, new_size)), 0, new_size - old_size
    units = rows = size = 0
    if old_key is not None and old_row is not None:
        changes.deletes.append(index_address(index, old_key))
        units += write_units(row_size(old_row))
        rows -= 1
        size -= row_size(old_row)
    if new_key is not None and new_row is not None:
        changes.puts.append((*index_address(index, new_key), new_row))
        units += write_units(row_size(new_row))
        rows += 1
        size += row_size(new_row)
    return units, rows, size
