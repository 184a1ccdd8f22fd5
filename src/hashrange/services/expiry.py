"""Time to live: deletes items that have expired.

Each table with time to live enabled has an expiry index (see storage/expiry), so expired items are
a range of keys and no table is scanned. A sweep takes the range chunk by chunk. A chunk is one
decision, which checks every item again: items that were renewed or replaced since the range was
read are kept. Items are deleted as by DeleteItem, with their index rows and counts.

Expiry times are full seconds, so the range of a table can only grow when a second begins, or by a
write whose time is past already: each table is looked at once in a second, and again as long as
there is more. Expired items are there for all requests until they are deleted.

One process does this. It needs nothing but the catalog to know what to do, so it does not matter
when it was stopped and started again.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, final

from hashrange.clock import Clock
from hashrange.engine.base import EVENTUAL, STRONG, Engine, Row
from hashrange.errors import (
    AccessDeniedException,
    ResourceNotFoundException,
    StaleVersionError,
)
from hashrange.model.schema import Table
from hashrange.storage.catalog import Catalog
from hashrange.storage.expire_write import ExpireWrite
from hashrange.storage.expiry import SECOND_BYTES, expired_seconds, expiry_key
from hashrange.storage.items import item_row, read_items
from hashrange.storage.transactions import write_batch
from hashrange.storage.writes import ItemOutcome

_LOGGER = logging.getLogger("hashrange.expiry")

_CHUNK_ROWS: Final = 100  # of items without indexes; takes a few milliseconds
_CHUNK_BYTES: Final = 1 << 18
_READ_ROWS: Final = 10
_TABLES_PER_STEP: Final = 50
_PROGRESS_ITEMS: Final = 50_000


@final
class Expiry:
    """The deletion of expired items of all tables; one process runs it."""

    def __init__(
        self, engine: Engine, catalog: Catalog, clock: Clock, delay_seconds: float = 0.0
    ) -> None:
        # Told account, region and table, and how many items were deleted, by those who count them.
        self.deleted: Callable[[str, str, str, int], None] | None = None
        self._engine = engine
        self._catalog = catalog
        self._clock = clock
        self._delay_seconds = delay_seconds
        self._counter = -1
        self._sweeps: deque[_Sweep] = deque()

    async def run_to_end(self) -> None:
        """Delete everything that is due now."""
        while await self.step():
            pass

    async def step(self) -> int:
        """Do one bounded piece of work; return 0 when there is nothing to do now.

        Costs two comparisons when no table has time to live.
        """
        counter = self._engine.counter()
        if counter != self._counter:
            await self._find_tables()
            self._counter = counter
        now = self._clock.now()
        expired = expired_seconds(now - self._delay_seconds)
        looked_at = 0
        for _ in range(len(self._sweeps)):
            sweep = self._sweeps[0]
            # The others come first next time, whatever becomes of this one.
            self._sweeps.rotate(-1)
            if now < sweep.starts_at or sweep.swept == expired.stop:
                continue
            looked_at += 1
            if await self._sweep_chunk(sweep, expired) or looked_at == _TABLES_PER_STEP:
                return 1
        return 0

    async def _find_tables(self) -> None:
        """Bring the list of tables up to date, remembering how far each of them was swept."""
        known = {sweep.identity: sweep for sweep in self._sweeps}
        found: deque[_Sweep] = deque()
        for account, region, name in await self._catalog.expiring():
            record = await self._catalog.find(account, region, name)
            setting = None if record is None else record.time_to_live
            if record is None or setting is None or not setting.is_filled:
                continue  # the end of the filling is another change of the catalog
            sweep = _Sweep(account, region, name, (record.store, setting.changed_at))
            sweep.starts_at = setting.settled_at
            found.append(known.get(sweep.identity, sweep))
        self._sweeps = found

    async def _sweep_chunk(self, sweep: _Sweep, expired: range) -> bool:
        """Delete some of a table's expired items; tell whether there were any."""
        try:
            table = await self._catalog.table(sweep.account, sweep.region, sweep.name)
            rows, ended = await self._find_expired(table, expired)
            if rows:
                keys = await self._take([key for key, _ in rows], table)
                ended = ended and len(keys) == len(rows)
                writes = [ExpireWrite(table, key[SECOND_BYTES:], expired, key) for key in keys]
                outcomes = await write_batch(self._engine, writes, self._clock.now())
                done = [outcome for outcome in outcomes if isinstance(outcome, ItemOutcome)]
                self._note(sweep, done)
                if len(done) < len(outcomes):
                    rows, ended = [], True  # locked by a transaction; the next sweep finds them
        except StaleVersionError:
            return True
        except (ResourceNotFoundException, AccessDeniedException):
            # Deleted just now, or not active yet, or its KMS key cannot be used.
            rows, ended = [], True
        if ended:
            sweep.swept = expired.stop
            sweep.report_end()
        return bool(rows)

    def _note(self, sweep: _Sweep, done: Sequence[ItemOutcome]) -> None:
        count = sweep.note(done)
        if count and self.deleted is not None:
            self.deleted(sweep.account, sweep.region, sweep.name, count)

    async def _find_expired(self, table: Table, expired: range) -> tuple[list[Row], bool]:
        """Return expiry rows of one shard, and whether there are no others in the table."""
        for shard in range(table.shards):
            rows, ended = await self._engine.range(
                table.expiry_store,
                shard,
                expiry_key(expired.start, b""),
                expiry_key(expired.stop, b""),
                reverse=False,
                rows_max=max(1, 2 * _CHUNK_ROWS // (2 + len(table.indexes))),
                bytes_max=_CHUNK_BYTES,
                consistency=STRONG,
            )
            if rows:
                return rows, ended and shard == table.shards - 1
        return [], True

    async def _take(self, keys: list[bytes], table: Table) -> list[bytes]:
        """Return as many expiry keys as one decision may have by the size of their items."""
        size = 0
        for end in range(_READ_ROWS, len(keys), _READ_ROWS):
            some = keys[end - _READ_ROWS : end]
            keys_read = [item_row(table, key[SECOND_BYTES:]) for key in some]
            rows = await read_items(self._engine, keys_read, EVENTUAL)
            size += sum([0 if row is None else len(row) for row in rows])
            if size >= _CHUNK_BYTES:
                return keys[:end]
        return keys


@final
class _Sweep:
    """The state of one table's sweep between two chunks."""

    __slots__ = ("_items", "account", "identity", "name", "region", "starts_at", "swept")

    def __init__(self, account: str, region: str, name: str, identity: tuple[str, float]) -> None:
        self.account = account
        self.region = region
        self.name = name
        self.identity = identity  # of the table and its setting
        self.starts_at = 0.0
        self.swept = -1  # up to which second
        self._items = 0

    def note(self, outcomes: Sequence[ItemOutcome]) -> int:
        """Note the outcome of a chunk; return how many items were deleted."""
        before = self._items
        self._items += sum([outcome.matched for outcome in outcomes])
        if before // _PROGRESS_ITEMS != self._items // _PROGRESS_ITEMS:
            _LOGGER.info("%d items of table %s expired, more to come", self._items, self.name)
        return self._items - before

    def report_end(self) -> None:
        """Log how many items were deleted, once no more are due."""
        if self._items:
            _LOGGER.debug("%d items of table %s expired", self._items, self.name)
        self._items = 0
