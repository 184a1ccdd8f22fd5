"""Token buckets, alone and shared by processes."""

import random

import pytest

from hashrange.capacity.buckets import SharedBucket, TokenBucket


def test_a_bucket_fills_at_its_rate_up_to_its_capacity():
    bucket = TokenBucket(10, 50)
    bucket.take(50)
    assert not bucket.has_units(0)
    assert bucket.has_units(1)
    bucket.has_units(100)
    assert bucket.tokens == 50


def test_a_request_larger_than_the_rest_is_admitted_once():
    bucket = TokenBucket(10, 10)
    assert bucket.has_units(0)
    bucket.take(35)
    assert not bucket.has_units(2)
    assert bucket.has_units(3)


def test_a_clock_that_goes_back_changes_nothing():
    bucket = TokenBucket(10, 10, now=100.0)
    bucket.take(10)
    assert not bucket.has_units(50.0)
    assert not bucket.has_units(100.0)
    assert bucket.has_units(100.1)


def test_units_of_requests_ahead_count():
    bucket = TokenBucket(1, 10)
    assert bucket.has_units(0, ahead=9)
    assert not bucket.has_units(0, ahead=10)


def test_a_lower_rate_takes_stored_units_away_and_a_higher_one_brings_none():
    bucket = TokenBucket(10, 3000)
    bucket.set_rate(1, 300)
    assert bucket.tokens == 300
    bucket.set_rate(100, 30_000)
    assert bucket.tokens == 300


class Ledger:
    """Totals of several processes of this test, without delay."""

    def __init__(self, totals, process, levels=None):
        self.totals = totals
        self.levels = {} if levels is None else levels
        self.process = process

    def add(self, name, units, level):
        self.totals[self.process] = self.totals.get(self.process, 0.0) + units
        self.levels[self.process] = level

    def level(self, name):
        return max(self.levels.values(), key=lambda level: level[1], default=None)

    def others(self, name):
        return sum(units for process, units in self.totals.items() if process != self.process)


@pytest.mark.parametrize("seed", range(5))
def test_processes_together_take_what_one_bucket_would_give(seed):
    chance = random.Random(seed)
    totals: dict[int, float] = {}
    copies = [SharedBucket(TokenBucket(10, 300), "b", Ledger(totals, n)) for n in range(3)]
    # A naive model: one bucket for all, filled a little at a time.
    level, last, taken, fair = 300.0, 0.0, 0.0, 0.0
    now = 0.0
    for _ in range(5000):
        now += chance.expovariate(30.0)
        for each in copies:
            each.has_units(now)  # the look of an idle process
        units = chance.choice([0.5, 1, 4])
        copy = chance.choice(copies)
        if copy.has_units(now):
            copy.take(units)
            taken += units
        level = min(300.0, level + (now - last) * 10)
        last = now
        if level > 0:
            level -= units
            fair += units
    assert taken == pytest.approx(fair, rel=0.01)
    assert taken <= 300 + 10 * now + 4


def test_a_process_that_did_not_look_holds_less_never_more():
    totals: dict[int, float] = {}
    busy, idle = (SharedBucket(TokenBucket(1, 300), "b", Ledger(totals, n)) for n in range(2))
    for second in range(600):
        assert busy.has_units(second)
        busy.take(1)
    assert not idle.has_units(600, ahead=1)


def test_an_idle_process_that_looks_goes_by_the_level_of_a_busy_one():
    totals: dict[int, float] = {}
    levels: dict[int, tuple[float, float]] = {}
    busy, idle = (SharedBucket(TokenBucket(10, 10), "b", Ledger(totals, n, levels)) for n in (0, 1))
    for second in range(20):
        assert busy.has_units(second)
        busy.take(8)
        if second % 5 == 4:
            # Its own account alone would be 40 units against 10 that it held.
            assert idle.has_units(second, ahead=1)
            assert not idle.has_units(second, ahead=2)


def test_a_process_that_comes_later_begins_with_what_the_others_left():
    totals: dict[int, float] = {}
    levels: dict[int, tuple[float, float]] = {}
    first = SharedBucket(TokenBucket(1, 300, 1000.0), "b", Ledger(totals, 0, levels))
    assert first.has_units(1000.0)
    first.take(290.0)
    later = SharedBucket(TokenBucket(1, 300, 1005.0), "b", Ledger(totals, 1, levels))
    assert later.has_units(1005.0, ahead=14)
    assert not later.has_units(1005.0, ahead=15)
