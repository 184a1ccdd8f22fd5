"""Group commit: many decisions, one after another, in one durable transaction.

Decisions wait in a queue. When no commit is under way and it is this process's turn to write, the
event loop opens a transaction, applies what is queued, and commits; whatever arrives meanwhile
forms the next batch. A slow COMMIT is left to a thread (see `sqlite_patience`).

1. A caller hears of its decision only after the COMMIT of its batch. If that fails, every decision
   of the batch fails, and the transaction is rolled back.
2. The connection is used by the event loop or by the thread, never by both: the `_busy` flag is the
   baton, and it is handed over through the thread's queue and `call_soon_threadsafe`.
3. The turn is held from BEGIN to the end of COMMIT, so the epoch read at BEGIN holds for the batch.
4. A COMMIT that failed after its frames reached the log could come back to life when the log is
   replayed after a crash. So it is followed by a small *fence* transaction, which overwrites those
   frames; unless the fence is durable the outcome is reported as unknown.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import queue
import threading
from collections import deque
from collections.abc import Callable
from time import perf_counter
from typing import Final, final

import apsw

from hashrange.engine.base import SEQUENCE_BYTES, Changes, Decision
from hashrange.engine.sqlite_connection import StoreStatements, spares_other_decisions, translated
from hashrange.engine.sqlite_files import EpochCell, WriteTurn
from hashrange.engine.sqlite_log import Checkpoints, close_connection
from hashrange.engine.sqlite_patience import Patience
from hashrange.errors import EngineError, StaleEpochError, UnknownOutcomeError

WAITING_MAX: Final = 65_536
BATCH_DECISIONS_MAX: Final = 512
BATCH_BYTES_MAX: Final = 8 << 20
_log = logging.getLogger(__name__)

_Waiting = tuple[Decision, "asyncio.Future[object]"]


class _Stores(dict[str, StoreStatements]):
    """The stores there are; using another one is refused."""

    def __missing__(self, store: str) -> StoreStatements:
        raise EngineError(f"no store {store}")


@final
class _Batch:
    """The decisions of one transaction and what is to be told about them."""

    __slots__ = (
        "answers",
        "changed",
        "drops",
        "epoch",
        "put_bytes",
        "sequence",
        "sequence_before",
        "tallies",
    )

    def __init__(self) -> None:
        self.answers: list[tuple[_Waiting, object, Exception | None]] = []
        self.changed = False
        # Dropping a large store takes long, so it is left to the thread, just before COMMIT.
        self.drops: dict[str, str] = {}
        self.epoch = 0
        self.sequence = 0
        self.sequence_before = 0
        self.put_bytes = 0
        self.tallies: dict[str, list[int]] = {}


@final
class GroupCommit:
    """The writing side of the SQLite engine."""

    def __init__(
        self,
        connect: Callable[[], apsw.Connection],
        turn: WriteTurn,
        epoch_cell: EpochCell,
        *,
        patience: Patience,
        checkpoint_bytes: int,
    ) -> None:
        self._connect = connect
        self._turn = turn
        self._epoch_cell = epoch_cell
        self._patience = patience
        self._checkpoints = Checkpoints(connect, epoch_cell, checkpoint_bytes)
        self._copying: asyncio.Future[None] | None = None
        # One cursor for every statement. To make one for each batch would cost time; and one that
        # the event loop lets go of while the thread uses the connection is never freed (APSW 3.54).
        self._cursor: apsw.Cursor | None = connect().cursor()
        self._stores = _Stores()
        self._stores_version = -1
        # What `meta` says, and the data that holds for: while nobody else writes there is no need
        # to read it, which is 2 % of a put that is alone.
        self._meta = (0, 0, 0)
        self._data_version = -1
        self._waiting: deque[_Waiting] = deque()
        self._busy = False
        self._closed = False
        self._idle: asyncio.Future[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._committer = threading.Thread(target=self._work, name="hashrange-commit", daemon=True)
        self._committer.start()

    def submit(self, decision: Decision) -> asyncio.Future[object]:
        """Queue a decision; the future resolves once it is durable."""
        if self._closed:
            raise EngineError("the engine is closed")
        if len(self._waiting) >= WAITING_MAX:
            raise EngineError("too many writes are waiting")
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
        future = self._loop.create_future()
        self._waiting.append((decision, future))
        if not self._busy:
            self._busy = True
            # Not at once: requests that are ready in this same turn of the loop join the batch.
            self._loop.call_soon(self._start)
        return future

    async def close(self) -> None:
        """Finish the queue, move the log into the database, and let go of the connection."""
        self._closed = True
        if self._busy:
            self._idle = asyncio.get_running_loop().create_future()
            await self._idle
        if self._copying is not None:
            await asyncio.wait([self._copying])  # not for its result: closing goes on regardless
        self._jobs.put(self._checkpoint)
        self._jobs.put(None)
        await asyncio.get_running_loop().run_in_executor(None, self._committer.join)
        if self._cursor is not None:
            close_connection(self._cursor.connection, self._epoch_cell)
            self._cursor = None

    # On the event loop.

    def _start(self) -> None:
        if self._patience.gathers(len(self._waiting)):
            self._soon(self._start)
        else:
            self._seek_turn()

    def _seek_turn(self) -> None:
        try:
            taken = self._turn.try_take()
        except OSError as error:
            self._refuse_waiting(error)
            return
        if self._patience.seeks(taken):
            self._soon(self._seek_turn)
        elif taken:
            self._run_batch()
        else:
            self._jobs.put(self._wait_for_turn)

    def _soon(self, call: Callable[[], None]) -> None:
        assert self._loop is not None
        self._loop.call_soon(call)

    def _run_batch(self) -> None:
        batch = _Batch()
        try:
            cursor = self._begin(batch)
            self._apply_waiting(cursor, batch)
            self._write_sums(cursor, batch)
            if not batch.changed:
                cursor.execute("COMMIT")
        except Exception as error:  # noqa: BLE001 - it goes to the callers, in our words
            self._abandon(batch, error)
            return
        if not batch.changed:
            self._turn.give()
            self._finish(batch, None)
        elif self._patience.waits_for(batch.put_bytes) and not batch.drops:
            self._commit_inline(batch)
        else:
            self._jobs.put(lambda: self._commit_and_report(batch))

    def _begin(self, batch: _Batch) -> apsw.Cursor:
        """Open a transaction; return the cursor for its statements."""
        cursor = self._open()
        cursor.execute("BEGIN IMMEDIATE")
        if cursor.connection.data_version() != self._data_version:
            self._meta = cursor.execute("SELECT epoch, stores_version, sequence FROM meta").get
        epoch, stores_version, sequence = self._meta
        batch.epoch = epoch
        batch.sequence = batch.sequence_before = sequence
        if epoch > self._epoch_cell.get():
            # Another process died between its commit and telling the others.
            self._epoch_cell.set(epoch)
        if sequence > self._epoch_cell.sequence():
            self._epoch_cell.set_sequence(sequence)
        if stores_version != self._stores_version:
            rows = cursor.execute("SELECT store FROM tallies").fetchall()
            self._stores = _Stores((str(row[0]), StoreStatements(str(row[0]))) for row in rows)
            self._stores_version = stores_version
        return cursor

    def _apply_waiting(self, cursor: apsw.Cursor, batch: _Batch) -> None:
        waiting, answers = self._waiting, batch.answers
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

    def _decide(self, cursor: apsw.Cursor, batch: _Batch, decision: Decision) -> Changes:
        epoch = decision.epoch
        if epoch != batch.epoch and epoch >= 0:
            raise StaleEpochError(f"built on epoch {epoch}, now {batch.epoch}")
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

    def _apply(self, cursor: apsw.Cursor, batch: _Batch, changes: Changes) -> None:
        if changes.drops or changes.creates:
            self._change_stores(cursor, batch, changes)
        stores = self._stores
        execute = cursor.execute
        for store, key in changes.deletes:
            if store in stores:
                batch.changed = True
                execute(stores[store].delete, (key,))
        for store, key, value in changes.puts:
            batch.changed = True
            batch.put_bytes += len(value)
            execute(stores[store].put, (key, value))
        for store, prefix, value in changes.appends:
            batch.changed = True
            batch.put_bytes += len(value)
            batch.sequence += 1
            key = prefix + batch.sequence.to_bytes(SEQUENCE_BYTES, "big")
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

    def _change_stores(self, cursor: apsw.Cursor, batch: _Batch, changes: Changes) -> None:
        before = self._stores
        self._stores = self._stores_after(changes)
        batch.changed = True
        dropped = {store for store in changes.drops if store in before}
        for store in dropped:
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

    def _write_sums(self, cursor: apsw.Cursor, batch: _Batch) -> None:
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

    def _abandon(self, batch: _Batch, error: Exception) -> None:
        """Undo a batch that could not be applied; only the decision at fault need suffer."""
        self._roll_back()
        self._turn.give()
        if batch.answers and spares_other_decisions(error):
            (_, future), _, _ = batch.answers.pop()
            if not future.done():
                is_ours = isinstance(error, EngineError)
                refusal = error if is_ours else EngineError(f"{type(error).__name__}: {error}")
                future.set_exception(refusal)
            self._waiting.extendleft(entry for entry, _, _ in reversed(batch.answers))
            self._next_batch()
            return
        if batch.answers:
            self._finish(batch, translated(error))
        else:
            self._refuse_waiting(error)

    def _refuse_waiting(self, error: Exception) -> None:
        """Refuse all that wait, when not even a transaction can be opened, rather than spin."""
        batch = _Batch()
        batch.answers = [(entry, None, None) for entry in self._waiting]
        self._waiting.clear()
        self._finish(batch, translated(error))

    def _finish(self, batch: _Batch, error: Exception | None) -> None:
        self._answer(batch, error)
        self._next_batch()

    def _answer(self, batch: _Batch, error: Exception | None) -> None:
        for (_, future), outcome, refusal in batch.answers:
            if future.done():
                continue
            if error is not None:
                # An instance of its own for each caller, since raising one adds its traceback.
                future.set_exception(type(error)(*error.args))
            elif refusal is not None:
                future.set_exception(refusal)
            else:
                future.set_result(outcome)

    def _next_batch(self) -> None:
        if self._checkpoints.begin():
            assert self._loop is not None
            self._copying = self._loop.run_in_executor(None, self._checkpoints.copy)
        if self._waiting:
            self._soon(self._start)
            return
        self._busy = False
        if self._idle is not None and not self._idle.done():
            self._idle.set_result(None)

    def _commit_inline(self, batch: _Batch) -> None:
        error = self._commit(batch)
        self._answer(batch, error)
        if self._checkpoints.is_copied:
            self._jobs.put(self._checkpoint_and_report)
        else:
            self._turn.give()
            self._next_batch()

    # In the thread.

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()

    def _tell_loop(self, call: Callable[..., None], *arguments: object) -> None:
        assert self._loop is not None
        # A loop that was closed without closing the engine has nobody left to tell.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(call, *arguments)

    def _wait_for_turn(self) -> None:
        try:
            self._turn.take()
        except OSError as error:
            self._tell_loop(self._refuse_waiting, error)
        else:
            self._tell_loop(self._run_batch)

    def _commit_and_report(self, batch: _Batch) -> None:
        error = self._commit(batch)
        if self._checkpoints.is_copied:
            self._tell_loop(self._answer, batch, error)
            self._checkpoint_and_report()
        else:
            self._turn.give()
            self._tell_loop(self._finish, batch, error)

    def _checkpoint_and_report(self) -> None:
        self._checkpoint()
        self._turn.give()
        self._tell_loop(self._next_batch)

    # In either.

    def _open(self) -> apsw.Cursor:
        """Return the cursor, of a new connection when the last one had to be given up."""
        if self._cursor is None:
            self._cursor = self._connect().cursor()
        return self._cursor

    def _commit(self, batch: _Batch) -> Exception | None:
        """Commit; return None, or the error to report after making sure nothing was kept."""
        cursor = self._cursor
        assert cursor is not None  # since the transaction is open
        try:
            for drop in batch.drops.values():
                cursor.execute(drop)
            start = perf_counter()
            cursor.execute("COMMIT")
            self._patience.note_commit(perf_counter() - start)
        except apsw.FullError as error:
            # The commit frame is written last, so a log that ran out of room does not have it.
            self._roll_back()
            return translated(error)
        except Exception as error:  # noqa: BLE001 - whatever it was, nobody may be left waiting
            self._roll_back()
            return translated(error) if self._fence() else UnknownOutcomeError(str(error))
        self._checkpoints.note_batch(batch.put_bytes, len(batch.answers))
        self._data_version = cursor.connection.data_version()
        self._meta = (batch.epoch, self._stores_version, batch.sequence)
        if batch.epoch > self._epoch_cell.get():
            self._epoch_cell.set(batch.epoch)
        if batch.sequence > self._epoch_cell.sequence():
            self._epoch_cell.set_sequence(batch.sequence)
        return None

    def _roll_back(self) -> None:
        self._stores_version = -1
        self._data_version = -1
        if self._cursor is None:
            return
        connection = self._cursor.connection
        try:
            if connection.in_transaction:
                self._cursor.execute("ROLLBACK")
        except apsw.Error:
            self._cursor = None
            with contextlib.suppress(apsw.Error):
                connection.close(True)

    def _fence(self) -> bool:
        """Overwrite the frames of a failed commit; return whether that is durable."""
        try:
            self._open().execute("BEGIN IMMEDIATE; UPDATE meta SET fence = fence + 1; COMMIT")
        except apsw.Error:
            _log.exception("the write-ahead log could not be fenced after a failed commit")
            self._roll_back()
            return False
        return True

    def _checkpoint(self) -> None:
        if self._cursor is not None:
            self._checkpoints.finish(self._cursor.connection)
