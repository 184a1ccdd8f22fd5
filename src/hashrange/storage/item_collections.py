"""Item collections: the size of all items with one partition key, where there are local indexes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from hashrange.engine.base import Changes, RowKey
from hashrange.errors import ItemCollectionSizeLimitExceededException
from hashrange.limits import ITEM_COLLECTION_BYTES_MAX
from hashrange.model.keys import item_key
from hashrange.model.schema import Table
from hashrange.model.values import Item
from hashrange.storage.layout import pack_tally, unpack_tally


class Written(Protocol):
    """A write, as far as it concerns its collection."""

    @property
    def table(self) -> Table: ...

    @property
    def key_item(self) -> Item: ...

    @property
    def row_key(self) -> RowKey: ...


class Grown(Protocol):
    """The outcome of a write: the change in size of its collection, and later its new size."""

    collection_size: int

    @property
    def matched(self) -> bool: ...

    @property
    def collection_bytes(self) -> int: ...


def collection_key(write: Written) -> RowKey:
    """Return where the size of a write's item collection is kept: under its partition key."""
    table = write.table
    key = item_key((table.partition,), write.key_item)
    return (table.collections_store, write.row_key[1], key)


def change_collections(
    outcomes: Sequence[tuple[RowKey, Grown]],
    rows: dict[RowKey, bytes | None],
    changes: Changes,
    *,
    is_limited: bool = True,
) -> None:
    """Bring the sizes of the item collections up to date, within their limit."""
    sizes: dict[RowKey, int] = {}
    for key, outcome in outcomes:
        if not outcome.matched:
            continue
        size = sizes.get(key)
        if size is None:
            size = unpack_tally(rows[key])
        size += outcome.collection_bytes
        sizes[key] = size
        outcome.collection_size = size
        if is_limited and size > ITEM_COLLECTION_BYTES_MAX and outcome.collection_bytes > 0:
            raise ItemCollectionSizeLimitExceededException("Collection size exceeded.")
    for key, size in sizes.items():
        changes.puts.append((*key, pack_tally(size)))
