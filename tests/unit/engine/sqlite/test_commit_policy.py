"""What the event loop waits for, and for how long."""

from __future__ import annotations

import pytest

from hashrange.engine.sqlite import commit_policy
from hashrange.engine.sqlite.commit_policy import CommitPolicy


@pytest.fixture(autouse=True)
def stopped_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commit_policy, "perf_counter", lambda: 0.0)


def test_a_batch_waits_until_it_is_as_large_as_the_last_one() -> None:
    policy = CommitPolicy(0.002)
    assert not policy.gathers(4)
    assert policy.gathers(1)
    assert policy.gathers(3)
    assert not policy.gathers(4)


def test_who_comes_alone_waits_for_a_bounded_time_and_in_the_end_not_at_all() -> None:
    policy = CommitPolicy(0.002)
    assert not policy.gathers(3)
    turns = []
    for _ in range(4):
        turns.append(0)
        while policy.gathers(1):
            turns[-1] += 1
    assert turns == [50, 50, 0, 0]


def test_turns_that_take_long_are_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = CommitPolicy(0.002)
    assert not policy.gathers(4)
    assert policy.gathers(1)
    monkeypatch.setattr(commit_policy, "perf_counter", lambda: 0.003)
    assert not policy.gathers(1)


def test_a_burst_is_forgotten_soon() -> None:
    policy = CommitPolicy(0.002)
    assert not policy.gathers(10_000)
    assert not policy.gathers(64)
    writes = 0
    while policy.gathers(1):
        while policy.gathers(1):
            pass
        writes += 1
    assert writes < 64


def test_the_turn_is_looked_for_a_bounded_number_of_times() -> None:
    policy = CommitPolicy(0.002)
    for _ in range(2):
        looked = 0
        while policy.seeks(is_found=False):
            looked += 1
        assert looked == 300
    assert not policy.seeks(is_found=True)


def test_a_disk_is_as_quick_as_its_commits_are_on_average() -> None:
    policy = CommitPolicy(0.002)
    assert policy.waits_for(1_000)
    assert not policy.waits_for(1_000_000)
    policy.note_commit(0.1)
    assert not policy.waits_for(1_000)
    assert not policy.gathers(5)
    assert not policy.gathers(1)
    assert not policy.seeks(is_found=False)
    for _ in range(30):
        policy.note_commit(0.0005)
    assert policy.waits_for(1_000)


def slow() -> CommitPolicy:
    policy = CommitPolicy(0.002)
    for _ in range(200):
        policy.note_commit(0.004)
    return policy


def test_on_a_slow_disk_a_batch_waits_for_those_who_were_just_answered() -> None:
    policy = slow()
    policy.note_answers(answered=3, waiting=2)
    assert policy.pause_seconds(2) == pytest.approx(0.002)
    assert not policy.is_complete(4)
    assert policy.is_complete(5)
    assert policy.pause_seconds(5) == 0
    policy.note_commit(2.0)
    assert policy.pause_seconds(2) == 0.01


def test_on_a_slow_disk_who_waited_in_vain_waits_less_and_less_often() -> None:
    policy = slow()
    policy.note_answers(answered=2, waiting=0)
    pauses = []
    for batch in range(200):
        if policy.pause_seconds(1) > 0:
            pauses.append(batch)
            policy.note_pause(1)
    assert pauses == [0, 1, 3, 7, 15, 31, 63, 127, 191]
    policy.note_pause(2)
    assert policy.pause_seconds(1) > 0


def test_on_a_quick_disk_nobody_pauses() -> None:
    policy = CommitPolicy(0.002)
    policy.note_answers(answered=9, waiting=0)
    assert policy.pause_seconds(1) == 0
