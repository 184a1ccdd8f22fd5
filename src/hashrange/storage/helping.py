"""What anybody can do about a transaction in the way: find out what was decided, and finish it.

Nothing here needs the transaction's own coordinator, which may have died. Every step may be
repeated and may be done by several at once.
"""

from __future__ import annotations

import asyncio
from typing import Final, final

from hashrange.engine.base import STRONG, Decision, Engine
from hashrange.errors import TransactionConflictException
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
from hashrange.storage.sure_writes import write_surely
from hashrange.storage.writes import LockMet

_WAITS_MAX: Final = 10
_FIRST_WAIT_SECONDS: Final = 0.001
_WAIT_SECONDS_MAX: Final = 0.02


@final
class BoundedWait:
    """Bounded waiting for a transaction of somebody else, with growing pauses."""

    __slots__ = ("_seconds", "_waits")

    def __init__(self) -> None:
        self._seconds = _FIRST_WAIT_SECONDS
        self._waits = 0

    async def wait(self) -> bool:
        """Wait a little; return False when there was enough waiting."""
        if self._waits >= _WAITS_MAX:
            return False
        self._waits += 1
        await asyncio.sleep(self._seconds)
        self._seconds = min(2 * self._seconds, _WAIT_SECONDS_MAX)
        return True


def conflict() -> TransactionConflictException:
    """Return the answer to a write whose item belongs to a transaction in progress."""
    return TransactionConflictException("Transaction is ongoing for the item")


async def write_past_locks(engine: Engine, decision: Decision, now: float) -> object:
    """Carry out a decision whose outcome may be that it met a lock.

    Transactions in the way are finished if they are decided or overdue, and otherwise waited for,
    within bounds.
    """
    waiting = BoundedWait()
    while True:
        outcome = await engine.write(decision)
        if not isinstance(outcome, LockMet):
            return outcome
        if not await finish_met(engine, outcome, now) and not await waiting.wait():
            raise conflict()


async def finish_met(engine: Engine, met: LockMet, now: float) -> bool:
    """Finish the transaction of a lock for the item it was met at, unless it is in progress."""
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
