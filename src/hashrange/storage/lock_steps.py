"""The steps of a transaction inside one shard: prepare, and finish. Pure decisions.

Prepare evaluates writes exactly as if they were carried out, and locks their items with the images
they shall get. Finish turns the images of a committed transaction into changes of the items, with
all rows derived from them, or takes the locks of an aborted one away. Both may be repeated: a lock
that exists is not made again, and a lock that is gone was finished by another process.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

from hashrange.engine.base import Changes, Fence, RowKey
from hashrange.errors import ClientError
from hashrange.model.keys import decode_key
from hashrange.model.schema import Table
from hashrange.storage.foresight import Costly
from hashrange.storage.images import Image
from hashrange.storage.item_collections import change_collections, collection_key
from hashrange.storage.layout import unpack_item
from hashrange.storage.locks import CHECK, DELETE, PUT, Lock, lock_row, unpack_lock
from hashrange.storage.writes import (
    CheckWrite,
    GroupWrite,
    ItemOutcome,
    ItemWrite,
    LockMet,
)

Outcome = ItemOutcome | ClientError
"""What became of one write of a transaction; an error is why it cancels the transaction."""


@final
class Preparation:
    """The decision that locks the items of a transaction's writes in one shard.

    The outcome is a LockMet, Costly, or the outcomes of the writes; the items are locked only if
    all of them succeeded and `is_locking` is set.
    """

    __slots__ = ("_group", "_is_locking", "_lock", "fences", "keys")

    def __init__(
        self, writes: Sequence[ItemWrite], lock: Lock, now: float, *, is_locking: bool = True
    ) -> None:
        self._group = GroupWrite(writes, is_transaction=True, now=now, attempt=lock.attempt)
        self._lock = lock
        self._is_locking = is_locking
        self.fences: Sequence[Fence] = self._group.fences
        self.keys: Sequence[RowKey] = self._group.keys

    def decide(self, rows: Sequence[bytes | None]) -> Changes:
        # The changes that the writes would make are dropped; what they cost is in the outcomes.
        outcomes = self._group.decide(rows).outcome
        changes = Changes(outcomes)
        if isinstance(outcomes, (LockMet, Costly)) or not self._is_locking:
            return changes
        assert isinstance(outcomes, list)
        if all(isinstance(outcome, ItemOutcome) and outcome.matched for outcome in outcomes):
            for write, outcome in zip(self._group.writes, outcomes, strict=True):
                lock = self._lock.with_image(*_image_of(write, outcome))
                changes.puts.append((*lock_row(write.row_key), lock.pack()))
        return changes


def _image_of(write: ItemWrite, outcome: ItemOutcome) -> tuple[int, bytes]:
    """Return the image of the item that a lock holds."""
    if isinstance(write, CheckWrite):
        return CHECK, b""
    return (DELETE, b"") if outcome.new is None else (PUT, outcome.new)


@final
class _LockedWrite(ItemWrite):
    """The change of an item to the image in its lock."""

    __slots__ = ("lock",)

    def __init__(self, table: Table, key: bytes) -> None:
        values = decode_key([part.type for part in table.parts], key)
        super().__init__(table, key, dict(zip(table.key_names, values, strict=True)), None)
        self.lock: Lock

    def resolve(self, row: bytes | None) -> Image:
        # The items are only needed if rows are derived from them.
        is_needed = self.table.has_derived_rows
        old = unpack_item(row) if row is not None and is_needed else None
        if self.lock.kind == PUT:
            item = unpack_item(self.lock.image) if is_needed else self.key_item
            return Image(old, (item, self.lock.image))
        return Image(old, None, is_change=self.lock.kind == DELETE and row is not None)


@final
class Finishing:
    """The decision that finishes an attempt for items of one shard, as the ledger decided."""

    __slots__ = ("_attempt", "_has_collections", "_is_committed", "_writes", "fences", "keys")

    def __init__(
        self, table: Table, keys: Sequence[bytes], attempt: bytes, *, is_committed: bool
    ) -> None:
        self.fences: Sequence[Fence] = table.fences
        self._attempt = attempt
        self._is_committed = is_committed
        self._writes = [_LockedWrite(table, key) for key in keys]
        self._has_collections = bool(table.local_indexes)
        rows: dict[RowKey, None] = {}
        for write in self._writes:
            rows[lock_row(write.row_key)] = None
            rows[write.row_key] = None
            if self._has_collections:
                rows[collection_key(write)] = None
            rows.update(dict.fromkeys(write.mark_keys()))
        self.keys: Sequence[RowKey] = tuple(rows)

    def decide(self, rows: Sequence[bytes | None]) -> Changes:
        changes = Changes()
        before = dict(zip(self.keys, rows, strict=True))
        collections: list[tuple[RowKey, ItemOutcome]] = []
        for write in self._writes:
            address = lock_row(write.row_key)
            row = before[address]
            if row is None or (lock := unpack_lock(row)).attempt != self._attempt:
                continue
            changes.deletes.append(address)
            if self._is_committed:
                write.lock = lock
                write.time = lock.time
                write.see_marks(before)
                outcome = write.apply(before[write.row_key], changes)
                if self._has_collections:
                    collections.append((collection_key(write), outcome))
        # The limit was held when the items were locked.
        change_collections(collections, before, changes, is_limited=False)
        return changes
