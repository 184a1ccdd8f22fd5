"""The memory engine misbehaves as an engine on a network would, when told to."""

from __future__ import annotations

import asyncio
import itertools

import pytest

from hashrange.engine.base import Changes
from hashrange.engine.memory.engine import Fault, MemoryEngine, PlannedFaults
from hashrange.errors import ConflictError, UnknownOutcomeError
from tests.engine.decisions import SHARD, Rows, Write, increment, plain
from tests.engine.reading import page, read


def engine_with(*writes: Fault | None) -> MemoryEngine:
    return MemoryEngine(PlannedFaults([None, *writes]))


async def count_after(engine: MemoryEngine) -> bytes | None:
    return (await read(engine, "t", b"n"))[0]


async def test_an_injected_conflict_applies_nothing() -> None:
    engine = engine_with(Fault.CONFLICT)
    await engine.write(plain(creates=["t"]))
    with pytest.raises(ConflictError):
        await engine.write(increment("t", b"n"))
    assert await count_after(engine) is None
    assert await engine.write(increment("t", b"n")) == 1


@pytest.mark.parametrize(
    ("fault", "count"), [(Fault.UNKNOWN_LOST, None), (Fault.UNKNOWN_APPLIED, b"1")]
)
async def test_an_unknown_answer_may_or_may_not_have_applied_the_write(
    fault: Fault, count: bytes | None
) -> None:
    engine = engine_with(fault)
    await engine.write(plain(creates=["t"]))
    with pytest.raises(UnknownOutcomeError):
        await engine.write(increment("t", b"n"))
    assert await count_after(engine) == count


async def test_delays_let_other_tasks_run_but_lose_no_update() -> None:
    engine = MemoryEngine(
        PlannedFaults(itertools.cycle([Fault.DELAY, None]), itertools.repeat(Fault.DELAY))
    )
    await engine.write(plain(creates=["t"]))
    await asyncio.gather(*(engine.write(increment("t", b"n")) for _ in range(50)))
    assert await count_after(engine) == b"50"
    assert await engine.read_together([("t", SHARD, b"n")]) == [b"50"]
    assert await page(engine, "t", rows_max=9, bytes_max=9) == ([(b"n", b"50")], True)


async def test_a_repeated_decision_applies_once_and_must_be_pure() -> None:
    engine = engine_with(Fault.REPEAT, Fault.REPEAT)
    await engine.write(plain(creates=["t"]))
    await engine.write(increment("t", b"n"))
    assert await count_after(engine) == b"1"
    calls = itertools.count()

    def decide(rows: Rows) -> Changes:
        changes = Changes()
        changes.puts.append(("t", SHARD, b"n", b"%d" % next(calls)))
        return changes

    with pytest.raises(AssertionError, match="not pure"):
        await engine.write(Write(decide))
