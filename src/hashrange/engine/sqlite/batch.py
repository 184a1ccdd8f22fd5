"""Applies a batch of decisions inside one transaction.

The process holds the turn to write throughout, and all of this runs on the event loop.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final, final

import apsw

from hashrange.engine.base import SEQUENCE_BYTES, Changes, Decision, Fence
from hashrange.engine.sqlite.connection import StoreStatements
from hashrange.engine.sqlite.shared_state import SharedState
from hashrange.errors import EngineError, StaleVersionError

BATCH_DECISIONS_MAX: Final = 512
BATCH_BYTES_MAX: Final = 8 << 20
# Newer than every version, so that a space that is gone refuses what was built on it.
_NO_SPACE: Final = 1 << 63

Waiting = tuple[Decision, "asyncio.Future[object]"]


class _Stores(dict[str, StoreStatements]):
    """The stores there are; using another one is refused."""

    def __missing__(self, store: str) -> StoreStatements:
        raise EngineError(f"no store {store}")


@final
class Batch:
    """The decisions of one transaction and their outcomes."""

    __slots__ = (
        "answers",
        "changed",
        "counter",
        "drops",
        "has_dropped",
        "keys",
        "number",
        "put_bytes",
        "sequences",
        "started_at",
        "tallies",
    )

    def __init__(self) -> None:
        self.answers: list[tuple[Waiting, object, Exception | None]] = []
        self.changed = False
        # Dropping a large store takes long, so it is left to the thread, just before COMMIT.
        self.drops: dict[str, str] = {}
        self.counter = 0
        # The newest commit it has seen, or its own, where processes write together.
        self.number = 0
        # Of the rows it changes; besides, all of a store that it drops.
        self.keys: list[bytes] = []
        self.has_dropped = False
        # The newest numbers of the spaces to which it appends.
        self.sequences: dict[str, int] = {}
        self.started_at = 0.0
        self.put_bytes = 0
        self.tallies: dict[str, list[int]] = {}


@final
class BatchWriter:
    """Writes batches, and caches the state of the database between them; one per process."""

    def __init__(self, shared: SharedState) -> None:
        self._shared = shared
        # The stores and the versions of spaces, as of a layout version in `meta`.
        self._stores = _Stores()
        self._versions: dict[str, int] = {}
        self._layout = -1
        # What `meta` says and the sequences in `spaces`, as of a data version of the connection:
        # while no other process writes there is no need to read them again.
        self._meta = (0, 0)
        self._sequences: dict[str, int] = {}
        self._data_version = -1

    def begin(self, cursor: apsw.Cursor, batch: Batch) -> None:
        """Open a transaction."""
        cursor.execute("BEGIN IMMEDIATE")
        if cursor.connection.data_version() != self._data_version:
            self._meta = cursor.execute("SELECT counter, layout FROM meta").get
            self._sequences.clear()
        batch.counter, layout = self._meta
        batch.number = self._shared.commit()
        # Another process may have died between its commit and telling the others.
        self._share(batch)
        if layout != self._layout:
            self._read_layout(cursor, layout)

    def _read_layout(self, cursor: apsw.Cursor, layout: int) -> None:
        rows = cursor.execute("SELECT store FROM tallies").fetchall()
        self._stores = _Stores((str(row[0]), StoreStatements(str(row[0]))) for row in rows)
        rows = cursor.execute("SELECT space, version FROM spaces").fetchall()
        self._versions = {str(space): int(str(version)) for space, version in rows}
        self._layout = layout

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
                changes = self._decide(cursor, decision)
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
        """Update the cache after a commit, and announce it to the other processes."""
        self._data_version = cursor.connection.data_version()
        self._meta = (batch.counter, self._layout)
        self._sequences.update(batch.sequences)
        self._share(batch)

    def forget(self) -> None:
        """Drop the cache, as after a rollback."""
        self._layout = -1
        self._data_version = -1

    def _share(self, batch: Batch) -> None:
        if batch.counter > self._shared.counter():
            self._shared.set_counter(batch.counter)
        for space in batch.sequences:
            self._shared.note_append(space)

    def _decide(self, cursor: apsw.Cursor, decision: Decision) -> Changes:
        newer: list[Fence] = []
        for space, version in decision.fences:
            known = self._versions.get(space, _NO_SPACE)
            if known > version:
                raise StaleVersionError(f"built on version {version} of {space}")
            if known < version:
                newer.append((space, version))
        rows: list[bytes | None] = []
        for store, _, key in decision.keys:
            statements = self._stores.get(store)
            rows.append(None if statements is None else cursor.execute(statements.get, (key,)).get)
        changes = decision.decide(rows)
        if newer:
            changes.fences.extend(newer)
        return changes

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
        for store, _, key in changes.deletes:
            if store in stores:
                batch.changed = True
                batch.keys.append(key)
                execute(stores[store].delete, (key,))
        for store, _, key, value in changes.puts:
            batch.changed = True
            batch.keys.append(key)
            batch.put_bytes += len(value)
            execute(stores[store].put, (key, value))
        for store, _, prefix, value in changes.appends:
            statements = stores[store]
            batch.changed = True
            batch.put_bytes += len(value)
            number = self._next_number(cursor, batch, statements.space)
            key = prefix + number.to_bytes(SEQUENCE_BYTES, "big")
            batch.keys.append(key)
            execute(statements.append, (key, value))
        for store, rows, size in changes.tallies:
            stores[store]  # raises unless it exists
            tally = batch.tallies.setdefault(store, [0, 0])
            tally[0] += rows
            tally[1] += size
        if changes.fences:
            self._raise_versions(cursor, batch, changes.fences)
        if changes.is_announced:
            batch.changed = True
            batch.counter += 1
            execute("UPDATE meta SET counter = ?", (batch.counter,))

    def _next_number(self, cursor: apsw.Cursor, batch: Batch, space: str) -> int:
        """Return the next number of a space's sequence."""
        number = batch.sequences.get(space)
        if number is None:
            number = self._sequences.get(space)
        if number is None:
            statement = "SELECT sequence FROM spaces WHERE space = ?"
            number = int(cursor.execute(statement, (space,)).get)
        number += 1
        batch.sequences[space] = number
        return number

    def _raise_versions(self, cursor: apsw.Cursor, batch: Batch, fences: list[Fence]) -> None:
        batch.changed = True
        for space, version in fences:
            if self._versions.get(space, _NO_SPACE) < version:
                self._versions[space] = version
                cursor.execute("UPDATE spaces SET version = ? WHERE space = ?", (version, space))
        self._move_layout(cursor)

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
        self._change_spaces(cursor, batch)
        self._move_layout(cursor)

    def _change_spaces(self, cursor: apsw.Cursor, batch: Batch) -> None:
        """Create the spaces of new stores, and delete spaces without stores."""
        spaces = {statements.space for statements in self._stores.values()}
        for space in spaces - self._versions.keys():
            self._versions[space] = 0
            cursor.execute("INSERT INTO spaces VALUES(?, 0, 0)", (space,))
        for space in self._versions.keys() - spaces:
            del self._versions[space]
            self._sequences.pop(space, None)
            batch.sequences.pop(space, None)
            cursor.execute("DELETE FROM spaces WHERE space = ?", (space,))

    def _move_layout(self, cursor: apsw.Cursor) -> None:
        self._layout += 1
        cursor.execute("UPDATE meta SET layout = ?", (self._layout,))

    def _write_sums(self, cursor: apsw.Cursor, batch: Batch) -> None:
        """Write the sequences and tallies, once per batch."""
        for space, number in batch.sequences.items():
            cursor.execute("UPDATE spaces SET sequence = ? WHERE space = ?", (number, space))
        for store, (rows, size) in batch.tallies.items():
            if rows or size:
                batch.changed = True
                cursor.execute(
                    "UPDATE tallies SET rows = rows + ?, bytes = bytes + ? WHERE store = ?",
                    (rows, size, store),
                )
