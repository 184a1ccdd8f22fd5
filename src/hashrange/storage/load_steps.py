"""The decision of a bulk load: many items go into a table that nobody else uses yet. Pure.

It sees the rows that are there, so a step may be repeated after a crash, and the last of several
items with one key wins; tallies stay right either way. There are no conditions, no change records
and no limits on item collections.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import final

from hashrange.engine.base import Changes, Fence, RowKey
from hashrange.model.keys import item_key
from hashrange.model.schema import Table
from hashrange.storage.images import Image
from hashrange.storage.item_collections import change_collections
from hashrange.storage.layout import row_size, unpack_item
from hashrange.storage.writes import ItemOutcome, ItemWrite


@final
class LoadStep:
    """Puts item rows of one shard, with all rows derived from them."""

    __slots__ = ("_count", "_rows", "_table", "fences", "keys")

    def __init__(self, table: Table, entries: Mapping[RowKey, bytes]) -> None:
        assert table.stream is None, "a table that is being loaded has no stream"
        self._table = table
        self._rows = list(entries.values())
        self._count = len(self._rows)
        self.fences: Sequence[Fence] = table.fences
        self.keys: Sequence[RowKey] = list(entries)
        if table.local_indexes:
            sizes = {_collection(table, key, row): None for key, row in entries.items()}
            self.keys = [*self.keys, *sizes]

    def decide(self, rows: Sequence[bytes | None]) -> Changes:
        changes = Changes()
        changes.is_unhurried = True
        if self._table.has_derived_rows:
            self._put_derived(rows, changes)
        else:
            self._put_plain(rows, changes)
        return changes

    def _put_plain(self, rows: Sequence[bytes | None], changes: Changes) -> None:
        added = size = 0
        puts = changes.puts
        for (store, shard, key), old, new in zip(self.keys, rows, self._rows, strict=True):
            if old == new:
                continue
            puts.append((store, shard, key, new))
            size += row_size(new)
            if old is None:
                added += 1
            else:
                size -= row_size(old)
        if puts:
            changes.tallies.append((self._table.store, added, size))

    def _put_derived(self, rows: Sequence[bytes | None], changes: Changes) -> None:
        table = self._table
        outcomes: list[tuple[RowKey, ItemOutcome]] = []
        for place, old, new in zip(self.keys, rows, self._rows, strict=False):
            if old == new:
                continue
            item = unpack_item(new)
            before = None if old is None else unpack_item(old)
            write = ItemWrite(table, place[2], item, None)
            outcome = write.record(old, Image(before, (item, new)), changes)
            if table.local_indexes:
                outcomes.append((_collection(table, place, new), outcome))
        if outcomes:
            seen = dict(zip(self.keys[self._count :], rows[self._count :], strict=True))
            change_collections(outcomes, seen, changes, is_limited=False)


def _collection(table: Table, place: RowKey, row: bytes) -> RowKey:
    """Return where the size of an item's collection is kept."""
    key = item_key((table.partition,), unpack_item(row))
    return (table.collections_store, place[1], key)
