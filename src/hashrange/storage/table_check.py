"""Checks a table: what is derived from its items must follow from them, and nothing else may exist.

Derived are index rows, tallies, sizes of item collections and expiry rows. A finding carries the
changes that mend it, since the items tell what the rows should be. The table must not change
meanwhile: this is for a server that is stopped.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, final

from hashrange.engine.base import STRONG, Engine, Row, RowKey
from hashrange.errors import CorruptionError
from hashrange.model.keys import index_key, item_key
from hashrange.model.schema import Index, Table
from hashrange.model.values import Item, item_size
from hashrange.storage.expiry import SECOND_BYTES, expiry_key, expiry_second
from hashrange.storage.indexes import index_address, index_row, same_item
from hashrange.storage.layout import (
    END_OF_KEYS,
    pack_item,
    pack_tally,
    row_size,
    unpack_item,
    unpack_tally,
)

CHUNK_ROWS: Final = 200
_CHUNK_BYTES: Final = 4 << 20
# Greater than every key of any store.
_END: Final = b"\xff" * SECOND_BYTES + END_OF_KEYS * 3
_FILL_POSITION: Final = b""

Progress = Callable[[int], None]
"""Told how many more rows were checked."""


@final
@dataclass(slots=True)
class Finding:
    """Something that is wrong, and how to mend it; without changes it cannot be mended."""

    text: str
    puts: list[tuple[str, int, bytes, bytes]] = field(default_factory=list)
    deletes: list[RowKey] = field(default_factory=list)
    tallies: list[tuple[str, int, int]] = field(default_factory=list)

    @property
    def is_mendable(self) -> bool:
        return bool(self.puts or self.deletes or self.tallies)


async def walk(engine: Engine, store: str, shard: int) -> AsyncIterator[list[Row]]:
    """Yield all rows of a store in chunks."""
    lower, ended = b"", False
    while not ended:
        rows, ended = await engine.range(
            store,
            shard,
            lower,
            _END,
            reverse=False,
            rows_max=CHUNK_ROWS,
            bytes_max=_CHUNK_BYTES,
            consistency=STRONG,
        )
        if rows:
            lower = rows[-1][0] + b"\x00"
            yield rows


@final
class TableCheck:
    """The check of one table; `findings` yields what is wrong with it."""

    def __init__(self, engine: Engine, table: Table, progress: Progress) -> None:
        self._engine = engine
        self._table = table
        self._progress = progress
        self._indexes = [index for index in table.indexes if index.queryable]
        # Rows and bytes that each store should have, as the items tell.
        self._sums: dict[str, list[int]] = {
            store: [0, 0] for store in (table.store, *(index.store for index in self._indexes))
        }
        self._expiry_rows = 0
        self._collections: dict[RowKey, int] = {}

    async def findings(self) -> AsyncIterator[Finding]:
        """Check the items, then all that is derived from them."""
        for shard in range(self._table.shards):
            async for rows in walk(self._engine, self._table.store, shard):
                self._progress(len(rows))
                for finding in await self._check_items(shard, rows):
                    yield finding
        for index in self._indexes:
            for shard in range(index.shards):
                async for finding in self._check_extra_rows(index, shard):
                    yield finding
        async for finding in self._check_other_stores():
            yield finding
        for store, (rows_expected, bytes_expected) in self._sums.items():
            space, shards = self._table.store, self._table.shards
            rows_told, bytes_told = await self._engine.tally(space, shards, store)
            if (rows_told, bytes_told) != (rows_expected, bytes_expected):
                change = (store, rows_expected - rows_told, bytes_expected - bytes_told)
                text = f"the tally of store {store} is {rows_told} rows of {bytes_told} bytes, "
                text += f"which should be {rows_expected} of {bytes_expected}"
                yield Finding(text, tallies=[change])

    async def _check_items(self, shard: int, rows: Sequence[Row]) -> list[Finding]:
        """Check some items and the rows derived from them."""
        findings: list[Finding] = []
        derived: list[tuple[RowKey, bytes]] = []
        for key, row in rows:
            try:
                item = unpack_item(row)
                is_right = item_key(self._table.parts, item) == key
            except (CorruptionError, KeyError, TypeError, ValueError):
                is_right = False
            if not is_right:
                findings.append(Finding(f"an item of store {self._table.store} is unreadable"))
                continue
            if row_size(row) != item_size(item):
                fixed = pack_item(item, item_size(item))
                text = f"an item of store {self._table.store} has a wrong size"
                findings.append(Finding(text, puts=[(self._table.store, shard, key, fixed)]))
                row = fixed
            self._add(self._table.store, row)
            derived += self._derive(shard, key, row, item)
        found = await self._engine.read([place for place, _ in derived], STRONG) if derived else []
        for (place, expected), actual in zip(derived, found, strict=True):
            if actual is None or (actual != expected and not _is_same(actual, expected)):
                state = "missing" if actual is None else "wrong"
                text = f"a row of store {place[0]} is {state}"
                findings.append(Finding(text, puts=[(*place, expected)]))
        return findings

    def _derive(self, shard: int, key: bytes, row: bytes, item: Item) -> list[tuple[RowKey, bytes]]:
        """Return the rows that follow from an item, and add up what its collection has."""
        table = self._table
        derived: list[tuple[RowKey, bytes]] = []
        size = row_size(row)
        for index in self._indexes:
            place = index_key(index, table, item)
            if place is None:
                continue
            entry = index_row(index, item, row)
            self._add(index.store, entry)
            derived.append((index_address(index, place), entry))
            if not index.is_global:
                size += row_size(entry)
        if table.time_to_live is not None:
            second = expiry_second(item.get(table.time_to_live))
            if second is not None:
                self._expiry_rows += 1
                derived.append(((table.expiry_store, shard, expiry_key(second, key)), b""))
        if table.local_indexes:
            collection = (table.collections_store, shard, item_key((table.partition,), item))
            self._collections[collection] = self._collections.get(collection, 0) + size
        return derived

    def _add(self, store: str, row: bytes) -> None:
        sums = self._sums[store]
        sums[0] += 1
        sums[1] += row_size(row)

    async def _check_extra_rows(self, index: Index, shard: int) -> AsyncIterator[Finding]:
        """Find index rows that no item has."""
        table = self._table
        async for rows in walk(self._engine, index.store, shard):
            self._progress(len(rows))
            keys: list[RowKey] = []
            for _, row in rows:
                try:
                    key = item_key(table.parts, unpack_item(row))
                except (CorruptionError, KeyError, TypeError, ValueError):
                    key = b""
                keys.append((table.store, shard, key))
            items = await self._engine.read(keys, STRONG)
            for (key, _), item in zip(rows, items, strict=True):
                if item is None or index_key(index, table, unpack_item(item)) != key:
                    text = f"a row of store {index.store} belongs to no item"
                    yield Finding(text, deletes=[(index.store, shard, key)])

    async def _check_other_stores(self) -> AsyncIterator[Finding]:
        table = self._table
        if table.time_to_live is not None:
            for shard in range(table.shards):
                async for finding in self._check_expiry_rows(shard, table.time_to_live):
                    yield finding
        if table.local_indexes:
            for shard in range(table.shards):
                async for finding in self._check_collections(shard):
                    yield finding

    async def _check_expiry_rows(self, shard: int, attribute: str) -> AsyncIterator[Finding]:
        """Find expiry rows that no item has."""
        table = self._table
        async for rows in walk(self._engine, table.expiry_store, shard):
            self._progress(len(rows))
            kept = [key for key, _ in rows if key != _FILL_POSITION]
            keys = [(table.store, shard, key[SECOND_BYTES:]) for key in kept]
            items = await self._engine.read(keys, STRONG) if keys else []
            for key, row in zip(kept, items, strict=True):
                second = None if row is None else expiry_second(unpack_item(row).get(attribute))
                if second is None or key[:SECOND_BYTES] != expiry_key(second, b""):
                    text = f"a row of store {table.expiry_store} belongs to no item"
                    yield Finding(text, deletes=[(table.expiry_store, shard, key)])

    async def _check_collections(self, shard: int) -> AsyncIterator[Finding]:
        """Hold the sizes of item collections against their items."""
        store = self._table.collections_store
        text = f"the size of an item collection in store {store} is wrong"
        async for rows in walk(self._engine, store, shard):
            self._progress(len(rows))
            for key, row in rows:
                size = self._collections.pop((store, shard, key), 0)
                if unpack_tally(row) != size:
                    yield Finding(text, puts=[(store, shard, key, pack_tally(size))])
        for place, size in self._collections.items():
            if place[1] == shard:
                yield Finding(text, puts=[(*place, pack_tally(size))])


def _is_same(actual: bytes, expected: bytes) -> bool:
    """Tell whether two index rows hold the same item; attributes may be in another order."""
    if row_size(actual) != row_size(expected):
        return False
    try:
        return same_item(unpack_item(actual), unpack_item(expected))
    except CorruptionError:
        return False
