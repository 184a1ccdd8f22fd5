"""The driver behind coroutines: statements go out from the event loop, answers come back to it.

The driver has threads of its own. They put answers into a queue and wake the event loop once for
all that have gathered. Failures are told apart by what they mean for a write: `Refused` did
nothing, `NoAnswer` may have done it, possibly later. The driver itself never repeats a statement;
reads are repeated here.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable
from time import monotonic
from typing import Any, Final, Protocol, final

from cassandra import (
    AlreadyExists,
    AuthenticationFailed,
    InvalidRequest,
    RequestValidationException,
    Unauthorized,
)
from cassandra.cluster import Session
from cassandra.query import BatchStatement, BatchType

from hashrange.engine.counts import Counts
from hashrange.errors import EngineError

Rows = list[tuple[Any, ...]]

_READ_SECONDS_MAX: Final = 12.0
_PAUSE_SECONDS: Final = 0.05
# Longer than any profile waits: the driver itself tells that there was no answer in time.
_ANSWER_SECONDS_MAX: Final = 30.0
_REFUSALS: Final = (
    AlreadyExists,
    AuthenticationFailed,
    InvalidRequest,
    RequestValidationException,
    Unauthorized,
)


class NoAnswer(Exception):
    """Nobody can tell whether the statement was carried out."""


class Link(Protocol):
    """The way to Cassandra."""

    @property
    def counts(self) -> Counts: ...

    def batch(self, statements: Iterable[Any]) -> Any:
        """Return one statement that carries out several of one partition together."""

    async def ask(self, statement: Any, profile: str) -> Rows:
        """Carry out a statement once. Raises NoAnswer, or EngineError if nothing happened."""

    async def read(self, statement: Any, profile: str) -> Rows:
        """Carry out a statement that may be repeated, until there is an answer."""

    async def close(self) -> None:
        """Let go of all connections."""


@final
class DriverLink:
    """One session of the driver, used from one event loop."""

    def __init__(self, session: Session, counts: Counts) -> None:
        self._session = session
        self.counts = counts
        self._loop: asyncio.AbstractEventLoop | None = None
        self._answers: deque[tuple[asyncio.Future[Rows], Rows | None, Exception | None]] = deque()
        self._is_woken = False

    def batch(self, statements: Iterable[Any]) -> Any:
        batch = BatchStatement(BatchType.UNLOGGED)
        for statement in statements:
            batch.add(statement)
        return batch

    async def close(self) -> None:
        await asyncio.to_thread(self._session.cluster.shutdown)

    async def ask(self, statement: Any, profile: str) -> Rows:
        loop = self._loop
        if loop is None:
            loop = self._loop = asyncio.get_running_loop()
        future: asyncio.Future[Rows] = loop.create_future()
        try:
            response = self._session.execute_async(statement, execution_profile=profile)
        except _REFUSALS as error:
            raise EngineError(str(error)) from error
        except Exception as error:
            raise NoAnswer(str(error)) from error
        response.add_callbacks(
            self._take_rows, self._take_error, callback_args=(future,), errback_args=(future,)
        )
        # Not `asyncio.timeout`: requests are answered outside of tasks.
        patience = loop.call_later(_ANSWER_SECONDS_MAX, _give_up, future)
        try:
            return await future
        finally:
            patience.cancel()

    async def read(self, statement: Any, profile: str) -> Rows:
        deadline = monotonic() + _READ_SECONDS_MAX
        while True:
            try:
                return await self.ask(statement, profile)
            except NoAnswer as error:
                if monotonic() > deadline:
                    raise EngineError(f"Cassandra does not answer: {error}") from error
            self.counts.retries += 1
            await asyncio.sleep(_PAUSE_SECONDS)

    def _take_rows(self, rows: Rows | None, future: asyncio.Future[Rows]) -> None:
        self._put((future, rows or [], None))

    def _take_error(self, error: Exception, future: asyncio.Future[Rows]) -> None:
        self._put((future, None, error))

    def _put(self, answer: tuple[asyncio.Future[Rows], Rows | None, Exception | None]) -> None:
        """Queue an answer; called by the driver's threads."""
        self._answers.append(answer)
        assert self._loop is not None
        if not self._is_woken:
            self._is_woken = True
            try:
                self._loop.call_soon_threadsafe(self._deliver)
            except RuntimeError:
                self._answers.clear()  # the event loop has ended, and nobody waits

    def _deliver(self) -> None:
        # Before the queue is emptied: what is put from now on wakes the event loop again.
        self._is_woken = False
        answers = self._answers
        while answers:
            future, rows, error = answers.popleft()
            if future.done():
                continue
            if rows is not None:
                future.set_result(rows)
            elif isinstance(error, _REFUSALS):
                future.set_exception(EngineError(str(error)))
            else:
                future.set_exception(NoAnswer(f"{type(error).__name__}: {error}"))


def _give_up(future: asyncio.Future[Rows]) -> None:
    if not future.done():
        future.set_exception(NoAnswer("the driver did not end a request"))
