"""Resolves locks of other transactions: looks up the verdict and finishes the transaction.

None of this needs the coordinator of the transaction, which may have died. Every step may be
repeated, and several processes may do it at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, final

from hashrange.engine.base import STRONG, Decision, Engine
from hashrange.errors import TransactionConflictException
from hashrange.storage.foresight import write_decision
from hashrange.storage.ledger import (
    ABORTED,
    COMMITTED,
    PENDING,
    Verdict,
    entry_row,
    is_overdue,
    verdict_of,
)
from hashrange.storage.lock_steps import Finishing
from hashrange.storage.locks import Lock
from hashrange.storage.settled_writes import write_surely
from hashrange.storage.writes import LockMet

_WAITS_MAX: Final = 10
_FIRST_WAIT_SECONDS: Final = 0.001
_WAIT_SECONDS_MAX: Final = 0.02


@final
class BoundedWait:
    """Waits for another transaction, with growing pauses, a bounded number of times."""

    __slots__ = ("_seconds", "_waits")

    def __init__(self) -> None:
        self._seconds = _FIRST_WAIT_SECONDS
        self._waits = 0

    async def wait(self) -> bool:
        """Wait once; return False when all waits are used up."""
        if self._waits >= _WAITS_MAX:
            return False
        self._waits += 1
        await asyncio.sleep(self._seconds)
        self._seconds = min(2 * self._seconds, _WAIT_SECONDS_MAX)
        return True


def conflict() -> TransactionConflictException:
    """Return the error for a write to an item locked by a transaction in progress."""
    return TransactionConflictException("Transaction is ongoing for the item")


async def write_past_locks(engine: Engine, decision: Decision, now: float) -> object:
    """Carry out a decision whose outcome may be that it met a lock; raise if it stays so."""
    outcome = await try_past_locks(engine, lambda: write_decision(engine.write, decision), now)
    if isinstance(outcome, LockMet):
        raise conflict()
    return outcome


async def try_past_locks(
    engine: Engine, write: Callable[[], Awaitable[object]], now: float
) -> object:
    """Carry out a write whose outcome may be that it met a lock; return the outcome.

    The transaction of the lock is finished if it is decided or overdue; otherwise this waits for
    it, within bounds.
    """
    waiting = BoundedWait()
    while True:
        outcome = await write()
        if not isinstance(outcome, LockMet) or not (
            await finish_met(engine, outcome, now) or await waiting.wait()
        ):
            return outcome


async def finish_met(engine: Engine, met: LockMet, now: float) -> bool:
    """Finish the transaction of a lock for the locked item, unless it is in progress."""
    lock = met.lock
    verdict = await _verdict(engine, lock)
    if verdict == PENDING:
        if not is_overdue(lock.time, now):
            return False
        answer = await write_surely(engine, Verdict(lock.name, lock.attempt, ABORTED))
        assert isinstance(answer, int)
        verdict = answer
    await write_surely(
        engine,
        Finishing(met.table, [met.key], lock.attempt, is_committed=verdict == COMMITTED),
    )
    return True


async def _verdict(engine: Engine, lock: Lock) -> int:
    [row] = await engine.read([entry_row(lock.name)], STRONG)
    return verdict_of(row, lock.attempt)
