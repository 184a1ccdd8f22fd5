"""Carries out item writes and transactions, in one step or by the ledger protocol.

An engine with `atomic_across_shards` does everything in one decision. On other engines one shard
changes at a time, and a transaction over several of them goes like this:

1. An entry in the ledger says PENDING.
2. Prepare: shard by shard, in one order for all, the writes are evaluated and their items locked.
3. Decide: the entry becomes COMMITTED or ABORTED. This is the one commit point.
4. Finish: shard by shard, locks turn into changes or go away. Then the entry is closed.

Writers, strong reads and transactions that meet a lock look into the ledger, and may finish or,
when it is overdue, abort a transaction in the way (see storage/transaction_completion). A
coordinator can die between any two steps: services/transaction_recovery does the rest.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Sequence
from typing import Final, Protocol, final

from hashrange.engine.base import Decision, Engine, RowKey
from hashrange.errors import (
    ConflictError,
    EngineError,
    ResourceNotFoundException,
    StaleVersionError,
    TransactionConflictException,
    UnknownOutcomeError,
)
from hashrange.model.schema import Table
from hashrange.storage.foresight import Costly, write_decision, write_foreseen
from hashrange.storage.items import item_row
from hashrange.storage.ledger import (
    ABORTED,
    COMMITTED,
    DONE,
    PENDING,
    Closing,
    Entry,
    Opening,
    Part,
    Verdict,
    random_name,
    token_name,
)
from hashrange.storage.lock_steps import Finishing, Outcome, Preparation
from hashrange.storage.locks import ATTEMPT_BYTES, CHECK, Lock, lock_row, unpack_lock
from hashrange.storage.settled_writes import write_surely
from hashrange.storage.tokens import DIGEST_BYTES, TokenCheck
from hashrange.storage.transaction_completion import (
    BoundedWait,
    conflict,
    finish_met,
    try_past_locks,
    write_past_locks,
)
from hashrange.storage.writes import (
    GroupWrite,
    ItemOutcome,
    ItemWrite,
    LockMet,
    PutWrite,
    SingleWrite,
)

_LOGGER = logging.getLogger("hashrange.transactions")

# Rows that one decision of a batch writes.
_GROUP_BYTES_MAX: Final = 4 << 20
_OPEN_ATTEMPTS_MAX: Final = 10
_STALE_ATTEMPTS_MAX: Final = 10
_STALE_PAUSE_SECONDS: Final = 0.002
_NO_DIGEST: Final = b"\x00" * DIGEST_BYTES

_Place = tuple[str, int]


class Tables(Protocol):
    """Looks up the current state of tables."""

    async def table(self, account: str, region: str, name: str) -> Table: ...


async def write_item(engine: Engine, write: ItemWrite, now: float) -> ItemOutcome:
    """Carry out one item write."""
    decision = SingleWrite(write, now)
    outcome = await engine.write(decision)
    if type(outcome) is Costly:
        outcome = await write_foreseen(engine.write, decision, outcome)
    if isinstance(outcome, LockMet):
        outcome = await write_past_locks(engine, decision, now)
    assert isinstance(outcome, ItemOutcome)
    return outcome


async def write_batch(engine: Engine, writes: Sequence[ItemWrite], now: float) -> list[Outcome]:
    """Carry out writes to different items, independently of each other.

    The outcome of a write is a conflict if its item belongs to a transaction in progress, and a
    ThroughputError if one of its indexes has no capacity left.
    """
    if engine.capabilities.atomic_across_shards:
        found_all: list[Outcome] = []
        for group in _by_bytes(writes):
            decision = GroupWrite(group, is_transaction=False, now=now)
            outcomes = await write_decision(engine.write, decision)
            assert isinstance(outcomes, list)
            found_all += outcomes
        return found_all
    found: dict[RowKey, Outcome] = {}

    async def write_group(group: list[ItemWrite]) -> None:
        decision = GroupWrite(group, is_transaction=False, now=now)
        try:
            outcomes = await write_past_locks(engine, decision, now)
        except TransactionConflictException as refusal:
            outcomes = [refusal] * len(group)
        assert isinstance(outcomes, list)
        for write, outcome in zip(group, outcomes, strict=True):
            found[write.row_key] = outcome

    for _, group in _by_place(writes):
        await write_group(group)
    return [found[write.row_key] for write in writes]


async def transact(
    engine: Engine,
    tables: Tables,
    writes: Sequence[ItemWrite],
    token: TokenCheck | None,
    now: float,
) -> list[Outcome] | None:
    """Carry out all writes, or none; return their outcomes, or None for a repeated request.

    If one of the outcomes is an error or did not match, nothing was changed.
    """
    is_one_step = engine.capabilities.atomic_across_shards
    if is_one_step or (token is None and len(_by_place(writes)) == 1):
        decision = GroupWrite(writes, is_transaction=True, now=now, token=token)
        outcomes = await try_past_locks(engine, lambda: write_decision(engine.write, decision), now)
        if isinstance(outcomes, LockMet):
            return _conflicts(writes, outcomes)
        assert outcomes is None or isinstance(outcomes, list)
        return outcomes
    return await _Coordinator(engine, tables, writes, token, now).run()


async def read_transaction(
    engine: Engine, tables: Sequence[Table], rows: Sequence[RowKey], now: float
) -> list[bytes | None]:
    """Return a snapshot of items; raises ConflictError if they keep changing."""
    if engine.capabilities.snapshot_reads:
        return await engine.read_together(rows)
    locks = [lock_row(row) for row in rows]
    waiting = BoundedWait()
    while True:
        first = await engine.read_versions([*locks, *rows])
        met = [
            LockMet(table, row[2], unpack_lock(lock))
            for table, row, (lock, _) in zip(tables, rows, first, strict=False)
            if lock is not None
        ]
        if met:
            helped = [await finish_met(engine, each, now) for each in met]
            if all(helped):
                continue
        elif await engine.read_versions([*locks, *rows]) == first:
            return [row for row, _ in first[len(rows) :]]
        if not await waiting.wait():
            raise ConflictError("items change too often to be read together")


def _by_bytes(writes: Sequence[ItemWrite]) -> list[list[ItemWrite]]:
    """Return writes in groups, none of which is long in its turn to write."""
    groups: list[list[ItemWrite]] = [[]]
    size = 0
    for write in writes:
        added = len(write.row) if isinstance(write, PutWrite) else 0
        if size + added > _GROUP_BYTES_MAX and groups[-1]:
            groups.append([])
            size = 0
        groups[-1].append(write)
        size += added
    return groups


def _by_place(writes: Sequence[ItemWrite]) -> list[tuple[_Place, list[ItemWrite]]]:
    """Return writes by space and shard, in the order in which all transactions lock them."""
    groups: dict[_Place, list[ItemWrite]] = {}
    for write in writes:
        store, shard, _ = write.row_key
        groups.setdefault((store, shard), []).append(write)
    return sorted(groups.items(), key=lambda group: group[0])


def _conflicts(writes: Sequence[ItemWrite], met: LockMet) -> list[Outcome]:
    """Return the outcomes of writes of which one met a lock."""
    return [conflict() if write.key == met.key else ItemOutcome(None, None) for write in writes]


def _succeeded(outcome: Outcome) -> bool:
    return isinstance(outcome, ItemOutcome) and outcome.matched


@final
class _Coordinator:
    """One attempt at one transaction."""

    def __init__(
        self,
        engine: Engine,
        tables: Tables,
        writes: Sequence[ItemWrite],
        token: TokenCheck | None,
        now: float,
    ) -> None:
        self._engine = engine
        self._tables = tables
        self._writes = writes
        self._groups = _by_place(writes)
        self._now = now
        attempt = secrets.token_bytes(ATTEMPT_BYTES)
        digest = _NO_DIGEST if token is None else token.digest
        self._entry = Entry(PENDING, attempt, now, digest, [_part_of(write) for write in writes])
        name = random_name(attempt) if token is None else token_name(token.name)
        self._opening = Opening(name, self._entry)
        self._lock = Lock(attempt, self._opening.key, now, CHECK)

    async def run(self) -> list[Outcome] | None:
        """Carry out the transaction; see `transact`."""
        if not await self._open():
            return None
        try:
            outcomes = await self._prepare()
        except (Exception, asyncio.CancelledError):
            await self._abort()
            raise
        wanted = COMMITTED if all(_succeeded(outcome) for outcome in outcomes) else ABORTED
        verdict = await write_surely(
            self._engine, Verdict(self._opening.key, self._entry.attempt, wanted)
        )
        assert isinstance(verdict, int)
        self._entry.state = verdict
        is_over = await finish_entry(self._engine, self._tables, self._opening.key, self._entry)
        if verdict != wanted:
            return [conflict() for _ in self._writes]  # another process aborted it as overdue
        if verdict == COMMITTED and not is_over:
            # It will be finished by others, but a query would not show all of it yet.
            raise UnknownOutcomeError("the transaction is committed, but not finished")
        return outcomes

    async def _open(self) -> bool:
        """Begin the transaction; return False if it was carried out before."""
        for _ in range(_OPEN_ATTEMPTS_MAX):
            found = await write_surely(self._engine, self._opening)
            if found is None:
                return True
            assert isinstance(found, tuple)
            key, entry = found
            is_repeat = entry.state in (COMMITTED, DONE) and entry.digest == self._entry.digest
            if entry.state == PENDING:
                verdict = await write_surely(self._engine, Verdict(key, entry.attempt, ABORTED))
                assert isinstance(verdict, int)
                entry.state = verdict
            if entry.state != DONE:
                await finish_entry(self._engine, self._tables, key, entry)
            if is_repeat:
                return False
        raise ConflictError("an earlier transaction of this token cannot be finished")

    async def _prepare(self) -> list[Outcome]:
        """Lock the items; once a write fails, only evaluate the others."""
        found: dict[RowKey, Outcome] = {}
        is_locking = True
        for _, group in self._groups:
            outcomes = await self._prepare_group(group, is_locking=is_locking)
            for write, outcome in zip(group, outcomes, strict=True):
                found[write.row_key] = outcome
                is_locking = is_locking and _succeeded(outcome)
        return [found[write.row_key] for write in self._writes]

    async def _prepare_group(
        self, group: Sequence[ItemWrite], *, is_locking: bool
    ) -> Sequence[Outcome]:
        decision = Preparation(group, self._lock, self._now, is_locking=is_locking)
        outcomes = await try_past_locks(
            self._engine, lambda: write_decision(self._submit, decision), self._now
        )
        if isinstance(outcomes, LockMet):
            return _conflicts(group, outcomes)
        assert isinstance(outcomes, list)
        return outcomes

    async def _submit(self, decision: Decision) -> object:
        return await write_surely(self._engine, decision)

    async def _abort(self) -> None:
        """Abort; the recovery service does what fails here."""
        try:
            self._entry.state = ABORTED
            verdict = Verdict(self._opening.key, self._entry.attempt, ABORTED)
            if await write_surely(self._engine, verdict) == ABORTED:
                await finish_entry(self._engine, self._tables, self._opening.key, self._entry)
        except (EngineError, UnknownOutcomeError):
            _LOGGER.warning("an aborted transaction is left to the recovery", exc_info=True)


def _part_of(write: ItemWrite) -> Part:
    table = write.table
    return (table.account, table.region, table.name, table.store, write.key)


async def finish_entry(engine: Engine, tables: Tables, key: bytes, entry: Entry) -> bool:
    """Finish a decided transaction for all its items, and close it; return False if it failed.

    A failure changes nothing about what was decided; the recovery will try again.
    """
    groups: dict[tuple[str, str, str, str], list[bytes]] = {}
    for part in entry.parts:
        groups.setdefault(part[:4], []).append(part[4])
    try:
        for (account, region, name, space), keys in groups.items():
            where = (account, region, name, space)
            await _finish_table(engine, tables, where, keys, entry)
        await write_surely(engine, Closing(key, entry.attempt, entry.time))
    except (EngineError, UnknownOutcomeError):
        _LOGGER.warning("a transaction is left to the recovery", exc_info=True)
        return False
    return True


async def _finish_table(
    engine: Engine,
    tables: Tables,
    where: tuple[str, str, str, str],
    keys: Sequence[bytes],
    entry: Entry,
) -> None:
    """Finish a transaction for its items in one table, as the table is now."""
    is_committed = entry.verdict(entry.attempt) == COMMITTED
    for attempt in range(_STALE_ATTEMPTS_MAX):
        try:
            table = await tables.table(*where[:3])
            if table.store != where[3]:
                return  # the table is gone, and another one has its name
            shards: dict[int, list[bytes]] = {}
            for key in keys:
                shards.setdefault(item_row(table, key)[1], []).append(key)
            for shard in sorted(shards):
                step = Finishing(table, shards[shard], entry.attempt, is_committed=is_committed)
                await write_surely(engine, step)
            return
        except ResourceNotFoundException:
            return
        except StaleVersionError:
            if attempt == _STALE_ATTEMPTS_MAX - 1:
                raise
            await asyncio.sleep(_STALE_PAUSE_SECONDS)
