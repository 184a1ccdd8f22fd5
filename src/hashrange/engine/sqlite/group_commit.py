"""Group commit: many decisions, one after another, in one durable transaction.

Decisions wait in a queue. When no commit is under way and it is this process's turn to write, the
event loop opens a transaction, applies what is queued, and commits; whatever arrives meanwhile
forms the next batch. A slow COMMIT is left to a thread (see `commit_policy`).

1. A caller hears of its decision only when the COMMIT of its batch is as durable as was asked for.
   If the COMMIT fails, every decision of the batch fails, and the transaction is rolled back.
2. The connection is used by the event loop or by the thread, never by both: the `_busy` flag is the
   baton, and it is handed over through the thread's queue and `call_soon_threadsafe`.
3. The turn is held from BEGIN to the end of COMMIT, so what is read at BEGIN holds for the batch.
   Where processes write together, the log is synced after that (see `log_sync`), also when the
   batch changes nothing: its answers may tell what others wrote.
4. A COMMIT that failed after its frames reached the log could come back to life when the log is
   replayed after a crash. So it is followed by a small *fence* transaction, which overwrites those
   frames; unless the fence is durable the outcome is reported as unknown.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import queue
import threading
from collections import deque
from collections.abc import Callable
from time import perf_counter
from typing import Final, final

import apsw

from hashrange.engine.base import Decision
from hashrange.engine.sqlite.batch import Batch, BatchWriter, Waiting
from hashrange.engine.sqlite.checkpoints import Checkpoints, close_connection
from hashrange.engine.sqlite.commit_policy import CommitPolicy
from hashrange.engine.sqlite.connection import spares_other_decisions, translated
from hashrange.engine.sqlite.file_locks import WriteTurn
from hashrange.engine.sqlite.log_check import LogMark
from hashrange.engine.sqlite.log_sync import LogSync
from hashrange.engine.sqlite.reserve import Reserve
from hashrange.engine.sqlite.shared_state import SharedState
from hashrange.errors import EngineError, StorageFullError, UnknownOutcomeError

WAITING_MAX: Final = 65_536
_log = logging.getLogger(__name__)


@final
class GroupCommit:
    """The writing side of the SQLite engine."""

    def __init__(
        self,
        connect: Callable[[], apsw.Connection],
        turn: WriteTurn,
        shared: SharedState,
        *,
        policy: CommitPolicy,
        checkpoints: Checkpoints,
        log_sync: LogSync | None,
        log_mark: LogMark | None,
        reserve: Reserve,
    ) -> None:
        self._connect = connect
        self._turn = turn
        self._shared = shared
        self._policy = policy
        self._checkpoints = checkpoints
        self._log_sync = log_sync
        # None where commits are not synced.
        self._log_mark = log_mark
        self._reserve = reserve
        self._copying: asyncio.Future[None] | None = None
        # One cursor for every statement. To make one for each batch would cost time; and one that
        # the event loop lets go of while the thread uses the connection is never freed (APSW 3.54).
        self._cursor: apsw.Cursor | None = None
        self._open()
        self._batch_writer = BatchWriter(shared)
        self._waiting: deque[Waiting] = deque()
        self._busy = False
        self._pause: asyncio.TimerHandle | None = None
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
            # Not at once: requests that are ready in this turn of the loop join the batch.
            self._loop.call_soon(self._start)
        elif self._pause is not None and self._policy.is_complete(len(self._waiting)):
            self._pause.cancel()
            self._pause = None
            self._loop.call_soon(self._end_pause)
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
            close_connection(self._cursor.connection, self._shared)
            self._cursor = None
        if self._log_mark is not None:
            self._log_mark.close()

    # On the event loop.

    def _start(self) -> None:
        assert self._loop is not None
        waiting = len(self._waiting)
        if self._policy.gathers(waiting):
            self._look_again(self._start)
        elif (seconds := self._policy.pause_seconds(waiting)) > 0:
            self._pause = self._loop.call_later(seconds, self._end_pause)
        else:
            self._seek_turn()

    def _end_pause(self) -> None:
        self._pause = None
        self._policy.note_pause(len(self._waiting))
        self._seek_turn()

    def _seek_turn(self) -> None:
        try:
            taken = self._turn.try_take()
        except OSError as error:
            self._refuse_waiting(error)
            return
        if self._policy.seeks(taken):
            self._look_again(self._seek_turn)
        elif taken:
            self._run_batch()
        else:
            self._jobs.put(self._wait_for_turn)

    def _soon(self, call: Callable[[], None]) -> None:
        assert self._loop is not None
        self._loop.call_soon(call)

    def _look_again(self, call: Callable[[], None]) -> None:
        """Call soon, after whoever else wants the processor: it may be the one waited for.

        With two workers and a client on two processors, 1.03 to 1.07 times the puts.
        """
        os.sched_yield()
        self._soon(call)

    def _run_batch(self) -> None:
        batch = Batch()
        try:
            cursor = self._open()
            self._batch_writer.begin(cursor, batch)
            self._batch_writer.apply_waiting(cursor, batch, self._waiting)
            if not batch.changed:
                cursor.execute("COMMIT")
        except Exception as error:  # noqa: BLE001 - it goes to the callers, in our words
            self._abandon(batch, error)
            return
        if not batch.changed and self._shared.synced() >= batch.number:
            self._turn.give()
            self._finish(batch, None)
        elif self._policy.waits_for(batch.put_bytes) and not (
            batch.late_statement or batch.is_unhurried
        ):
            self._commit_inline(batch)
        else:
            self._jobs.put(lambda: self._commit_and_report(batch))

    def _abandon(self, batch: Batch, error: Exception) -> None:
        """Undo a batch that could not be applied; only the decision at fault fails."""
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
        """Refuse all waiting decisions when no transaction can be opened."""
        batch = Batch()
        batch.answers = [(entry, None, None) for entry in self._waiting]
        self._waiting.clear()
        self._finish(batch, translated(error))

    def _finish(self, batch: Batch, error: Exception | None) -> None:
        self._answer(batch, error)
        self._next_batch()

    def _answer(self, batch: Batch, error: Exception | None) -> None:
        self._policy.note_answers(len(batch.answers), len(self._waiting))
        again: list[Waiting] = []
        if isinstance(error, StorageFullError) and batch.droppers and self._reserve.give():
            again = batch.droppers
            self._waiting.extendleft(reversed(again))
        for entry, outcome, refusal in batch.answers:
            future = entry[1]
            if future.done() or entry in again:
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

    def _commit_inline(self, batch: Batch) -> None:
        error = self._commit(batch)
        has_turn = self._pass_turn()
        if error is None and not self._make_durable(batch):
            self._jobs.put(lambda: self._settle_and_report(batch, has_turn))
            return
        self._answer(batch, error)
        if has_turn:
            self._jobs.put(self._checkpoint_and_report)
        else:
            self._next_batch()

    # In the thread.

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()

    def _tell_loop(self, call: Callable[..., None], *arguments: object) -> None:
        assert self._loop is not None
        # The loop was closed without closing the engine; there is no caller to answer.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(call, *arguments)

    def _wait_for_turn(self) -> None:
        try:
            self._turn.take()
        except OSError as error:
            self._tell_loop(self._refuse_waiting, error)
        else:
            self._tell_loop(self._run_batch)

    def _commit_and_report(self, batch: Batch) -> None:
        error = self._commit(batch)
        has_turn = self._pass_turn()
        if error is None and not self._make_durable(batch):
            self._settle_and_report(batch, has_turn)
        else:
            self._report(batch, error, has_turn)

    def _settle_and_report(self, batch: Batch, has_turn: bool) -> None:
        """Retry the sync of a commit that cannot be rolled back any more."""
        assert self._log_sync is not None
        error: Exception | None = None
        try:
            if not has_turn:
                self._turn.take()
            try:
                self._log_sync.settle()
            finally:
                if not has_turn:
                    self._turn.give()
        except (OSError, apsw.Error) as failure:
            _log.exception("the write-ahead log could not be written once more")
            error = UnknownOutcomeError(f"{type(failure).__name__}: {failure}")
        self._report(batch, error, has_turn)

    def _report(self, batch: Batch, error: Exception | None, has_turn: bool) -> None:
        if has_turn:
            self._tell_loop(self._answer, batch, error)
            self._checkpoint_and_report()
        else:
            self._tell_loop(self._finish, batch, error)

    def _checkpoint_and_report(self) -> None:
        self._checkpoint()
        self._turn.give()
        self._tell_loop(self._next_batch)

    # In either.

    def _open(self) -> apsw.Cursor:
        """Return the cursor, of a new connection when the last one had to be given up."""
        if self._cursor is None:
            connection = self._connect()
            self._checkpoints.follow(connection)
            self._cursor = connection.cursor()
        return self._cursor

    def _pass_turn(self) -> bool:
        """Give the turn back, unless it is needed for a checkpoint; return whether it is kept."""
        has_turn = self._checkpoints.is_copied
        if not has_turn:
            self._turn.give()
        return has_turn

    def _make_durable(self, batch: Batch) -> bool:
        """Have the disk write what SQLite left to us; return whether all is as was asked for."""
        is_durable = self._log_sync is None or self._log_sync.try_sync(batch.number)
        if is_durable and self._log_mark is not None and batch.log_frames:
            self._log_mark.note(batch.log_salt, batch.log_frames)
        if batch.changed:
            self._policy.note_commit(perf_counter() - batch.started_at)
        return is_durable

    def _commit(self, batch: Batch) -> Exception | None:
        """Commit; return None, or the error to report after making sure nothing was kept."""
        if not batch.changed:
            return None  # it was committed when that became clear
        cursor = self._cursor
        assert cursor is not None  # since the transaction is open
        try:
            if batch.late_statement:
                cursor.execute(batch.late_statement)
            batch.started_at = perf_counter()
            if self._log_sync is not None:
                batch.number += 1
                keys = None if batch.has_dropped else batch.keys
                self._shared.begin_commit(batch.number, keys)
            self._checkpoints.expect_commit()
            cursor.execute("COMMIT")
        except apsw.FullError as error:
            # The commit frame is written last, so a log that ran out of room does not have it.
            self._roll_back()
            return translated(error)
        except Exception as error:  # noqa: BLE001 - whatever it was, nobody may be left waiting
            self._roll_back()
            return translated(error) if self._fence() else UnknownOutcomeError(str(error))
        if self._log_mark is not None:
            batch.log_salt = self._log_mark.salt()
            batch.log_frames = self._checkpoints.written_frames
        self._batch_writer.note_commit(cursor, batch)
        return None

    def _roll_back(self) -> None:
        self._batch_writer.forget()
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
            if self._log_sync is not None:
                self._log_sync.settle()
        except (OSError, apsw.Error):
            _log.exception("the write-ahead log could not be fenced after a failed commit")
            self._roll_back()
            return False
        return True

    def _checkpoint(self) -> None:
        if self._cursor is not None:
            self._checkpoints.finish(self._cursor.connection)
