"""Makes way for strong range reads where transactions have locked items.

A transaction that is committed changes its items one shard after another. A strong read by key
takes the image from the lock meanwhile. A range read, which may be of an index, finishes the
transaction first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from hashrange.engine.base import PLACEMENT_BYTES, STRONG, Engine, shard_of
from hashrange.model.keys import successor
from hashrange.model.schema import LOCKS, Table
from hashrange.storage.ledger import (
    COMMITTED,
    LEDGER_SHARDS,
    OPEN,
    entry_key,
    entry_row,
    unpack_entry,
    verdict_of,
)
from hashrange.storage.lock_steps import Finishing
from hashrange.storage.locks import unpack_lock
from hashrange.storage.settled_writes import write_surely

_ROWS_AT_ONCE: Final = 100
_BYTES_AT_ONCE: Final = 4 << 20
# More transactions than can be in progress: each has its time.
_OPEN_MAX: Final = 100_000
_END_OF_OPEN: Final = b"\xff" * 9


async def finish_committed(engine: Engine, table: Table, lower: bytes, upper: bytes) -> None:
    """Finish the committed transactions that hold locks on keys within bounds, for those items.

    What other readers may have seen of these transactions is then in the rows of items and indexes.
    A transaction that is committed later is concurrent with the read, which may miss it.
    """
    if lower[:PLACEMENT_BYTES] == upper[:PLACEMENT_BYTES]:
        await _finish_locks(engine, table, lower[:PLACEMENT_BYTES])
    else:
        await _finish_open(engine, table)


async def _finish_locks(engine: Engine, table: Table, placement: bytes) -> None:
    """Look at the locks of one partition key, and those that share its hash."""
    lower, upper = placement, successor(placement)
    while True:
        rows, ended = await engine.range(
            table.store + LOCKS,
            shard_of(placement, table.shards),
            lower,
            upper,
            reverse=False,
            rows_max=_ROWS_AT_ONCE,
            bytes_max=_BYTES_AT_ONCE,
            consistency=STRONG,
        )
        for key, row in rows:
            lock = unpack_lock(row)
            [entry] = await engine.read([entry_row(lock.name)], STRONG)
            if verdict_of(entry, lock.attempt) == COMMITTED:
                await _finish(engine, table, [key], lock.attempt)
        if ended:
            return
        lower = rows[-1][0] + b"\x00"


async def _finish_open(engine: Engine, table: Table) -> None:
    """Look at all transactions in progress: they are fewer than the keys of a table."""
    for shard in range(LEDGER_SHARDS):
        rows, _ = await engine.range(
            OPEN,
            shard,
            b"",
            _END_OF_OPEN,
            reverse=False,
            rows_max=_OPEN_MAX,
            bytes_max=_BYTES_AT_ONCE,
            consistency=STRONG,
        )
        if not rows:
            continue
        places = [entry_row(entry_key(key)) for key, _ in rows]
        for row in await engine.read(places, STRONG):
            if row is None or (entry := unpack_entry(row)).state != COMMITTED:
                continue
            keys = [part[4] for part in entry.parts if part[3] == table.store]
            if keys:
                await _finish(engine, table, keys, entry.attempt)


async def _finish(engine: Engine, table: Table, keys: Sequence[bytes], attempt: bytes) -> None:
    """Finish a committed transaction for items of one table."""
    shards: dict[int, list[bytes]] = {}
    for key in keys:
        shards.setdefault(shard_of(key, table.shards), []).append(key)
    for found in shards.values():
        await write_surely(engine, Finishing(table, found, attempt, is_committed=True))
