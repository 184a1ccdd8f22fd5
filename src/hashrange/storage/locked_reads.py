"""Strong reads of items that transactions may have locked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from hashrange.engine.base import STRONG, Engine, RowKey
from hashrange.errors import ConflictError
from hashrange.storage.ledger import COMMITTED, entry_row, verdict_of
from hashrange.storage.locks import lock_row, unpack_lock

_READ_ATTEMPTS_MAX: Final = 20


async def read_past_locks(engine: Engine, rows: Sequence[RowKey]) -> list[bytes | None]:
    """Return items with strong consistency; if a committed transaction holds a lock, its image.

    Locks are read before items, or at the same moment if the engine can do that. If the lock is
    gone, the item that is read afterwards has the result of the transaction. So a later reader
    never sees an older state than an earlier one.
    """
    aborted: set[bytes] = set()
    for _ in range(_READ_ATTEMPTS_MAX):
        locks, items = await _read_locks_and_items(engine, rows)
        if not any(locks):
            return items
        images: list[bytes | None] = []
        for row, item in zip(locks, items, strict=True):
            lock = None if row is None else unpack_lock(row)
            if lock is None or lock.attempt in aborted:
                images.append(item)
                continue
            [entry] = await engine.read([entry_row(lock.name)], STRONG)
            if entry is None:
                # Aborted, if the lock is still there now; else it was finished meanwhile.
                aborted.add(lock.attempt)
                break
            is_committed = verdict_of(entry, lock.attempt) == COMMITTED
            images.append(lock.applied_to(item) if is_committed else item)
        else:
            return images
    raise ConflictError("transactions are in the way of a read")


async def _read_locks_and_items(
    engine: Engine, rows: Sequence[RowKey]
) -> tuple[list[bytes | None], list[bytes | None]]:
    places = [lock_row(row) for row in rows]
    if engine.capabilities.shard_snapshots:
        found = await engine.read([*places, *rows], STRONG)
        return found[: len(rows)], found[len(rows) :]
    locks = await engine.read(places, STRONG)
    return locks, await engine.read(rows, STRONG)
