"""Bulk loads: a new table is filled while it is CREATING, then becomes ACTIVE as a whole.

1. `begin` makes the table. It is described as CREATING, and item requests do not find it.
2. `load` puts items, as many at a time as the caller has. It may be repeated, with the same items
   or not: the last item of a key wins. The caller keeps how far it has come.
3. `finish` makes the table ACTIVE; `abandon` drops it. Both may be repeated.

Each step finds out by the id of the table whether it is still that table, so a load that lost its
lease unnoticed, or goes on after a crash, never touches another table of the same name.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final, final

from hashrange.engine.base import Engine, RowKey
from hashrange.errors import ResourceNotFoundException, StaleVersionError
from hashrange.limits import LOAD_STEP_BYTES_MAX, LOAD_STEP_ROWS_MAX
from hashrange.model.records import TableRecord, make_table
from hashrange.model.schema import Table
from hashrange.services.index_follower import IndexFollower
from hashrange.storage.catalog import Catalog
from hashrange.storage.catalog_followup import equip
from hashrange.storage.items import item_row
from hashrange.storage.load_steps import LoadStep
from hashrange.storage.loading import abandon_load, begin_load, end_load
from hashrange.storage.settled_writes import write_surely

Entry = tuple[bytes, bytes]
"""The key of an item (model/keys.item_key) and its row (storage/layout.pack_item)."""

_STALE_ATTEMPTS_MAX: Final = 10


@final
class BulkLoad:
    """The load of one table; `record` says what the table shall be, and names its stores."""

    def __init__(self, engine: Engine, catalog: Catalog, record: TableRecord) -> None:
        self._engine = engine
        self._catalog = catalog
        self._record = record
        self._where = (record.account, record.region, record.name)
        self._table: Table | None = None

    async def begin(self) -> None:
        """Make the table, unless this load has made it already.

        Raises ResourceInUseException if there is another table of this name.
        """
        await begin_load(self._catalog, self._record)

    async def load(self, entries: Sequence[Entry]) -> None:
        """Put items; when it returns, they are durable."""
        for _ in range(_STALE_ATTEMPTS_MAX):
            table = self._table or await self.table()
            steps = [LoadStep(table, group) for group in _groups(table, entries)]
            writes = [write_surely(self._engine, step) for step in steps]
            try:
                if len(writes) == 1:
                    await writes[0]
                else:
                    await asyncio.gather(*writes)
                return
            except StaleVersionError:
                self._table = None  # a tag or a policy was changed meanwhile
                await asyncio.sleep(0)
        raise StaleVersionError(f"table {self._record.arn} kept changing")

    async def table(self) -> Table:
        """Return the table to load; raises ResourceNotFoundException if it is not there."""
        record = await self._catalog.find(*self._where)
        if record is None or record.id != self._record.id or not record.is_loading:
            raise ResourceNotFoundException(f"Table {self._record.name} is not being loaded")
        self._table = equip(make_table(record), self._engine.capabilities)
        return self._table

    async def finish(self) -> None:
        """Make the table ACTIVE, with complete indexes."""
        record = self._record
        if not self._engine.capabilities.indexes_in_step:
            follower = IndexFollower(self._engine, self._catalog)
            await follower.drain(record.store, record.shards)
        await end_load(self._catalog, record)

    async def abandon(self) -> None:
        """Drop the table with what was loaded, unless it is complete or gone."""
        await abandon_load(self._catalog, self._record)


def _groups(table: Table, entries: Sequence[Entry]) -> Sequence[dict[RowKey, bytes]]:
    """Return entries in groups for one decision each, in which each key stands once."""
    latest: dict[RowKey, bytes] = {}
    for key, row in entries:
        latest[item_row(table, key)] = row
    groups: list[dict[RowKey, bytes]] = []
    group: dict[RowKey, bytes] = {}
    size = 0
    shard = -1
    for place in sorted(latest):  # neighbours share pages and shards
        row = latest[place]
        if (
            not groups
            or place[1] != shard
            or len(group) >= LOAD_STEP_ROWS_MAX
            or size >= LOAD_STEP_BYTES_MAX
        ):
            group, size, shard = {}, 0, place[1]
            groups.append(group)
        group[place] = row
        size += len(row)
    return groups
