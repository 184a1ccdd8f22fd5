"""How jobs share the event loop: short pieces and long rests while others use it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from time import perf_counter

import pytest

from hashrange.services import job_pace
from hashrange.services.job_pace import BUSY_SECONDS, QUIET_SECONDS, REST_SHARE, Pace, Pieces
from tests.harness.loops import in_loop


class Processor:
    """The CPU time of the event loop's thread, as the test says it is."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seconds = 0.0
        monkeypatch.setattr(job_pace, "thread_time", lambda: self.seconds)

    @asynccontextmanager
    async def others(self) -> AsyncIterator[None]:
        """Have something else run in every turn of the event loop."""
        loop = asyncio.get_running_loop()
        is_over = False

        def run() -> None:
            self.seconds += 0.000_2
            if not is_over:
                loop.call_soon(run)

        loop.call_soon(run)
        try:
            yield
        finally:
            is_over = True

    async def work(self, pieces: Pieces, rows: int, row_seconds: float) -> None:
        """Work on a piece, and rest."""
        self.seconds += rows * row_seconds
        await pieces.rest(rows)


@pytest.fixture
def processor(monkeypatch: pytest.MonkeyPatch) -> Processor:
    return Processor(monkeypatch)


@pytest.fixture
def rests(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The rests that were taken, which take no time."""
    taken: list[float] = []
    sleep = asyncio.sleep

    async def note(seconds: float) -> None:
        if seconds:
            taken.append(seconds)
            end = perf_counter() + seconds
            while perf_counter() < end:
                pass
        await sleep(0)

    monkeypatch.setattr(asyncio, "sleep", note)
    return taken


@in_loop
async def test_a_piece_has_as_many_rows_as_fit_into_its_time(processor: Processor) -> None:
    pieces = Pace().pieces()
    for _ in range(100):
        await processor.work(pieces, pieces.rows(1000), 0.000_01)
    assert pieces.rows(1000) == pytest.approx(QUIET_SECONDS / 0.000_01, rel=0.1)
    assert pieces.rows(100) == 100
    async with processor.others():
        await processor.work(pieces, 100, 0.000_01)
    assert pieces.rows(100) == pytest.approx(BUSY_SECONDS / 0.000_01, rel=0.1)


@in_loop
async def test_costly_rows_make_small_pieces_but_not_tiny_ones(processor: Processor) -> None:
    pieces = Pace().pieces()
    async with processor.others():
        for _ in range(100):
            await processor.work(pieces, pieces.rows(320), 0.000_05)
        assert pieces.rows(320) == 20  # a sixteenth, though six would fit
        assert pieces.rows(1) == 1
        await processor.work(pieces, pieces.rows(320), 0.000_005)
        assert pieces.rows(320) == pytest.approx(BUSY_SECONDS / 0.000_005, rel=0.1)


@in_loop
async def test_pieces_grow_again_when_nobody_else_uses_the_loop(processor: Processor) -> None:
    pace = Pace()
    async with processor.others():
        await pace.rest()
    assert pace.is_busy
    for _ in range(20):
        await pace.rest()
    assert pace.piece_seconds == QUIET_SECONDS


@in_loop
async def test_a_job_rests_three_times_as_long_as_it_worked(
    processor: Processor, rests: list[float]
) -> None:
    pieces = Pace().pieces()
    worked = 0.0
    async with processor.others():
        for _ in range(200):
            rows = pieces.rows(100)
            worked += rows * 0.000_02
            await processor.work(pieces, rows, 0.000_02)
    assert sum(rests) >= REST_SHARE * worked * 0.8
    assert min(rests) >= 0.001


@in_loop
async def test_work_in_a_thread_is_not_counted_as_work_on_the_loop(processor: Processor) -> None:
    pace = Pace()

    async def wait_while_others_run() -> str:
        processor.seconds += 1.0
        return "done"

    processor.seconds += 0.25
    assert await pace.apart(wait_while_others_run()) == "done"
    assert pace.worked_seconds == 0.25


@in_loop
async def test_work_in_a_thread_makes_the_rest_of_a_busy_server_longer(
    processor: Processor, rests: list[float]
) -> None:
    pace = Pace()
    async with processor.others():
        await pace.rest()
        await pace.apart(asyncio.sleep(0.002))
        rests.clear()
        await pace.rest()
    assert sum(rests) == pytest.approx(0.003)


@in_loop
async def test_an_impatient_job_never_rests(processor: Processor, rests: list[float]) -> None:
    pieces = Pace(is_patient=False).pieces()
    async with processor.others():
        for _ in range(10):
            await processor.work(pieces, pieces.rows(1000), 0.001)
    assert pieces.rows(1000) == 1000
    assert rests == []
