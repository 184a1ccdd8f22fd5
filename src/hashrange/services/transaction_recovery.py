"""Finishes transactions whose coordinator died, and deletes expired ledger entries.

Only for engines that change one shard at a time; see storage/transactions. Writers and readers that
meet a lock finish its transaction themselves, so nothing waits for this service. It finishes the
other transactions.

It looks at each shard of the ledger once a second while there are open transactions, and less and
less often while there are none. These looks need not be strong: what one of them misses, another
one finds. Every minute a strong look also deletes what is old.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import monotonic
from typing import Final, final

from hashrange.clock import Clock
from hashrange.engine.base import EVENTUAL, STRONG, Changes, Engine, Fence, RowKey
from hashrange.errors import AccessDeniedException
from hashrange.limits import TRANSACTION_SECONDS_MAX
from hashrange.storage.ledger import (
    ABORTED,
    COMMITTED,
    DONE,
    LEDGER,
    LEDGER_SHARDS,
    OPEN,
    Closing,
    Verdict,
    entry_key,
    entry_row,
    is_overdue,
    open_bound,
    unpack_entry,
)
from hashrange.storage.settled_writes import write_surely
from hashrange.storage.tokens import window_key
from hashrange.storage.transactions import Tables, finish_entry

_ROWS_PER_STEP: Final = 100
_BYTES_PER_STEP: Final = 1 << 20
_LOOK_SECONDS: Final = 1.0
_LOOK_SECONDS_MAX: Final = 5.0
_THOROUGH_SECONDS: Final = 60.0
_END_OF_TIMES: Final = b"\xff" * 8


@final
class _Forgetting:
    """The decision that deletes entries of transactions that are done."""

    __slots__ = ("fences", "keys")

    def __init__(self, keys: Sequence[RowKey]) -> None:
        self.fences: Sequence[Fence] = ()
        self.keys = keys

    def decide(self, rows: Sequence[bytes | None]) -> Changes:
        changes = Changes()
        for key, row in zip(self.keys, rows, strict=True):
            if row is not None and unpack_entry(row).state == DONE:
                changes.deletes.append(key)
        return changes


@final
class TransactionRecovery:
    """The recovery of transactions of all accounts; one process runs it."""

    def __init__(self, engine: Engine, tables: Tables, clock: Clock) -> None:
        self._engine = engine
        self._tables = tables
        self._clock = clock
        self._look_at = self._thorough_at = 0.0
        self._pause = _LOOK_SECONDS
        self._has_open = False
        # Is told of each transaction that was finished, and whether it was committed.
        self.recovered: Callable[[bool], None] = _note_nothing

    async def run_to_end(self) -> None:
        """Finish all transactions that are overdue."""
        while await self.look(STRONG):
            pass

    async def step(self) -> int:
        """Look at the ledger if that is due; return how much was done."""
        now = monotonic()
        if now < self._look_at:
            return 0
        is_thorough = now >= self._thorough_at
        if is_thorough:
            self._thorough_at = now + _THOROUGH_SECONDS
        self._has_open = False
        done = await self.look(STRONG if is_thorough else EVENTUAL)
        idle = _LOOK_SECONDS if self._has_open or done else 2 * self._pause
        self._pause = min(idle, _LOOK_SECONDS_MAX)
        self._look_at = monotonic() + (0.0 if done else self._pause)
        return done

    async def look(self, consistency: int) -> int:
        """Do a bounded piece of work for each shard of the ledger; return how much was done."""
        if self._engine.capabilities.atomic_across_shards:
            return 0
        now = self._clock.now()
        done = 0
        for shard in range(LEDGER_SHARDS):
            done += await self._recover(shard, now, consistency)
            if consistency == STRONG:
                done += await self._forget(shard, now)
        return done

    async def _recover(self, shard: int, now: float, consistency: int) -> int:
        """Decide and finish transactions that should be over; return how many are."""
        keys = await self._keys(OPEN, shard, _END_OF_TIMES, consistency)
        self._has_open = self._has_open or bool(keys)
        upper = open_bound(now - TRANSACTION_SECONDS_MAX)
        return sum([await self._finish(shard, key) for key in keys if key < upper])

    async def _finish(self, shard: int, open_key: bytes) -> bool:
        key = entry_key(open_key)
        (row,) = await self._engine.read([entry_row(key)], STRONG)
        if row is None:
            await write_surely(self._engine, _Removal((OPEN, shard, open_key)))
            return True
        entry = unpack_entry(row)
        if entry.state != DONE and not is_overdue(entry.time, self._clock.now()):
            return False  # another try under the same name
        verdict = await write_surely(self._engine, Verdict(key, entry.attempt, ABORTED))
        assert isinstance(verdict, int)
        if entry.state != DONE:
            entry.state = verdict
            try:
                is_finished = await finish_entry(self._engine, self._tables, key, entry)
            except AccessDeniedException:
                return False  # the KMS key of a table cannot be used
            if is_finished:
                self.recovered(verdict == COMMITTED)
            return is_finished
        await write_surely(self._engine, Closing(key, entry.attempt, entry.time))
        return True

    async def _forget(self, shard: int, now: float) -> int:
        """Delete entries whose client token is not remembered any more; return how many."""
        keys = await self._keys(LEDGER, shard, window_key(now, back=1))
        if not keys:
            return 0
        await write_surely(self._engine, _Forgetting([(LEDGER, shard, key) for key in keys]))
        left = await self._keys(LEDGER, shard, window_key(now, back=1))
        return len(keys) - len(left)

    async def _keys(
        self, store: str, shard: int, upper: bytes, consistency: int = STRONG
    ) -> list[bytes]:
        rows, _ = await self._engine.range(
            store,
            shard,
            b"",
            upper,
            reverse=False,
            rows_max=_ROWS_PER_STEP,
            bytes_max=_BYTES_PER_STEP,
            consistency=consistency,
        )
        return [key for key, _ in rows]


def _note_nothing(_is_committed: bool) -> None:
    pass


@final
class _Removal:
    """The decision that deletes an open row without an entry."""

    __slots__ = ("fences", "keys")

    def __init__(self, key: RowKey) -> None:
        self.fences: Sequence[Fence] = ()
        _, shard, open_key = key
        self.keys: Sequence[RowKey] = (key, (LEDGER, shard, entry_key(open_key)))

    def decide(self, rows: Sequence[bytes | None]) -> Changes:
        changes = Changes()
        if rows[1] is None:
            changes.deletes.append(self.keys[0])
        return changes
