"""The cluster engine keeps the contract's promises in spite of its faults, and no others."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence

import pytest

from hashrange.engine.base import EVENTUAL, STRONG, Changes, Fence, RowKey
from hashrange.engine.memory.cluster import ClusterMemoryEngine
from hashrange.engine.memory.faults import NO_FAULTS, FaultPlan, Rates
from hashrange.errors import EngineError, StaleVersionError, UnknownOutcomeError

LAST = b"\xff" * 40
UNBOUNDED = 1 << 40
SEEDS = range(20)

Rows = Sequence[bytes | None]


class Step:
    """A decision made of its keys and a function of the rows."""

    def __init__(
        self, keys: Sequence[RowKey], decide: Callable[[Rows], Changes], fences: Sequence[Fence]
    ) -> None:
        self.keys = keys
        self.fences = fences
        self.decide = decide


def step(
    *,
    puts: Sequence[tuple[str, int, bytes, bytes]] = (),
    deletes: Sequence[RowKey] = (),
    appends: Sequence[tuple[str, int, bytes, bytes]] = (),
    fences: Sequence[Fence] = (),
    keys: Sequence[RowKey] = (("t", 0, b""),),
    **lists: Sequence[object],
) -> Step:
    """Return a decision that does these things whatever the rows."""

    def decide(rows: Rows) -> Changes:
        changes = Changes()
        changes.puts.extend(puts)
        changes.deletes.extend(deletes)
        changes.appends.extend(appends)
        for name, members in lists.items():
            getattr(changes, name).extend(members)
        return changes

    return Step(keys, decide, fences)


def increment(shard: int, *keys: bytes) -> Step:
    """Return a decision that adds one to counters of one shard; outcome: the first."""

    def decide(rows: Rows) -> Changes:
        counts = [int(row or b"0") + 1 for row in rows]
        changes = Changes(counts[0])
        changes.puts = [
            ("t", shard, key, b"%d" % count) for key, count in zip(keys, counts, strict=True)
        ]
        changes.appends.append(("t.log", shard, b"r", b"%d" % counts[0]))
        return changes

    return Step([("t", shard, key) for key in keys], decide, ())


async def made(plan: FaultPlan | None = None) -> ClusterMemoryEngine:
    engine = ClusterMemoryEngine(plan)
    with contextlib.suppress(UnknownOutcomeError):
        await engine.write(step(creates=["t", "t.log", "u", "t.x"]))
    return engine


def calm() -> FaultPlan:
    return FaultPlan(0, NO_FAULTS)


async def rows_of(
    engine: ClusterMemoryEngine, store: str, shard: int = 0, consistency: int = STRONG
) -> list[tuple[bytes, bytes]]:
    rows, ended = await engine.range(
        store,
        shard,
        b"",
        LAST,
        reverse=False,
        rows_max=UNBOUNDED,
        bytes_max=UNBOUNDED,
        consistency=consistency,
    )
    assert ended
    return rows


@pytest.mark.parametrize("seed", SEEDS)
async def test_no_update_is_lost_and_none_is_made_twice(seed: int) -> None:
    engine = await made(FaultPlan(seed, Rates(conflict=0.2, no_answer=0.3, delay=0.4)))

    async def work(shard: int) -> list[object]:
        return [await engine.write(increment(shard, b"n", b"m")) for _ in range(10)]

    outcomes = await asyncio.gather(*(work(worker % 2) for worker in range(8)))
    for shard in range(2):
        told = sorted(int(str(n)) for lane in outcomes[shard::2] for n in lane)
        assert told == list(range(1, 41))
        assert await rows_of(engine, "t", shard) == [(b"m", b"40"), (b"n", b"40")]
        log = await rows_of(engine, "t.log", shard)
        assert [int(value) for _, value in log] == list(range(1, 41))


async def test_unsettled_answers_are_unknown_outcomes_of_both_kinds() -> None:
    engine = await made(FaultPlan(1, Rates(conflict=0, no_answer=0.5, unsettled=1.0)))
    unknown = told = 0
    for _ in range(100):
        try:
            await engine.write(increment(0, b"n"))
            told += 1
        except UnknownOutcomeError:
            unknown += 1
    [row] = await engine.read([("t", 0, b"n")], STRONG)
    assert told < int(row or b"0") < told + unknown


async def test_the_same_seed_gives_the_same_history() -> None:
    async def history() -> list[object]:
        engine = await made(FaultPlan(7, Rates(unsettled=0.3)))
        tasks = [engine.write(increment(n % 3, b"n")) for n in range(60)]
        answers = await asyncio.gather(*tasks, return_exceptions=True)
        reads = [await engine.read([("t", n % 3, b"n")], EVENTUAL) for n in range(30)]
        return [*map(repr, answers), *reads]

    assert await history() == await history()


async def test_a_decision_that_reaches_beyond_its_shard_is_a_bug() -> None:
    engine = await made(calm())
    for mistaken in (
        step(keys=[("t", 0, b"a"), ("t", 1, b"a")]),
        step(keys=[("t", 0, b"a"), ("u", 0, b"a")]),
        step(keys=[]),
        step(puts=[("t", 1, b"k", b"v")]),
        step(deletes=[("u", 0, b"k")]),
        step(appends=[("t.log", 2, b"", b"v")]),
        step(fences=[("u", 1)]),
    ):
        with pytest.raises(AssertionError):
            await engine.write(mistaken)


async def test_an_impure_decision_is_found() -> None:
    engine = await made(FaultPlan(0, Rates(repeat=1.0)))
    calls = iter(range(10))

    def decide(rows: Rows) -> Changes:
        changes = Changes()
        changes.puts.append(("t", 0, b"n", b"%d" % next(calls)))
        return changes

    with pytest.raises(AssertionError, match="not pure"):
        await engine.write(Step([("t", 0, b"n")], decide, ()))


async def test_strong_reads_see_what_was_acknowledged_and_eventual_ones_lag_within_bounds() -> None:
    engine = await made(FaultPlan(3, Rates(stale=0.5)))
    lags = []
    for number in range(1, 101):
        await engine.write(increment(0, b"n"))
        assert await engine.read([("t", 0, b"n")], STRONG) == [b"%d" % number]
        assert dict(await rows_of(engine, "t"))[b"n"] == b"%d" % number
        [stale] = await engine.read([("t", 0, b"n")], EVENTUAL)
        lags.append(number - int(stale or b"0"))
        page = await rows_of(engine, "t", consistency=EVENTUAL)
        lags.append(number - int(dict(page).get(b"n", b"0")))
    assert min(lags) == 0
    assert 0 < max(lags) <= 8


async def test_a_stale_range_shows_deleted_rows_and_hides_new_ones() -> None:
    engine = await made(FaultPlan(3, Rates(0, 0, 0, 0, 0, stale=1.0)))
    await engine.write(step(puts=[("t", 0, b"old", b"1")]))
    for _ in range(8):
        await engine.write(step())
    await engine.write(step(puts=[("t", 0, b"new", b"1")], deletes=[("t", 0, b"old")]))
    assert await rows_of(engine, "t", consistency=EVENTUAL) == [(b"old", b"1")]
    assert await rows_of(engine, "t") == [(b"new", b"1")]


async def test_a_fenced_shard_refuses_older_versions_and_others_do_not_notice() -> None:
    engine = await made(FaultPlan(5))
    await engine.write(step(fences=[("t", 1)]))
    await engine.fence("t", 2, 2)
    for shard, version in ((0, 1), (1, 1)):
        with pytest.raises(StaleVersionError):
            await engine.write(step(keys=[("t", shard, b"k")], fences=[("t", version)]))
    await engine.write(step(keys=[("t", 2, b"k")], fences=[("t", 1)]))
    await engine.write(step(keys=[("u", 0, b"k")], fences=[("u", 1)]))
    await engine.write(step(fences=[("t", 3)]))
    with pytest.raises(StaleVersionError):
        await engine.write(step(fences=[("t", 2)]))
    await engine.write(step())


async def test_a_decision_under_way_is_refused_once_its_shard_is_fenced() -> None:
    for seed in SEEDS:
        engine = await made(FaultPlan(seed, Rates(delay=0.7)))
        write = asyncio.create_task(
            engine.write(step(puts=[("t", 0, b"k", b"v")], fences=[("t", 1)]))
        )
        await asyncio.sleep(0)
        await engine.fence("t", 1, 2)
        [row] = await engine.read([("t", 0, b"k")], STRONG)
        answer = await asyncio.gather(write, return_exceptions=True)
        assert isinstance(answer[0], StaleVersionError) == (row is None)
        assert await engine.read([("t", 0, b"k")], STRONG) == [row]


async def test_the_higher_version_wins_a_merge_in_whatever_order() -> None:
    engine = await made(FaultPlan(2))
    await engine.merge("u", [(1, b"a", b"2", 2), (1, b"b", None, 5)])
    await engine.merge("u", [(1, b"a", b"1", 1), (1, b"b", b"late", 4), (1, b"c", b"1", 1)])
    assert await rows_of(engine, "u", 1) == [(b"a", b"2"), (b"c", b"1")]
    await engine.merge("u", [(1, b"b", b"6", 6), (1, b"a", None, 3)])
    assert await rows_of(engine, "u", 1) == [(b"b", b"6"), (b"c", b"1")]
    with pytest.raises(EngineError):
        await engine.merge("absent", [(0, b"k", b"v", 1)])


async def test_row_versions_differ_whenever_a_row_has_changed() -> None:
    engine = await made(FaultPlan(4))
    keys = [("t", 0, b"a"), ("t", 1, b"a")]
    seen = await engine.read_versions(keys)
    assert await engine.read_versions(keys) == seen
    for changing in (
        step(puts=[("t", 0, b"a", b"1")]),
        step(puts=[("t", 0, b"a", b"1")]),
        step(deletes=[("t", 0, b"a")]),
    ):
        await engine.write(changing)
        now = await engine.read_versions(keys)
        assert now[0][1] != seen[0][1]
        assert now[1] == seen[1]
        seen = now
    # Made and deleted again between two looks.
    await engine.write(step(puts=[("t", 0, b"a", b"1")]))
    await engine.write(step(deletes=[("t", 0, b"a")]))
    assert (await engine.read_versions(keys))[0] != seen[0]


async def test_numbers_are_per_shard_and_never_given_twice() -> None:
    engine = await made(FaultPlan(6))
    for shard in (0, 1, 0):
        keys = [("t", shard, b"")]
        await engine.write(step(keys=keys, appends=[("t.log", shard, b"p", b"")] * 2))
    number = [int.from_bytes(key[1:], "big") for key, _ in await rows_of(engine, "t.log", 0)]
    assert number == [1, 2, 3, 4]
    assert len(await rows_of(engine, "t.log", 1)) == 2
    await engine.write(step(drops=["t.log"]))
    await engine.write(step(creates=["t.log"], appends=[("t.log", 0, b"", b"")]))
    [(key, _)] = await rows_of(engine, "t.log", 0)
    assert int.from_bytes(key, "big") == 5


async def test_tallies_of_a_space_are_summed_over_its_shards() -> None:
    engine = await made(FaultPlan(8))
    for shard in range(3):
        tallies = [("t", 1, 10), ("u", 2, 5)]
        await engine.write(step(keys=[("t", shard, b"")], tallies=tallies))
    assert await engine.tally("t", 4, "t") == (3, 30)
    assert await engine.tally("t", 4, "u") == (6, 15)
    assert await engine.tally("u", 4, "u") == (0, 0)
    await engine.write(step(drops=["u"]))
    assert await engine.tally("t", 4, "u") == (0, 0)


async def test_changes_of_an_absent_store_refuse_the_whole_decision() -> None:
    engine = await made(calm())
    for mistaken in (
        step(puts=[("t", 0, b"k", b"v"), ("t.no", 0, b"k", b"v")]),
        step(puts=[("t", 0, b"k", b"v")], appends=[("t.no", 0, b"", b"v")]),
        step(puts=[("t", 0, b"k", b"v")], tallies=[("no", 1, 1)]),
    ):
        with pytest.raises(EngineError):
            await engine.write(mistaken)
    assert await rows_of(engine, "t") == []


async def test_a_watcher_wakes_when_something_is_appended_to_its_space() -> None:
    engine = await made(calm())
    seen = engine.appended("t")
    watcher = asyncio.create_task(engine.watch("t", seen, 30))
    await asyncio.sleep(0)
    assert not watcher.done()
    await engine.write(step(appends=[("t.log", 0, b"", b"")]))
    await watcher
    assert engine.appended("t") != seen
    await engine.watch("t", seen, 30)
    await engine.watch("u", engine.appended("u"), 0.001)


async def test_a_lease_has_one_holder_unless_it_is_lost() -> None:
    engine = await made(calm())
    lease = await engine.lease("work", 10)
    assert lease is not None
    assert lease.is_held
    assert await engine.lease("work", 10) is None
    await lease.release()
    assert not lease.is_held
    assert await engine.lease("work", 10) is not None
    faulty = await made(FaultPlan(0, Rates(lost_lease=1.0)))
    first, second = await faulty.lease("work", 10), await faulty.lease("work", 10)
    assert first is not None
    assert second is not None
    assert first.is_held
    await first.release()
    assert faulty.holder("work") is second


async def test_an_announced_change_moves_the_counter() -> None:
    engine = await made(calm())
    before = engine.counter()
    await engine.write(step(puts=[("t", 0, b"k", b"v")]))
    assert engine.counter() == before

    def decide(rows: Rows) -> Changes:
        changes = Changes()
        changes.is_announced = True
        return changes

    await engine.write(Step([("t", 0, b"k")], decide, ()))
    assert engine.counter() != before
