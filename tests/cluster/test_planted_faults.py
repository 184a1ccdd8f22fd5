"""The invariants are worth something: mistakes put into the protocol on purpose are found."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from hashrange.api.items import transaction_steps
from hashrange.engine.base import STRONG, Changes, Engine, RowKey, space_of
from hashrange.engine.memory.faults import Rates
from hashrange.engine.memory.shard import Shard
from hashrange.model.schema import Table
from hashrange.storage import items, transaction_completion, transactions, writes
from hashrange.storage.ledger import Verdict
from hashrange.storage.lock_steps import Finishing
from hashrange.storage.writes import GroupWrite, ItemWrite, LockMet
from tests.cluster.bank import run_bank

SEEDS = range(60)
ROUGH = Rates(conflict=0.1, no_answer=0.15, unsettled=0.02, delay=0.5)


def find_violation(touches: int = 16) -> str:
    """Return what the first violation is called."""
    for seed in SEEDS:
        try:
            run_bank(seed, ROUGH, kill_rate=0.004, transfers=30, touches=touches)
        except AssertionError as violation:
            return str(violation.args[0])
    raise LookupError("nothing was found")


def test_writes_that_ignore_locks_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def elsewhere(row: RowKey) -> RowKey:
        """Return a place where no lock ever is."""
        return (f"{space_of(row[0])}.none", row[1], row[2])

    monkeypatch.setattr(writes, "lock_row", elsewhere)
    assert find_violation()


def test_one_phase_of_reading_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    async def read_once(
        engine: Engine, tables: Sequence[Table], rows: Sequence[RowKey], now: float
    ) -> list[bytes | None]:
        return await engine.read(rows, STRONG)

    monkeypatch.setattr(transaction_steps, "read_transaction", read_once)
    assert find_violation() == "snapshot"


def test_a_decision_that_is_not_written_down_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Verdict, "decide", lambda self, rows: Changes(self._state))
    assert find_violation()


def test_writing_shard_by_shard_without_a_ledger_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    async def write_each(
        engine: Engine,
        tables: object,
        writes: Sequence[ItemWrite],
        token: object,
        now: float,
    ) -> list[object]:
        found: list[object] = []
        for write in writes:
            outcome = await engine.write(GroupWrite([write], is_transaction=True, now=now))
            assert isinstance(outcome, list)
            found += outcome
        return found

    monkeypatch.setattr(transaction_steps, "transact", write_each)
    assert find_violation()


def test_aborting_without_asking_the_ledger_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    async def take_away(engine: Engine, met: LockMet, now: float) -> bool:
        await engine.write(Finishing(met.table, [met.key], met.lock.attempt, is_committed=False))
        return True

    monkeypatch.setattr(transaction_completion, "finish_met", take_away)
    monkeypatch.setattr(transactions, "finish_met", take_away)
    assert find_violation()


def test_strong_reads_that_ignore_locks_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    async def read_only_items(engine: Engine, rows: Sequence[RowKey]) -> list[bytes | None]:
        return await engine.read(rows, STRONG)

    monkeypatch.setattr(items, "read_past_locks", read_only_items)
    assert find_violation() == "half a transfer seen"


def test_forgetting_write_ids_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Shard, "was_applied", lambda self, step: False)
    assert find_violation()


def test_index_rows_merged_in_the_order_of_arrival_are_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ordered = Shard.merge

    def arriving(self: Shard, store: str, key: bytes, value: bytes | None, version: int) -> None:
        ordered(self, store, key, value, self.step + (1 << 40))

    monkeypatch.setattr(Shard, "merge", arriving)
    assert find_violation(touches=80) == "index"
