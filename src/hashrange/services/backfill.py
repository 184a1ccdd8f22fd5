"""Fills new indexes, expiry indexes too, with the items that were in the table before.

Writes maintain the index from the moment UpdateTable adds it. A write must know whether the index
already holds the item's old row. So while an index is being filled, each item in it has a mark in
the index's fill store. The write or back-fill that first adds an item to the index sets the mark in
the same decision. So each row is added and counted once, in any order. A fill that is cut
off goes on from the position that is kept for each shard beside the marks. An expiry index (time to
live) is not counted, and its rows can be added twice without harm, so it needs no marks.

The work is found in the catalog, so it does not matter which process took the UpdateTable, nor
whether the server was stopped in between. It is done in small pieces, between which requests run.
"""

from __future__ import annotations

import logging
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Final, Protocol, final

from hashrange.clock import Clock
from hashrange.engine.base import STRONG, Changes, Decision, Engine, Fence, RowKey
from hashrange.errors import (
    AccessDeniedException,
    ResourceNotFoundException,
    StaleVersionError,
)
from hashrange.model.keys import index_key
from hashrange.model.records import TIME_TO_LIVE_FILL, TableRecord, TimeToLive
from hashrange.model.schema import Index, Table
from hashrange.services.index_follower import IndexFollower
from hashrange.storage.catalog import Catalog, Edit, Editor, end_expiry_fill
from hashrange.storage.expiry import change_expiry
from hashrange.storage.index_queue import queue_changes
from hashrange.storage.indexes import index_address, index_row
from hashrange.storage.layout import END_OF_KEYS, row_size, unpack_item

_LOGGER = logging.getLogger("hashrange.backfill")

_CHUNK_ROWS: Final = 100
_CHUNK_BYTES: Final = 1 << 18
_PROGRESS_ITEMS: Final = 50_000
# Where the position of a fill is kept in its store: less than the keys of items.
_POSITION: Final = b""

Fill = tuple[str, str, str, str]
"""Account, region, table name and index name (or what stands for the expiry index)."""


@final
class Backfill:
    """The filling of all new indexes; one process runs it."""

    def __init__(self, engine: Engine, catalog: Catalog, clock: Clock) -> None:
        self._engine = engine
        self._catalog = catalog
        self._clock = clock
        self._follower = IndexFollower(engine, catalog)
        self._counter = -1
        self._fills: list[Fill] = []
        self._last: Fill | None = None  # the one that was worked on
        self._items: dict[Fill, int] = {}  # how many this process has looked at
        self._filled: set[tuple[Fill, int]] = set()  # shards whose items are all in the index
        self.progressed: Callable[[Fill, float], None] | None = None

    async def run_to_end(self) -> None:
        """Fill every index that may be filled now."""
        while await self.step():
            pass

    async def step(self) -> int:
        """Do one bounded piece of work; return 0 when there is nothing to do now.

        Costs a comparison of counters when there are no new indexes.
        """
        counter = self._engine.counter()
        if counter != self._counter:
            self._fills = await self._catalog.fills()
            # An index of the same name may be another one now; positions tell what is filled.
            self._filled.clear()
            self._counter = counter
        for fill in self._in_turn():
            self._last = fill
            try:
                if await self._fill_chunk(fill):
                    return 1
            except StaleVersionError:
                return 1
            except (ResourceNotFoundException, AccessDeniedException):
                continue  # it is gone, or its KMS key cannot be used
        return 0

    def _in_turn(self) -> list[Fill]:
        """Return the indexes, those after the last one first: none has to wait for all others."""
        fills = sorted(self._fills)
        start = 0 if self._last is None else bisect_right(fills, self._last)
        return fills[start:] + fills[:start]

    async def _fill_chunk(self, fill: Fill) -> bool:
        """Take an index one chunk further; False when its filling may not begin yet."""
        account, region, name, index_name = fill
        table = await self._catalog.table(account, region, name)
        record = await self._catalog.record(account, region, name)
        target = _find_target(table, record, index_name, self._clock.now())
        if target is None:
            return False
        if fill not in self._items:
            _LOGGER.info("filling %s of table %s", target.title, table.arn)
            # Writes that know nothing of the index must have ended.
            await self._catalog.fence(record)
        for shard in range(table.shards):
            if (fill, shard) not in self._filled and await self._fill_shard(fill, target, shard):
                return True
        if table.queue_store:
            await self._follower.drain(table.store, table.shards)
        await self._catalog.change(account, region, name, target.end)
        items = self._items.pop(fill, 0)
        self._tell(fill, 100.0)
        _LOGGER.info("filled %s of table %s from %d items", target.title, table.arn, items)
        return True

    async def _fill_shard(self, fill: Fill, target: _Target, shard: int) -> bool:
        """Bring some items of a shard into an index; False when all of them are in it."""
        place = (target.store, shard, _POSITION)
        (position,) = await self._engine.read([place], STRONG)
        rows, ended = await self._engine.range(
            target.table.store,
            shard,
            position + b"\x00" if position else b"",
            END_OF_KEYS,
            reverse=False,
            rows_max=_CHUNK_ROWS,
            bytes_max=_CHUNK_BYTES,
            consistency=STRONG,
        )
        if rows:
            await self._engine.write(target.chunk([key for key, _ in rows], place))
            await self._report(fill, target, len(rows))
        if ended:
            self._filled.add((fill, shard))
        return not ended

    async def _report(self, fill: Fill, target: _Target, items: int) -> None:
        before = self._items.get(fill, 0)
        self._items[fill] = before + items
        if before // _PROGRESS_ITEMS != (before + items) // _PROGRESS_ITEMS:
            table = target.table
            total, _ = await self._engine.tally(table.store, table.shards, table.store)
            # Items that were added meanwhile may have been looked at, too.
            self._tell(fill, min(100.0, 100.0 * (before + items) / max(1, total)))
            _LOGGER.info(
                "filling %s of table %s: %d of about %d items",
                target.title,
                target.table.arn,
                before + items,
                total,
            )

    def _tell(self, fill: Fill, percent: float) -> None:
        """Tell how far an index has come; an expiry index is none that users know."""
        if self.progressed is not None and fill[3] != TIME_TO_LIVE_FILL:
            self.progressed(fill, percent)


