"""Totals that processes exchange through rows, also on an engine that plays a cluster."""

import asyncio

import pytest

from hashrange.engine.memory.cluster import DEFAULT_SHARDS, ClusterMemoryEngine
from hashrange.engine.memory.engine import MemoryEngine
from hashrange.engine.memory.faults import FaultPlan
from hashrange.storage.row_totals import RowTotals

LEVEL = (10.0, 1000.0)


def stale_engine():
    """Return an engine whose eventual reads of every store may be stale."""
    return ClusterMemoryEngine(FaultPlan(3, is_stale_store=lambda store: True), DEFAULT_SHARDS)


@pytest.mark.parametrize("make_engine", [MemoryEngine, stale_engine])
def test_in_the_end_every_process_knows_what_the_others_took(make_engine):
    async def run():
        engine = make_engine()
        one, two = RowTotals(engine), RowTotals(engine)
        await one.exchange(0.0)
        await two.exchange(0.0)
        for second in range(1, 50):
            one.add("a", 1.0, LEVEL)
            two.add("a", 10.0, LEVEL)
            await one.exchange(second)
            await two.exchange(second)
            assert one.others("a") <= 10.0 * second
            assert two.others("a") <= 1.0 * second
        for second in range(50, 150):
            await one.exchange(second)
            await two.exchange(second)
        return one.others("a"), two.others("a")

    assert asyncio.run(run()) == (490.0, 49.0)


def test_what_was_taken_before_a_process_began_does_not_count():
    async def run():
        engine = MemoryEngine()
        old = RowTotals(engine)
        old.add("a", 100.0, LEVEL)
        await old.exchange(0.0)
        new = RowTotals(engine)
        await new.exchange(1.0)
        old.add("a", 5.0, LEVEL)
        await old.exchange(2.0)
        await new.exchange(2.0)
        assert new.level("a") == LEVEL
        assert new.level("b") is None
        return new.others("a")

    assert asyncio.run(run()) == 5.0


def test_the_rows_of_processes_that_are_gone_are_deleted():
    async def run():
        engine = MemoryEngine()
        gone, here = RowTotals(engine), RowTotals(engine)
        gone.add("a", 1.0, LEVEL)
        await gone.exchange(0.0)
        await here.exchange(0.0)
        await here.exchange(4000.0)
        rows, _ = await engine.range(
            "capacity",
            0,
            b"",
            b"\xff" * 9,
            reverse=False,
            rows_max=10,
            bytes_max=10_000,
            consistency=0,
        )
        return len(rows)

    assert asyncio.run(run()) == 1
