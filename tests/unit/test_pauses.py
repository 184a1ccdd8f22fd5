"""Paused work goes on one slice at a time, and lets everything else go first."""

from __future__ import annotations

import asyncio

from hashrange import pauses
from hashrange.pauses import TURNS_BETWEEN, Lane, Pace, enter_lane


def test_one_paused_coroutine_goes_on_at_a_time_and_others_have_turns_between():
    order: list[str] = []

    async def work(name: str) -> None:
        pace = Pace()
        for step in range(3):
            await pace.pause()
            order.append(f"{name}{step}")

    async def watch() -> None:
        while len(order) < 8:
            before = len(order)
            for _ in range(TURNS_BETWEEN):
                await asyncio.sleep(0)
            assert len(order) - before <= 1

    async def run() -> None:
        await asyncio.gather(work("a"), work("b"), work("c"), watch())

    asyncio.run(run())
    assert order == ["a0", "b0", "c0", "a1", "b1", "c1", "a2", "b2", "c2"]


def test_the_first_to_enter_does_not_wait_and_the_next_in_the_same_turn_does():
    async def run() -> tuple[int, int]:
        turns = 0

        async def count() -> None:
            nonlocal turns
            while True:
                await asyncio.sleep(0)
                turns += 1

        counter = asyncio.create_task(count())
        await enter_lane()
        first = turns
        await enter_lane()
        second = turns
        counter.cancel()
        return first, second

    first, second = asyncio.run(run())
    assert first == 0
    assert second > 0


def test_a_lane_that_is_empty_is_free_again():
    async def run() -> None:
        lane = Lane(asyncio.get_running_loop())
        assert lane.enter()
        assert not lane.enter()
        await lane.queue()
        assert not lane.enter()
        for _ in range(TURNS_BETWEEN + 2):
            await asyncio.sleep(0)
        assert lane.enter()

    asyncio.run(run())


def test_a_cancelled_coroutine_does_not_stop_those_behind_it():
    async def run() -> None:
        waiting = [asyncio.create_task(Pace().pause()) for _ in range(3)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        await asyncio.wait_for(asyncio.gather(*waiting[1:]), 5)

    asyncio.run(run())


def test_a_slice_is_over_after_its_time(monkeypatch):
    now = 100.0
    monkeypatch.setattr(pauses, "perf_counter", lambda: now)
    pace = Pace()
    assert not pace.is_over()
    now += pauses.SLICE_SECONDS * 1.5
    assert pace.is_over()
