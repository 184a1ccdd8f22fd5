"""What happens inside the transaction of a batch: decisions become rows.

The turn to write is held all along, and all of it runs on the event loop.
"""

from __future__ import annotations

import asyncio
from collections import deque
from time import perf_counter
from typing import Final, final

import apsw

from hashrange.engine.base import SEQUENCE_BYTES, Changes, Decision, Fence, space_of
from hashrange.engine.sqlite.data_directory import SELECT_META
from hashrange.engine.sqlite.dropped_stores import FreePiece
from hashrange.engine.sqlite.layout import NO_SPACE, SELECT_TALLY, UPDATE_TALLY, Layout
from hashrange.engine.sqlite.row_reads import read_row_to_change
from hashrange.engine.sqlite.row_sums import checked_columns, columns_sum, row_sum
from hashrange.engine.sqlite.shared_state import SharedState
from hashrange.errors import StaleVersionError

BATCH_DECISIONS_MAX: Final = 512
BATCH_BYTES_MAX: Final = 8 << 20
# A batch is applied on the event loop; what does not fit goes into the next one.
BATCH_SECONDS_MAX: Final = 0.02
_UPDATE_META: Final = "UPDATE meta SET counter = ?, layout = ?, sum = ?"

Waiting = tuple[Decision, "asyncio.Future[object]"]


@final
class Batch:
    """The decisions of one transaction and what is to be told about them."""

    __slots__ = (
        "answers",
        "changed",
        "counter",
        "droppers",
        "has_dropped",
        "is_unhurried",
        "keys",
        "late_statement",
        "log_frames",
        "log_salt",
        "number",
        "put_bytes",
        "sequences",
        "started_at",
        "tallies",
    )

    def __init__(self) -> None:
        self.answers: list[tuple[Waiting, object, Exception | None]] = []
        self.changed = False
        self.counter = 0
        # The newest commit it has seen, or its own, where processes write together.
        self.number = 0
        # Of the rows it changes; besides, all of a store that it drops.
        self.keys: list[bytes] = []
        self.has_dropped = False
        # Run just before COMMIT, in the thread, if not empty.
        self.late_statement = ""
        # The decisions that drop stores, which a full disk is to let through.
        self.droppers: list[Waiting] = []
        # The newest numbers of the spaces to which it appends.
        self.sequences: dict[str, int] = {}
        self.started_at = 0.0
        # Which log it was written to, and how long that was then.
        self.log_salt = 0
        self.log_frames = 0
        self.put_bytes = 0
        # Whether it has changes for which no client waits.
        self.is_unhurried = False
        self.tallies: dict[str, list[int]] = {}


