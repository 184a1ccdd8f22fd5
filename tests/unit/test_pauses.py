"""Paused work goes on one slice at a time, and lets everything else go first."""

from __future__ import annotations

import asyncio
import threading

import pytest

from hashrange import pauses
from hashrange.pauses import (
    CROWD,
    TURNS_BETWEEN,
    CrowdedError,
    Lane,
    Pace,
    enter_lane,
    held_lane,
    in_thread,
    inline,
    off_loop,
    wait_for_turn,
)


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


def test_long_work_runs_in_a_thread_of_its_own_one_piece_at_a_time():
    running: list[int] = []

    def work(number: int) -> str:
        running.append(number)
        assert len(running) == 1
        running.clear()
        return threading.current_thread().name

    async def run() -> list[str]:
        return await asyncio.gather(*(off_loop(work, number) for number in range(20)))

    names = asyncio.run(run())
    assert len(set(names)) == 1
    assert names[0] != threading.current_thread().name


def test_long_work_that_fails_raises_where_it_is_awaited():
    async def run() -> None:
        await off_loop(int, "x")

    with pytest.raises(ValueError, match="invalid literal"):
        asyncio.run(run())


def test_without_an_event_loop_to_spare_long_work_is_done_at_once():
    def run() -> str:
        waiting = off_loop(lambda: threading.current_thread().name)
        with pytest.raises(StopIteration) as ended:
            waiting.send(None)
        return str(ended.value.value)

    assert run() == threading.current_thread().name

    async def run_inline() -> str:
        with inline():
            return run()

    assert asyncio.run(run_inline()) == threading.current_thread().name


def test_nothing_goes_on_while_the_lane_is_held():
    order: list[str] = []

    async def work(name: str) -> None:
        await wait_for_turn()
        order.append(name)

    async def run() -> None:
        async with held_lane():
            waiting = [asyncio.create_task(work(name)) for name in "ab"]
            for _ in range(5 * TURNS_BETWEEN):
                await asyncio.sleep(0)
            await in_thread(order.append, "thread")
        await asyncio.wait_for(asyncio.gather(*waiting), 30)
        await asyncio.wait_for(wait_for_turn(), 30)

    asyncio.run(run())
    assert order == ["thread", "a", "b"]


def test_a_first_pause_in_a_crowd_is_a_restart_and_a_later_one_is_not():
    async def run() -> bool:
        waiting = [asyncio.create_task(wait_for_turn()) for _ in range(CROWD)]
        await asyncio.sleep(0)
        pauses.end_resuming()
        with pytest.raises(CrowdedError):
            await Pace().pause_or_restart()
        pauses.begin_resuming(1)
        await Pace().pause_or_restart()
        pauses.end_resuming()
        await asyncio.wait_for(asyncio.gather(*waiting), 30)
        await Pace().pause_or_restart()
        return True

    assert asyncio.run(run())
