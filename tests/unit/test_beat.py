"""Loops that rest for longer wake up together."""

import asyncio

import pytest

from hashrange import beat
from hashrange.beat import BEAT_SECONDS, Attention, next_beat, rest, seconds_to_beat


@pytest.fixture(params=[0.0, 0.001, 0.1, 0.2, 1000.249])
def now(request, monkeypatch):
    monkeypatch.setattr(beat, "monotonic", lambda: request.param)
    return request.param


@pytest.mark.parametrize("seconds", [BEAT_SECONDS, 1.0, 5.0])
def test_a_rest_ends_on_a_beat(now, seconds):
    ends_at = next_beat(seconds)
    assert ends_at % BEAT_SECONDS == 0
    assert abs(ends_at - now - seconds) <= BEAT_SECONDS / 2


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
    assert slept == [seconds_to_beat(1.0)] == [pytest.approx(0.9)]


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