@final
class BatchWriter:
    """What a process knows of the database from one transaction to the next; one for each."""

    def __init__(self, shared: SharedState) -> None:
        self._shared = shared
        self._layout = Layout()
        # What `meta` says and tallies, as of a data version of the connection: while no other
        # process writes there is no need to read them again.
        self._meta = (0, 0)
        self._tallies: dict[str, tuple[int, int]] = {}
        self._data_version = -1

    def begin(self, cursor: apsw.Cursor, batch: Batch) -> None:
        """Open a transaction."""
        cursor.execute("BEGIN IMMEDIATE")
        if cursor.connection.data_version() != self._data_version:
            counter, number = checked_columns("meta", cursor.execute(SELECT_META).get, 2)
            self._meta = (counter, number)
            self._tallies.clear()
            self._layout.forget_sequences()
        batch.counter, number = self._meta
        batch.number = self._shared.commit()
        # Another process may have died between its commit and telling the others.
        self._share(batch)
        self._layout.read(cursor, number)

    def apply_waiting(self, cursor: apsw.Cursor, batch: Batch, waiting: deque[Waiting]) -> None:
        """Apply as many decisions as a batch may have, and what is written once for all of them."""
        answers = batch.answers
        ends_at = perf_counter() + BATCH_SECONDS_MAX
        while (
            waiting
            and len(answers) < BATCH_DECISIONS_MAX
            and batch.put_bytes < BATCH_BYTES_MAX
            and perf_counter() < ends_at
        ):
            entry = waiting.popleft()
            decision, future = entry
            if future.done():
                # Cancelled before it was looked at: it never happens.
                continue
            try:
                if isinstance(decision, FreePiece):
                    batch.changed = True
                    is_freed, batch.late_statement = decision.free(cursor)
                    answers.append((entry, is_freed, None))
                    continue
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
        """Take note of what was committed, and tell the others."""
        self._data_version = cursor.connection.data_version()
        self._meta = (batch.counter, self._layout.number)
        self._share(batch)

    def forget(self) -> None:
        """Know nothing any more, as after a transaction that was rolled back."""
        self._layout.forget()
        self._data_version = -1

    def _share(self, batch: Batch) -> None:
        if batch.counter > self._shared.counter():
            self._shared.set_counter(batch.counter)
        for space in batch.sequences:
            self._shared.note_append(space)

    def _decide(self, cursor: apsw.Cursor, decision: Decision) -> Changes:
        newer: list[Fence] = []
        versions = self._layout.versions
        for space, version in decision.fences:
            known = versions.get(space, NO_SPACE)
            if known > version:
                raise StaleVersionError(f"built on version {version} of {space}")
            if known < version:
                newer.append((space, version))
        stores = self._layout.stores
        rows: list[bytes | None] = []
        for store, _, key in decision.keys:
            statements = stores.get(store)
            rows.append(None if statements is None else read_row_to_change(cursor, statements, key))
        changes = decision.decide(rows)
        if newer:
            changes.fences.extend(newer)
        return changes

    def _apply(self, cursor: apsw.Cursor, batch: Batch, changes: Changes) -> None:
        if changes.is_unhurried:
            batch.is_unhurried = True
        if changes.drops or changes.creates:
            self._change_stores(cursor, batch, changes)
        stores = self._layout.stores
        execute = cursor.execute
        for store, _, key in changes.deletes:
            if store in stores:
                batch.changed = True
                batch.keys.append(key)
                execute(stores[store].delete, (key,))
        for store, _, key, value in changes.puts:
            statements = stores[store]
            batch.changed = True
            batch.keys.append(key)
            batch.put_bytes += len(value)
            execute(statements.put, (key, row_sum(statements.seed, key, value), value))
        for store, _, prefix, value in changes.appends:
            statements = stores[store]
            batch.changed = True
            batch.put_bytes += len(value)
            number = self._next_number(cursor, batch, statements.space)
            key = prefix + number.to_bytes(SEQUENCE_BYTES, "big")
            batch.keys.append(key)
            execute(statements.append, (key, row_sum(statements.seed, key, value), value))
        for store, rows, size in changes.tallies:
            stores[store]  # raises unless it exists
            tally = batch.tallies.setdefault(store, [0, 0])
            tally[0] += rows
            tally[1] += size
        if changes.fences:
            batch.changed = True
            self._layout.raise_versions(cursor, changes.fences)
            self._write_meta(cursor, batch)
        if changes.is_announced:
            batch.changed = True
            batch.counter += 1
            self._write_meta(cursor, batch)

    def _next_number(self, cursor: apsw.Cursor, batch: Batch, space: str) -> int:
        """Return the next number of a space's sequence."""
        number = batch.sequences.get(space)
        if number is None:
            number = self._layout.sequence(cursor, space)
        number += 1
        batch.sequences[space] = number
        return number

    def _change_stores(self, cursor: apsw.Cursor, batch: Batch, changes: Changes) -> None:
        batch.changed = True
        if changes.drops:
            batch.droppers.append(batch.answers[-1][0])
        for store in self._layout.change(cursor, changes):
            batch.has_dropped = True
            batch.tallies.pop(store, None)
            self._tallies.pop(store, None)
            if space_of(store) not in self._layout.versions:
                batch.sequences.pop(space_of(store), None)
        self._write_meta(cursor, batch)

    def _write_meta(self, cursor: apsw.Cursor, batch: Batch) -> None:
        counter, number = batch.counter, self._layout.number
        cursor.execute(_UPDATE_META, (counter, number, columns_sum(0, counter, number)))

    def _write_sums(self, cursor: apsw.Cursor, batch: Batch) -> None:
        """Write what is kept once per batch: the sequences and the tallies."""
        for space, number in batch.sequences.items():
            self._layout.set_sequence(cursor, space, number)
        for store, (rows, size) in batch.tallies.items():
            if rows or size:
                batch.changed = True
                self._add_tally(cursor, store, rows, size)

    def _add_tally(self, cursor: apsw.Cursor, store: str, rows: int, size: int) -> None:
        known = self._tallies.get(store)
        if known is None:
            row = cursor.execute(SELECT_TALLY, (store,)).get
            known_rows, known_size = checked_columns("tallies", row, 2)
        else:
            known_rows, known_size = known
        rows += known_rows
        size += known_size
        self._tallies[store] = (rows, size)
        cursor.execute(UPDATE_TALLY, (rows, size, columns_sum(store, rows, size), store))