class _Target(Protocol):
    """An index that is being filled."""

    @property
    def title(self) -> str: ...

    @property
    def table(self) -> Table: ...

    @property
    def store(self) -> str:
        """Where the positions are kept."""

    @property
    def end(self) -> Editor: ...

    def chunk(self, item_keys: Sequence[bytes], place: RowKey) -> Decision: ...


def _find_target(table: Table, record: TableRecord, name: str, now: float) -> _Target | None:
    """Return the index of a fill row, or None if it is filled, gone, or not to be filled yet."""
    if name == TIME_TO_LIVE_FILL:
        setting = record.time_to_live
        if setting is None or not setting.is_enabled or setting.is_filled:
            return None
        return _ExpiryTarget(table, setting)
    described = record.index(name)
    index = table.by_name.get(name)
    if described is None or now < described.fill_at or index is None or index.queryable:
        return None
    return _IndexTarget(table, index)


@final
class _IndexTarget:
    """A global index."""

    def __init__(self, table: Table, index: Index) -> None:
        self.title = f"index {index.name}"
        self.table = table
        self.store = index.fill_store
        self._index = index

    def chunk(self, item_keys: Sequence[bytes], place: RowKey) -> Decision:
        return _IndexChunk(self.table, self._index, item_keys, place)

    def end(self, record: TableRecord | None) -> Edit:
        filled = None if record is None else record.index(self._index.name)
        if record is None or filled is None or filled.store != self._index.store:
            raise ResourceNotFoundException
        filled.is_filled = True
        return Edit(record, drops=[record.fill_store(filled)], fills_ended=[filled.name])


@final
class _ExpiryTarget:
    """The expiry index of a table."""

    title = "expiry index"

    def __init__(self, table: Table, setting: TimeToLive) -> None:
        self.table = table
        self.store = table.expiry_store
        self.end = end_expiry_fill(setting)

    def chunk(self, item_keys: Sequence[bytes], place: RowKey) -> Decision:
        return _ExpiryChunk(self.table, item_keys, place)


@final
class _ExpiryChunk:
    """The decision that brings some items into an expiry index."""

    __slots__ = ("_place", "_table", "fences", "keys")

    def __init__(self, table: Table, item_keys: Sequence[bytes], place: RowKey) -> None:
        self._table = table
        self._place = place
        self.fences: Sequence[Fence] = table.fences
        self.keys: Sequence[RowKey] = [(table.store, place[1], key) for key in item_keys]

    def decide(self, rows: Sequence[bytes | None]) -> Changes:
        changes = Changes()
        attribute = self._table.time_to_live
        assert attribute is not None
        for key, row in zip(self.keys, rows, strict=True):
            if row is not None:
                time = unpack_item(row).get(attribute)
                change_expiry(self._table, key, None, time, changes)
        changes.puts.append((*self._place, self.keys[-1][2]))
        return changes


@final
class _IndexChunk:
    """The decision that brings some items into an index."""

    __slots__ = ("_count", "_index", "_place", "_table", "fences", "keys")

    def __init__(
        self, table: Table, index: Index, item_keys: Sequence[bytes], place: RowKey
    ) -> None:
        self._table = table
        self._index = index
        self._place = place
        self._count = len(item_keys)
        self.fences: Sequence[Fence] = table.fences
        shard = place[1]
        self.keys: Sequence[RowKey] = [(table.store, shard, key) for key in item_keys] + [
            (index.fill_store, shard, key) for key in item_keys
        ]

    def decide(self, rows: Sequence[bytes | None]) -> Changes:
        changes = Changes()
        indexed = Changes() if self._table.queue_store else changes
        index = self._index
        added = size = 0
        for position in range(self._count):
            row = rows[position]
            if row is None or rows[position + self._count] is not None:
                continue  # deleted meanwhile, or brought in by a write
            item = unpack_item(row)
            key = index_key(index, self._table, item)
            if key is not None:
                entry = index_row(index, item, row)
                indexed.puts.append((*index_address(index, key), entry))
                added += 1
                size += row_size(entry)
            changes.puts.append((*self.keys[position + self._count], b""))
        if added:
            changes.tallies.append((index.store, added, size))
        if self._table.queue_store:
            queue_changes(self._table, self._place[1], indexed, changes)
        changes.puts.append((*self._place, self.keys[self._count - 1][2]))
        return changes
