"""Target tracking: when capacity changes, and to what; a recorded day as a simulation."""

import math

import pytest

from hashrange.capacity.stores import CapacityStore, Provided
from hashrange.scaling.target_tracking import (
    Tracking,
    high_threshold,
    is_cooling,
    low_threshold,
    wanted_capacity,
)

SEVENTY = Tracking(70.0, 5, 1000)


@pytest.mark.parametrize(
    ("target", "high", "low"), [(50.0, 30.0, 18.0), (70.0, 42.0, 30.0), (20.0, 12.0, 0.0)]
)
def test_thresholds_of_one_unit_are_those_of_real_alarms(target, high, low):
    assert high_threshold(target, 1) == pytest.approx(high)
    assert low_threshold(target, 1) == pytest.approx(low)


def test_two_minutes_above_the_target_raise_the_capacity():
    # The example of the documentation: 150 units a second at 70 % need 215.
    assert wanted_capacity(SEVENTY, 100, [9000.0, 9000.0]) == ("out", 215)
    assert wanted_capacity(SEVENTY, 100, [4000.0, 9000.0]) is None
    assert wanted_capacity(SEVENTY, 100, [9000.0]) is None
    assert wanted_capacity(SEVENTY, 100, [4200.0, 4200.0]) is None


def test_fifteen_minutes_far_below_the_target_lower_the_capacity():
    assert wanted_capacity(SEVENTY, 100, [600.0] * 15) == ("in", 15)
    assert wanted_capacity(SEVENTY, 100, [600.0] * 14) is None
    assert wanted_capacity(SEVENTY, 100, [3000.0] + [600.0] * 14) is None
    assert wanted_capacity(SEVENTY, 100, [3100.0] + [600.0] * 15) == ("in", 15)


def test_the_highest_minute_decides_how_far_capacity_is_lowered():
    assert wanted_capacity(SEVENTY, 100, [60.0] * 14 + [2100.0]) == ("in", 50)


def test_bounds_are_kept():
    assert wanted_capacity(SEVENTY, 900, [90_000.0] * 2) == ("out", 1000)
    assert wanted_capacity(SEVENTY, 1000, [90_000.0] * 2) is None
    assert wanted_capacity(SEVENTY, 100, [0.0] * 15) == ("in", 5)
    assert wanted_capacity(SEVENTY, 5, [0.0] * 15) is None


def test_scaling_in_can_be_disabled():
    tracking = Tracking(70.0, 5, 1000, scales_in=False)
    assert wanted_capacity(tracking, 100, [0.0] * 15) is None


def test_a_cool_down_holds_back_changes_in_its_direction():
    tracking = Tracking(70.0, 5, 1000, out_cooldown=60.0, in_cooldown=600.0)
    last = {"out": 1000.0, "in": 1000.0}
    assert is_cooling(tracking, "out", last, 1059.0)
    assert not is_cooling(tracking, "out", last, 1060.0)
    assert is_cooling(tracking, "in", last, 1500.0)
    assert not is_cooling(tracking, "out", {"in": 1059.0}, 1060.0)


def demand_at(minute):
    """Return the units a second asked for in a minute of a day: quiet nights, a sale at eight."""
    wave = 200 + 180 * math.sin((minute / 1440 - 0.3) * 2 * math.pi)
    return wave * (3 if 1200 <= minute < 1260 else 1)


def test_a_recorded_day_is_followed_with_little_throttled_and_little_wasted():
    capacity = 100
    store = CapacityStore(Provided(capacity, capacity), 0.0)
    consumed: list[float] = []
    asked = throttled = provisioned = 0.0
    changes = []
    for minute in range(1440):
        taken = 0.0
        for second in range(60):
            now = minute * 60.0 + second
            units = demand_at(minute)
            asked += units
            for _ in range(10):
                if store.refusal(None, "write", now) == "admitted":
                    store.charge(None, "write", units / 10, now)
                    taken += units / 10
                else:
                    throttled += units / 10
        consumed.append(taken)
        provisioned += capacity * 60
        wanted = wanted_capacity(SEVENTY, capacity, consumed)
        if wanted is not None:
            changes.append((minute, *wanted))
            capacity = wanted[1]
            store.provide(Provided(capacity, capacity), (minute + 1) * 60.0)
    assert throttled / asked < 0.01
    # A fixed capacity for the peak would be 1,140 units all day.
    assert provisioned / 86_400 < 500
    assert 1.1 < provisioned / asked < 2.0
    directions = [direction for _, direction, _ in changes]
    # Capacity can be lowered 27 times a day.
    assert 0 < directions.count("in") <= 27
    assert directions.count("out") > 0
