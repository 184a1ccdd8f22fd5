"""The Cassandra engine: processes that compete, answers that get lost, stores that come and go.

Without --cassandra the cluster is played in memory; with it, a real one is used, which loses
nothing by itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from hashrange.engine.base import EVENTUAL, STRONG, Changes, Engine, RowKey
from hashrange.engine.cassandra import group_commit
from hashrange.engine.cassandra.engine import CassandraEngine
from hashrange.engine.cassandra.row_reads import RowReads
from hashrange.engine.cassandra.shard_state import was_applied
from hashrange.errors import EngineError, StaleVersionError
from tests.engine.decisions import Write, increment, plain, put
from tests.engine.reading import SECONDS_MAX, rows_of, until
from tests.harness.cassandra import cassandra_engine
from tests.harness.played_cassandra import PlayedCassandra

SEEDS = range(8)
Opening = Callable[[], CassandraEngine]


@pytest.fixture(params=SEEDS)
def opening(request: pytest.FixtureRequest) -> Opening:
    """Opens processes on one cluster, which is empty at first; played ones lose answers."""
    if points := request.config.getoption("--cassandra"):
        if request.param:
            pytest.skip("a real cluster has no seeds")
        prefix = f"x{uuid.uuid4().hex[:12]}"
        return lambda: cassandra_engine(points, prefix)
    return PlayedCassandra(request.param, no_answer=0.2, uneven=0.3).engine


@contextlib.asynccontextmanager
async def processes(opening: Opening, count: int = 2):
    engines = [opening() for _ in range(count)]
    try:
        yield engines
    finally:
        for engine in engines:
            await engine.close()


async def test_processes_lose_no_update_and_make_none_twice(opening: Opening) -> None:
    async with processes(opening, 3) as engines:
        await engines[0].write(plain(creates=["t"]))

        async def work(engine: Engine) -> list[object]:
            return [await engine.write(increment("t", b"n", b"m")) for _ in range(8)]

        told = await asyncio.gather(*(work(engine) for engine in engines for _ in range(2)))
        assert sorted(int(str(n)) for lane in told for n in lane) == list(range(1, 49))
        assert await rows_of(engines[0]) == [(b"m", b"48"), (b"n", b"48")]


async def increment_three_rows(opening: Opening) -> bool:
    """Have three processes increment rows of one shard in turns; tell whether none was lost."""
    async with processes(opening, 3) as engines:
        await engines[0].write(plain(creates=["t"]))
        keys = (b"a", b"b", b"c")

        async def work(engine: Engine, first: int) -> None:
            for n in range(first, first + 12):
                await engine.write(increment("t", keys[n % 3]))

        await asyncio.gather(*(work(engine, n) for n, engine in enumerate(engines)))
        return await rows_of(engines[0]) == [(key, b"12") for key in keys]


async def follow_appends(opening: Opening) -> list[int]:
    """Have one process read what two others append; return the numbers of the rows."""
    async with processes(opening, 3) as engines:
        await engines[0].write(plain(creates=["t"]))

        async def append(engine: Engine) -> None:
            for _ in range(15):
                await engine.write(plain(appends=[("t", b"", b"v")]))

        async def follow() -> list[int]:
            found: list[int] = []
            writing = [asyncio.create_task(append(engine)) for engine in engines[:2]]
            while True:
                has_ended = all(task.done() for task in writing)
                lower = (found[-1] + 1 if found else 0).to_bytes(8, "big")
                rows, _ = await engines[2].range(
                    "t",
                    0,
                    lower,
                    b"\xff" * 9,
                    reverse=False,
                    rows_max=5,
                    bytes_max=1 << 20,
                    consistency=STRONG,
                )
                found += [int.from_bytes(key, "big") for key, _ in rows]
                if has_ended and not rows:
                    return found

        return await follow()


async def test_steps_on_other_rows_hide_no_update(opening: Opening) -> None:
    """A view that shows a step shows all steps before it, also those that were made meanwhile."""
    assert await increment_three_rows(opening)


async def test_a_reader_that_sees_a_row_has_seen_all_rows_appended_before(
    opening: Opening,
) -> None:
    seen = await follow_appends(opening)
    assert seen == list(range(seen[0], seen[0] + 30))


async def test_reads_with_gaps_between_steps_would_lose_updates_and_rows(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """The planted fault: whatever replicas answer counts."""
    if request.config.getoption("--cassandra"):
        pytest.skip("a real cluster reads unevenly when it likes")

    async def ask_once(self: RowReads, place: object, ask: Any, newest_step: object) -> Any:
        return await ask()

    monkeypatch.setattr(RowReads, "whole", ask_once)
    clusters = [PlayedCassandra(seed, uneven=0.3) for seed in SEEDS]
    assert not all([await increment_three_rows(cluster.engine) for cluster in clusters])
    clusters = [PlayedCassandra(seed, uneven=0.3) for seed in SEEDS]
    assert any([len(await follow_appends(cluster.engine)) < 30 for cluster in clusters])


async def test_deciding_again_before_a_lost_batch_is_settled_would_repeat_writes(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """The planted fault: a batch without an answer counts as not applied."""
    if request.config.getoption("--cassandra"):
        pytest.skip("a real cluster loses no answers by itself")

    async def give_up(*_: object) -> bool:
        return False

    monkeypatch.setattr(group_commit.ShardWriter, "_settle", give_up)
    is_found = False
    for seed in SEEDS:
        engine = PlayedCassandra(seed, no_answer=0.3).engine()
        await engine.write(plain(creates=["t"]))
        for _ in range(20):
            await engine.write(increment("t", b"n"))
        is_found = is_found or await rows_of(engine) != [(b"n", b"20")]
        await engine.close()
    assert is_found


async def test_a_fence_of_one_process_refuses_decisions_of_another(opening: Opening) -> None:
    async with processes(opening) as (first, second):
        await first.write(plain(creates=["t"]))
        await second.write(plain(puts=[("t", b"a", b"")], fences=[("t", 1)]))
        await first.fence("t", 4, 2)
        before = second.counter()
        with pytest.raises(StaleVersionError):
            await second.write(plain(puts=[("t", b"b", b"")], fences=[("t", 1)]))
        assert second.counter() != before
        await second.write(plain(puts=[("t", b"c", b"")], fences=[("t", 2)]))
        assert [key for key, _ in await rows_of(first)] == [b"a", b"c"]


async def test_a_process_sees_what_another_has_written_made_and_dropped(opening: Opening) -> None:
    async with processes(opening) as (first, second):
        await first.write(plain(creates=["t", "t.x"]))
        await second.write(put("t.x", b"k", b"old"))
        await first.write(plain(drops=["t.x"]))
        await first.write(plain(creates=["t.x"], raises=[("t", 1)]))
        # A decision built on the version that was announced with the new store writes there.
        await second.write(plain(puts=[("t.x", b"l", b"new")], fences=[("t", 1)]))
        assert await rows_of(first, "t.x") == [(b"l", b"new")]
        assert await second.read([("t.x", 0, b"k")], STRONG) == [None]


async def test_a_store_made_again_is_found_once_that_was_announced(opening: Opening) -> None:
    async with processes(opening) as (first, second):
        await first.write(plain(creates=["t.x"], puts=[("t.x", b"k", b"old")], announced=True))
        assert await second.read([("t.x", 0, b"k")], STRONG) == [b"old"]
        await first.write(plain(drops=["t.x"]))
        seen = second.counter()
        await first.write(plain(creates=["t.x"], puts=[("t.x", b"l", b"new")], announced=True))
        await until(lambda: second.counter() != seen)
        assert await second.read([("t.x", 0, b"k"), ("t.x", 0, b"l")], STRONG) == [None, b"new"]


async def test_announcements_and_appends_reach_other_processes(opening: Opening) -> None:
    async with processes(opening) as (first, second):
        seen, mark = second.counter(), second.appended("t")
        await first.write(plain(creates=["t"], announced=True))
        await until(lambda: second.counter() != seen)
        watching = asyncio.create_task(second.watch("t", mark, 60))
        await first.write(plain(appends=[("t", b"", b"v")]))
        await asyncio.wait_for(watching, SECONDS_MAX)
        assert second.appended("t") != mark


async def test_row_versions_differ_whenever_a_row_has_changed(opening: Opening) -> None:
    async with processes(opening) as (first, second):
        await first.write(plain(creates=["t"]))
        keys: Sequence[RowKey] = [("t", 0, b"a"), ("t", 1, b"a")]
        seen = await second.read_versions(keys)
        for changing in (
            put("t", b"a", b"1"),
            put("t", b"a", b"1"),
            plain(deletes=[("t", b"a")]),
        ):
            await first.write(changing)
            now = await second.read_versions(keys)
            assert now[0] != seen[0]
            assert now[1] == seen[1]
            assert await second.read_versions(keys) == now
            seen = now


async def test_the_higher_version_wins_a_merge_in_whatever_order(opening: Opening) -> None:
    async with processes(opening) as (first, second):
        await first.write(plain(creates=["u"]))
        await first.merge("u", [(0, b"a", b"2", 2), (0, b"b", None, 5)])
        await second.merge("u", [(0, b"a", b"1", 1), (0, b"b", b"late", 4), (0, b"c", b"1", 1)])
        assert await rows_of(first, "u") == [(b"a", b"2"), (b"c", b"1")]
        await second.merge("u", [(0, b"b", b"6", 6), (0, b"a", None, 3)])
        assert await rows_of(first, "u") == [(b"b", b"6"), (b"c", b"1")]
        with pytest.raises(EngineError):
            await first.merge("absent", [(0, b"k", b"v", 1)])


async def test_a_step_that_does_not_fit_leaves_the_rest_to_the_next(opening: Opening) -> None:
    async with processes(opening, 1) as (engine,):
        await engine.write(plain(creates=["t"]))
        large = bytes(400_000)
        await asyncio.gather(*(engine.write(put("t", b"%d" % n, large)) for n in range(10)))
        assert len(await rows_of(engine)) == 10
        assert engine.counts.steps > 3


async def test_rows_of_dropped_stores_are_deleted_in_the_background(opening: Opening) -> None:
    async with processes(opening, 1) as (engine,):
        await engine.write(plain(creates=["t", "t.x"]))
        await engine.write(plain(puts=[("t", b"k", b"1"), ("t.x", b"k", b"2")]))
        await engine.write(plain(drops=["t.x"]))
        assert await engine.tidy()
        assert not await engine.tidy()
        assert await rows_of(engine) == [(b"k", b"1")]
        assert await engine.write(increment("t", b"n")) == 1


async def test_a_queue_is_read_from_behind_what_was_deleted_in_front_of_it(
    opening: Opening,
) -> None:
    async with processes(opening) as (first, second):
        await first.write(plain(creates=["t"]))
        for _ in range(3):
            await first.write(plain(appends=[("t", b"", b"v")] * 100))
            gone = [("t", key) for key, _ in await rows_of(first)]
            await first.write(plain(deletes=gone))
        await first.write(plain(appends=[("t", b"", b"last")]))
        assert first.counts.floors_raised == 1
        for engine in (first, second):
            assert [value for _, value in await rows_of(engine)] == [b"last"]
        # A row below the floor lowers it, for processes that know the floor, too.
        await second.write(put("t", b"\x00", b"low"))
        for engine in (first, second):
            assert [value for _, value in await rows_of(engine)] == [b"low", b"last"]


async def test_health_tells_whether_cassandra_answers_and_what_was_counted(
    opening: Opening,
) -> None:
    async with processes(opening, 1) as (engine,):
        await engine.write(plain(creates=["t"], puts=[("t", b"k", b"v")]))
        is_well, details = engine.health()
        assert is_well
        assert details["engine"] == "cassandra"
        assert details["steps"] == 1


async def test_conditions_that_fail_are_answered_from_a_current_view(opening: Opening) -> None:
    async with processes(opening) as (first, second):
        await first.write(plain(creates=["t"], puts=[("t", b"k", b"1")]))

        def decide(rows: Sequence[bytes | None]) -> Changes:
            return Changes(rows[0])

        assert await second.write(Write(decide, [("t", 0, b"k")])) == b"1"
        await first.write(put("t", b"k", b"2"))
        assert await second.write(Write(decide, [("t", 0, b"k")])) == b"2"


async def test_rows_are_seen_while_changes_are_announced(opening: Opening) -> None:
    """Announcements have the lists of stores read again, also in the middle of a decision."""
    async with processes(opening, 1) as (engine,):
        await engine.write(plain(creates=["t", "u"], puts=[("t", b"k", b"1")]))
        seen: list[object] = []

        async def announce() -> None:
            while len(seen) < 40:
                await engine.write(plain(puts=[("u", b"k", b"")], announced=True))

        def tell(rows: Sequence[bytes | None]) -> Changes:
            return Changes(rows[0])

        async def look() -> None:
            while len(seen) < 40:
                seen.append(await engine.write(Write(tell, [("t", 0, b"k")])))

        await asyncio.gather(announce(), announce(), look())
        assert set(seen) == {b"1"}


async def test_reads_asked_at_once_share_statements(opening: Opening) -> None:
    async with processes(opening, 1) as (engine,):
        puts = [("t", b"%d" % n, b"%d" % n) for n in range(50)]
        await engine.write(plain(creates=["t"], puts=puts))
        for consistency in (EVENTUAL, STRONG):
            before = engine.counts.reads
            reading = [engine.read([("t", 0, b"%d" % n)], consistency) for n in range(50)]
            assert await asyncio.gather(*reading) == [[b"%d" % n] for n in range(50)]
            assert engine.counts.reads - before <= 25


def test_write_ids_tell_whether_a_write_was_applied() -> None:
    ids = [b"c", b"b", b"a"]  # of steps 7, 6 and 5
    assert was_applied(7, ids, 5, b"b") is True
    assert was_applied(7, ids, 5, b"x") is False
    assert was_applied(7, ids, 7, b"x") is False
    assert was_applied(7, ids, 3, b"x") is None
