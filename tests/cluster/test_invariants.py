"""Whatever goes wrong in a cluster, nothing is lost, halved, repeated or left behind."""

from __future__ import annotations

import pytest

from hashrange.engine.memory.faults import Rates
from tests.cluster.bank import OK, REFUSED, UNKNOWN, run_bank

USUAL = Rates()
ROUGH = Rates(conflict=0.15, no_answer=0.15, unsettled=0.05, delay=0.4, stale=0.5, late_counter=0.9)


@pytest.mark.parametrize("seed", range(12))
def test_money_streams_and_indexes_survive_conflicts_and_lost_answers(seed: int) -> None:
    bank = run_bank(seed, USUAL, kill_rate=0.0)
    outcomes = [outcome for _, _, outcome in bank.transfers.values()]
    assert UNKNOWN not in outcomes
    assert OK in outcomes


@pytest.mark.parametrize("seed", range(100, 120))
def test_transactions_of_killed_coordinators_are_finished_or_undone_by_others(seed: int) -> None:
    bank = run_bank(seed, ROUGH)
    assert bank.sums or bank.scheduler.killed


@pytest.mark.parametrize("seed", range(300, 312))
def test_tables_change_and_shards_roll_over_in_the_middle_of_it(seed: int) -> None:
    run_bank(seed, ROUGH, with_changes=True, touches=40)


def test_the_runs_have_all_that_can_happen_in_them() -> None:
    banks = [run_bank(seed, ROUGH) for seed in range(200, 206)]
    outcomes = {outcome for bank in banks for _, _, outcome in bank.transfers.values()}
    assert outcomes == {OK, REFUSED, UNKNOWN}
    assert any(bank.scheduler.killed for bank in banks)
    assert any(bank.sums for bank in banks)


def test_a_seed_gives_the_same_run_again() -> None:
    runs = [run_bank(7, ROUGH, with_changes=True) for _ in range(2)]
    assert runs[0].transfers == runs[1].transfers
    assert runs[0].sums == runs[1].sums
    assert runs[0].clock.now() == runs[1].clock.now()
