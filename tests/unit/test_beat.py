"""Loops that rest for longer wake up together."""

import asyncio

import pytest

from hashrange import beat
from hashrange.beat import BEAT_SECONDS, CALM_SECONDS, Attention, next_beat, rest, seconds_to_beat


@pytest.fixture(params=[0.0, 0.001, 0.1, 0.2, 1000.249])
def now(request, monkeypatch):
    monkeypatch.setattr(beat, "monotonic", lambda: request.param)
    return request.param


@pytest.mark.parametrize(
    ("seconds", "beat_seconds"),
    [(BEAT_SECONDS, BEAT_SECONDS), (0.5, BEAT_SECONDS), (1.0, CALM_SECONDS), (5.0, CALM_SECONDS)],
)
def test_a_rest_ends_on_a_beat_and_a_longer_one_on_a_slower_beat(now, seconds, beat_seconds):
    ends_at = next_beat(seconds)
    assert ends_at % beat_seconds == 0
    assert abs(ends_at - now - seconds) <= beat_seconds / 2


def test_a_loop_that_wakes_up_late_misses_no_beat(monkeypatch):
    monkeypatch.setattr(beat, "monotonic", lambda: 10 * BEAT_SECONDS + 0.002)
    assert next_beat(BEAT_SECONDS) == 11 * BEAT_SECONDS


def test_a_short_rest_is_exact(now):
    assert next_beat(0.01) == now + 0.01
    assert next_beat(0.0) == now


def test_sleeping_takes_until_the_beat(monkeypatch):
    slept = []

    async def sleep(seconds):
        slept.append(seconds)

    monkeypatch.setattr(beat, "monotonic", lambda: 0.1)
    monkeypatch.setattr(asyncio, "sleep", sleep)
    asyncio.run(rest(1.0))
    assert slept == [seconds_to_beat(1.0)] == [pytest.approx(0.9005)]


@pytest.mark.parametrize("fraction", [0.0001, 0.0004, 0.0006, 0.0009])
def test_loops_that_begin_to_rest_at_different_times_wake_up_in_one_millisecond(
    monkeypatch, fraction
):
    now = 100 + fraction
    monkeypatch.setattr(beat, "monotonic", lambda: now)
    # As an event loop does: from the whole millisecond that it is, after whole milliseconds.
    wakes_at = int(now * 1000) + round(seconds_to_beat(BEAT_SECONDS) * 1000)
    assert wakes_at == 100_250


def test_attention_lasts_for_a_while_after_each_change(monkeypatch):
    times = iter([0.0, 2.9, 3.1, 4.0, 6.9, 7.1])
    monkeypatch.setattr(beat, "monotonic", lambda: next(times))
    attention = Attention()
    assert [attention.pay(counter) for counter in (5, 5, 5, 6, 6, 6)] == [
        True,
        True,
        False,
        True,
        True,
        False,
    ]
