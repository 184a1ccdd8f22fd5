"""What the event loop waits for, and for how long."""

from __future__ import annotations

import pytest

from hashrange.engine import sqlite_patience
from hashrange.engine.sqlite_patience import Patience


@pytest.fixture(autouse=True)
def stopped_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_patience, "perf_counter", lambda: 0.0)


def test_a_batch_waits_until_it_is_as_large_as_the_last_one() -> None:
    patience = Patience(0.002)
    assert not patience.gathers(4)
    assert patience.gathers(1)
    assert patience.gathers(3)
    assert not patience.gathers(4)


def test_who_comes_alone_waits_for_a_bounded_time_and_in_the_end_not_at_all() -> None:
    patience = Patience(0.002)
    assert not patience.gathers(3)
    turns = []
    for _ in range(4):
        turns.append(0)
        while patience.gathers(1):
            turns[-1] += 1
    assert turns == [50, 50, 0, 0]


def test_turns_that_take_long_are_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    patience = Patience(0.002)
    assert not patience.gathers(4)
    assert patience.gathers(1)
    monkeypatch.setattr(sqlite_patience, "perf_counter", lambda: 0.003)
    assert not patience.gathers(1)


def test_a_burst_is_forgotten_soon() -> None:
    patience = Patience(0.002)
    assert not patience.gathers(10_000)
    assert not patience.gathers(64)
    writes = 0
    while patience.gathers(1):
        while patience.gathers(1):
            pass
        writes += 1
    assert writes < 64


def served(patience: Patience, arriving: int, lingering: int = 0) -> int:
    """Have a batch answered that so many begin; return how many turns the others had to come."""
    turns = 0
    while patience.gathers(arriving):
        turns += 1
        arriving += lingering
        lingering = 0
    patience.note_answers(arriving, waiting=0)
    return turns


def test_groups_that_take_turns_are_brought_together() -> None:
    patience = Patience(0.002)
    patience.note_clients(2)
    assert served(patience, 1) == 0
    assert served(patience, 1) == 0
    assert served(patience, 1, lingering=1) == 1
    # From now on they come together, and nobody else is expected.
    assert served(patience, 1, lingering=1) == 1
    assert served(patience, 2) == 0


def test_who_takes_turns_with_nobody_waits_less_and_less_often() -> None:
    patience = Patience(0.002)
    patience.note_clients(2)
    waits = [batch for batch in range(200) if served(patience, 1) > 0]
    assert waits == [2, 3, 5, 9, 17, 33, 65, 129, 193]


def test_a_trial_that_fails_does_not_raise_what_is_expected() -> None:
    patience = Patience(0.002)
    patience.note_clients(16)
    assert [served(patience, 4) for _ in range(6)] == [0, 0, 50, 50, 0, 50]


def test_no_more_are_expected_than_there_are_clients() -> None:
    patience = Patience(0.002)
    patience.note_clients(4)
    assert [served(patience, 4) for _ in range(4)] == [0, 0, 0, 0]


def test_the_turn_is_looked_for_a_bounded_number_of_times() -> None:
    patience = Patience(0.002)
    for _ in range(2):
        looked = 0
        while patience.seeks(is_found=False):
            looked += 1
        assert looked == 300
    assert not patience.seeks(is_found=True)


def test_a_disk_is_as_quick_as_its_commits_are_on_average() -> None:
    patience = Patience(0.002)
    assert patience.waits_for(1_000)
    assert not patience.waits_for(1_000_000)
    patience.note_commit(0.1)
    assert not patience.waits_for(1_000)
    assert not patience.gathers(5)
    assert not patience.gathers(1)
    assert not patience.seeks(is_found=False)
    for _ in range(30):
        patience.note_commit(0.0005)
    assert patience.waits_for(1_000)


def slow() -> Patience:
    patience = Patience(0.002)
    for _ in range(200):
        patience.note_commit(0.004)
    return patience


def test_on_a_slow_disk_a_batch_waits_for_those_who_were_just_answered() -> None:
    patience = slow()
    patience.note_answers(answered=3, waiting=2)
    assert patience.pause_seconds(2) == pytest.approx(0.002)
    assert not patience.is_complete(4)
    assert patience.is_complete(5)
    assert patience.pause_seconds(5) == 0
    patience.note_commit(2.0)
    assert patience.pause_seconds(2) == 0.01


def test_on_a_slow_disk_who_waited_in_vain_waits_less_and_less_often() -> None:
    patience = slow()
    patience.note_answers(answered=2, waiting=0)
    pauses = []
    for batch in range(200):
        if patience.pause_seconds(1) > 0:
            pauses.append(batch)
            patience.note_pause(1)
    assert pauses == [0, 1, 3, 7, 15, 31, 63, 127, 191]
    patience.note_pause(2)
    assert patience.pause_seconds(1) > 0


def test_on_a_quick_disk_nobody_pauses() -> None:
    patience = Patience(0.002)
    patience.note_answers(answered=9, waiting=0)
    assert patience.pause_seconds(1) == 0
