"""What happens inside the transaction of a batch: decisions become rows.

The turn to write is held all along, and all of it runs on the event loop.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final, final

import apsw

from hashrange.engine.base import SEQUENCE_BYTES, Changes, Decision
from hashrange.engine.sqlite.connection import StoreStatements
from hashrange.engine.sqlite.shared_state import SharedState
from hashrange.errors import EngineError, StaleVersionError

BATCH_DECISIONS_MAX: Final = 512
BATCH_BYTES_MAX: Final = 8 << 20

Waiting = tuple[Decision, "asyncio.Future[object]"]


class _Stores(dict[str, StoreStatements]):
    """The stores there are; using another one is refused."""

    def __missing__(self, store: str) -> StoreStatements:
        raise EngineError(f"no store {store}")


@final
class Batch:
    """The decisions of one transaction and what is to be told about them."""

    __slots__ = (
        "answers",
        "changed",
        "drops",
        "epoch",
        "has_dropped",
        "keys",
        "number",
        "put_bytes",
        "sequence",
        "sequence_before",
        "started_at",
        "tallies",
    )

    def __init__(self) -> None:
        self.answers: list[tuple[Waiting, object, Exception | None]] = []
        self.changed = False
        # Dropping a large store takes long, so it is left to the thread, just before COMMIT.
        self.drops: dict[str, str] = {}
        self.epoch = 0
        # The newest commit it has seen, or its own, where processes write together.
        self.number = 0
        # Of the rows it changes; besides, all of a store that it drops.
        self.keys: list[bytes] = []
        self.has_dropped = False
        self.sequence = 0
        self.sequence_before = 0
        self.started_at = 0.0
        self.put_bytes = 0
        self.tallies: dict[str, list[int]] = {}


@final
class BatchWriter:
    """What a process knows of the database from one transaction to the next; one for each."""

    def __init__(self, shared: SharedState) -> None:
        self._shared = shared
        self._stores = _Stores()
        self._stores_version = -1
        # What `meta` says, and the data that holds for: while nobody else writes there is no need
        # to read it, which is 2 % of a put that is alone.
        self._meta = (0, 0, 0)
        self._data_version = -1

    def begin(self, cursor: apsw.Cursor, batch: Batch) -> None:
        """Open a transaction."""
        cursor.execute("BEGIN IMMEDIATE")
        if cursor.connection.data_version() != self._data_version:
            self._meta = cursor.execute("SELECT epoch, stores_version, sequence FROM meta").get
        epoch, stores_version, sequence = self._meta
        batch.epoch = epoch
        batch.number = self._shared.commit()
        batch.sequence = batch.sequence_before = sequence
        # Another process may have died between its commit and telling the others.
        self._share(epoch, sequence)
        if stores_version != self._stores_version:
            rows = cursor.execute("SELECT store FROM tallies").fetchall()
            self._stores = _Stores((str(row[0]), StoreStatements(str(row[0]))) for row in rows)
            self._stores_version = stores_version

    def apply_waiting(self, cursor: apsw.Cursor, batch: Batch, waiting: deque[Waiting]) -> None:
        """Apply as many decisions as a batch may have, and what is written once for all of them."""
        answers = batch.answers
        while waiting and len(answers) < BATCH_DECISIONS_MAX and batch.put_bytes < BATCH_BYTES_MAX:
            entry = waiting.popleft()
            decision, future = entry
            if future.done():
                # Cancelled before it was looked at: it never happens.
                continue
            try:
                changes = self._decide(cursor, batch, decision)
            except apsw.Error:
                answers.append((entry, None, None))
                raise
            except Exception as error:  # noqa: BLE001 - what a decision raises is its caller's
                answers.append((entry, None, error))
                continue
            answers.append((entry, changes.outcome, None))
            self._apply(cursor, batch, changes)
        self._write_sums(cursor, batch)

    def note_commit(self, cursor: apsw.Cursor, batch: Batch) -> None:
        """Take note of what was committed, and tell the others."""
        self._data_version = cursor.connection.data_version()
        self._meta = (batch.epoch, self._stores_version, batch.sequence)
        self._share(batch.epoch, batch.sequence)

    def forget(self) -> None:
        """Know nothing any more, as after a transaction that was rolled back."""
        self._stores_version = -1
        self._data_version = -1

    def _share(self, epoch: int, sequence: int) -> None:
        if epoch > self._shared.epoch():
            self._shared.set_epoch(epoch)
        if sequence > self._shared.sequence():
            self._shared.set_sequence(sequence)

    def _decide(self, cursor: apsw.Cursor, batch: Batch, decision: Decision) -> Changes:
        epoch = decision.epoch
        if epoch != batch.epoch and epoch >= 0:
            raise StaleVersionError(f"built on epoch {epoch}, now {batch.epoch}")
        rows: list[bytes | None] = []
        for store, key in decision.keys:
            statements = self._stores.get(store)
            rows.append(None if statements is None else cursor.execute(statements.get, (key,)).get)
        return decision.decide(rows)

    def _stores_after(self, changes: Changes) -> _Stores:
        stores = _Stores(self._stores)
        for store in changes.drops:
            stores.pop(store, None)
        for store in changes.creates:
            stores[store] = StoreStatements(store)
        return stores

    def _apply(self, cursor: apsw.Cursor, batch: Batch, changes: Changes) -> None:
        if changes.drops or changes.creates:
            self._change_stores(cursor, batch, changes)
        stores = self._stores
        execute = cursor.execute
        for store, key in changes.deletes:
            if store in stores:
                batch.changed = True
                batch.keys.append(key)
                execute(stores[store].delete, (key,))
        for store, key, value in changes.puts:
            batch.changed = True
            batch.keys.append(key)
            batch.put_bytes += len(value)
            execute(stores[store].put, (key, value))
        for store, prefix, value in changes.appends:
            batch.changed = True
            batch.put_bytes += len(value)
            batch.sequence += 1
            key = prefix + batch.sequence.to_bytes(SEQUENCE_BYTES, "big")
            batch.keys.append(key)
            execute(stores[store].append, (key, value))
        for store, rows, size in changes.tallies:
            stores[store]  # raises unless it exists
            tally = batch.tallies.setdefault(store, [0, 0])
            tally[0] += rows
            tally[1] += size
        if changes.epoch_step:
            batch.changed = True
            batch.epoch += 1
            execute("UPDATE meta SET epoch = ?", (batch.epoch,))

    def _change_stores(self, cursor: apsw.Cursor, batch: Batch, changes: Changes) -> None:
        before = self._stores
        self._stores = self._stores_after(changes)
        batch.changed = True
        dropped = {store for store in changes.drops if store in before}
        for store in dropped:
            batch.has_dropped = True
            batch.drops[store] = before[store].drop
            cursor.execute("DELETE FROM tallies WHERE store = ?", (store,))
            batch.tallies.pop(store, None)
        for store in dict.fromkeys(changes.creates):
            if store not in before or store in dropped:
                if store in batch.drops:
                    cursor.execute(batch.drops.pop(store))
                cursor.execute(self._stores[store].create)
                cursor.execute("INSERT INTO tallies VALUES(?, 0, 0)", (store,))
        self._stores_version += 1
        cursor.execute("UPDATE meta SET stores_version = ?", (self._stores_version,))

    def _write_sums(self, cursor: apsw.Cursor, batch: Batch) -> None:
        """Write what is kept once per batch: the sequence and the tallies."""
        if batch.sequence != batch.sequence_before:
            cursor.execute("UPDATE meta SET sequence = ?", (batch.sequence,))
        for store, (rows, size) in batch.tallies.items():
            if rows or size:
                batch.changed = True
                cursor.execute(
                    "UPDATE tallies SET rows = rows + ?, bytes = bytes + ? WHERE store = ?",
                    (rows, size, store),
                )
