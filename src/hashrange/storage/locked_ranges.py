"""Makes way for strong range reads where transactions have locked items.

A transaction that is committed changes its items one shard after another. A strong read by key
takes the image from the lock meanwhile. A range read, which may be of an index, finishes the
transaction first.
"""

from __future__ import annotations

from typing import Final

from hashrange.engine.base import STRONG, Engine
from hashrange.model.schema import LOCKS, Table
from hashrange.storage.ledger import COMMITTED, entry_row, verdict_of
from hashrange.storage.lock_steps import Finishing
from hashrange.storage.locks import unpack_lock
from hashrange.storage.settled_writes import write_surely

_LOCKS_AT_ONCE: Final = 100
_LOCK_BYTES_AT_ONCE: Final = 4 << 20


async def finish_committed(
    engine: Engine, table: Table, shard: int, bounds: tuple[bytes, bytes]
) -> None:
    """Finish the committed transactions that hold locks on keys within bounds, for those items.

    What other readers may have seen of these transactions is then in the rows of items and indexes.
    A transaction that is committed later is concurrent with the read, which may miss it.
    """
    lower, upper = bounds
    while True:
        rows, ended = await engine.range(
            table.store + LOCKS,
            shard,
            lower,
            upper,
            reverse=False,
            rows_max=_LOCKS_AT_ONCE,
            bytes_max=_LOCK_BYTES_AT_ONCE,
            consistency=STRONG,
        )
        for key, row in rows:
            lock = unpack_lock(row)
            [entry] = await engine.read([entry_row(lock.name)], STRONG)
            if verdict_of(entry, lock.attempt) == COMMITTED:
                finishing = Finishing(table, [key], lock.attempt, is_committed=True)
                await write_surely(engine, finishing)
        if ended:
            return
        lower = rows[-1][0] + b"\x00"
