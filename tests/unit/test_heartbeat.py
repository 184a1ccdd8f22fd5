"""A worker is taken for hanging when it was silent for several looks, and not before it began."""

import asyncio

from hashrange.heartbeat import Heartbeats

LOOKS = 20


def looks_until_hang(heartbeats: Heartbeats) -> int:
    return next((look for look in range(LOOKS) if heartbeats.hangs(0)), LOOKS)


def test_a_worker_that_has_not_begun_does_not_hang() -> None:
    assert looks_until_hang(Heartbeats(2)) == LOOKS


def test_a_silent_worker_hangs_after_some_looks_and_a_beating_one_never() -> None:
    heartbeats = Heartbeats(2)
    loop = asyncio.new_event_loop()
    heartbeats.beat(0, loop)
    assert 0 < looks_until_hang(heartbeats) < LOOKS
    heartbeats.start(0)
    for _ in range(LOOKS):
        heartbeats.beat(0, loop)
        assert not heartbeats.hangs(0)
    loop.close()
