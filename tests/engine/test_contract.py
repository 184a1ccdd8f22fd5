"""What every engine promises about rows, stores and decisions, checked on every engine.

Numbers of appended rows, versions of spaces and leases have modules of their own.
"""

from __future__ import annotations

import asyncio

import pytest

from hashrange.engine.base import EVENTUAL, STRONG, Changes, Engine
from hashrange.errors import EngineError
from tests.engine.decisions import SHARD, Rows, Write, increment, keys_of, plain, put, refuse
from tests.engine.reading import UNBOUNDED, page, read, rows_of, tally


async def test_an_absent_store_reads_as_empty(engine: Engine) -> None:
    for consistency in (EVENTUAL, STRONG):
        assert await engine.read([("t", SHARD, b"k")], consistency) == [None]
        keys = [("t", SHARD, b"k"), ("u", SHARD, b"k")]
        assert await engine.read(keys, consistency) == [None, None]
    assert await rows_of(engine) == []
    assert await tally(engine, "t") == (0, 0)


async def test_a_written_row_reads_back(engine: Engine) -> None:
    await engine.write(plain(creates=["t"]))
    await engine.write(put("t", b"k", b"v"))
    await engine.write(put("t", b"empty", b""))
    assert await read(engine, "t", b"k", b"absent", b"empty") == [b"v", None, b""]
    assert await read(engine, "t") == []


async def test_rows_of_several_spaces_are_read_in_one_call(engine: Engine) -> None:
    await engine.write(plain(creates=["t", "u"]))
    await engine.write(put("t", b"k", b"1"))
    await engine.write(put("u", b"k", b"2"))
    keys = [("u", SHARD, b"k"), ("t", SHARD, b"k"), ("u", SHARD, b"absent")]
    assert await engine.read(keys, STRONG) == [b"2", b"1", None]


async def test_rows_are_read_together_or_with_numbers_that_tell_of_changes(engine: Engine) -> None:
    await engine.write(plain(creates=["t"], puts=[("t", b"a", b"1"), ("t", b"b", b"2")]))
    keys = keys_of("t", [b"b", b"absent", b"a"])
    if engine.capabilities.snapshot_reads:
        assert await engine.read_together(keys) == [b"2", None, b"1"]
        return
    before = await engine.read_versions(keys)
    assert [row for row, _ in before] == [b"2", None, b"1"]
    assert await engine.read_versions(keys) == before
    await engine.write(put("t", b"a", b"1"))
    after = await engine.read_versions(keys)
    assert after[0] == before[0]
    assert after[2] != before[2]


async def test_outcome_is_returned(engine: Engine) -> None:
    outcome = object()
    assert await engine.write(plain(outcome=outcome)) is outcome


async def test_a_put_replaces_and_a_delete_removes(engine: Engine) -> None:
    await engine.write(plain(creates=["t"], puts=[("t", b"a", b"1"), ("t", b"b", b"2")]))
    await engine.write(plain(puts=[("t", b"a", b"3")], deletes=[("t", b"b"), ("t", b"absent")]))
    assert await rows_of(engine) == [(b"a", b"3")]


async def test_a_put_wins_over_a_delete_of_its_key_and_a_later_put_over_an_earlier(
    engine: Engine,
) -> None:
    await engine.write(plain(creates=["t"], puts=[("t", b"a", b"old")]))
    await engine.write(plain(puts=[("t", b"a", b"1"), ("t", b"a", b"2")], deletes=[("t", b"a")]))
    assert await rows_of(engine) == [(b"a", b"2")]


async def test_a_decision_sees_the_rows_it_names_in_order(engine: Engine) -> None:
    await engine.write(plain(creates=["t", "t.u"]))
    await engine.write(plain(puts=[("t", b"a", b"1"), ("t.u", b"b", b"2")]))
    seen: list[list[bytes | None]] = []

    def decide(rows: Rows) -> Changes:
        seen.append(list(rows))
        return Changes()

    named = [("t.u", b"b"), ("t", b"absent"), ("t", b"a"), ("t.absent", b"a"), ("t.u", b"b")]
    await engine.write(Write(decide, [(store, SHARD, key) for store, key in named]))
    assert seen[-1] == [b"2", None, b"1", None, b"2"]


async def test_rows_come_in_byte_order_whatever_the_order_of_writing(engine: Engine) -> None:
    keys = [b"\x80", b"", b"a", b"\xff", b"\x00\x00", b"ab", b"\x00", b"a\x00", b"\xff\x00"]
    await engine.write(plain(creates=["t"], puts=[("t", key, b"v") for key in keys]))
    assert [key for key, _ in await rows_of(engine)] == sorted(keys)


async def test_a_range_includes_its_lower_and_excludes_its_upper_bound(engine: Engine) -> None:
    keys = [b"a", b"b", b"c", b"d"]
    await engine.write(plain(creates=["t"], puts=[("t", key, key) for key in keys]))
    for reverse in (False, True):
        rows, ended = await page(engine, "t", lower=b"b", upper=b"d", reverse=reverse)
        assert rows == [(b"c", b"c"), (b"b", b"b")][:: 1 if reverse else -1]
        assert ended
    assert await page(engine, "t", lower=b"b", upper=b"b") == ([], True)
    assert await page(engine, "t", lower=b"d", upper=b"a") == ([], True)


async def test_a_range_stopped_by_a_bound_has_not_ended(engine: Engine) -> None:
    puts = [("t", b"%d" % number, b"12345") for number in range(5)]
    await engine.write(plain(creates=["t"], puts=puts))

    async def found(rows_max: int, bytes_max: int, *, reverse: bool = False) -> tuple[bytes, bool]:
        rows, ended = await page(
            engine, "t", reverse=reverse, rows_max=rows_max, bytes_max=bytes_max
        )
        return b"".join(key for key, _ in rows), ended

    assert await found(2, UNBOUNDED) == (b"01", False)
    assert await found(5, UNBOUNDED) == (b"01234", False)
    assert await found(6, UNBOUNDED) == (b"01234", True)
    assert await found(9, 1) == (b"0", False)
    assert await found(9, 5) == (b"0", False)
    assert await found(9, 6) == (b"01", False)
    assert await found(9, 25) == (b"01234", False)
    assert await found(9, 26) == (b"01234", True)
    assert await found(3, UNBOUNDED, reverse=True) == (b"432", False)
    assert await found(9, 11, reverse=True) == (b"432", False)


async def test_large_values_and_keys_survive(engine: Engine) -> None:
    key, value = b"\xab" * 3100, bytes(range(256)) * 1600
    await engine.write(plain(creates=["t"], puts=[("t", key, value)]))
    assert await read(engine, "t", key) == [value]


async def test_stores_are_separate(engine: Engine) -> None:
    await engine.write(plain(creates=["t", "t.u", "u"]))
    await engine.write(plain(puts=[("t", b"k", b"1"), ("t.u", b"k", b"2")]))
    await engine.write(put("u", b"k", b"3"))
    await engine.write(plain(deletes=[("t", b"k")]))
    assert await rows_of(engine, "t") == []
    assert await rows_of(engine, "t.u") == [(b"k", b"2")]
    assert await rows_of(engine, "u") == [(b"k", b"3")]


async def test_creating_a_store_that_exists_keeps_it(engine: Engine) -> None:
    await engine.write(plain(creates=["t"], puts=[("t", b"k", b"v")], tallies=[("t", 1, 1)]))
    await engine.write(plain(creates=["t", "t"]))
    assert await rows_of(engine) == [(b"k", b"v")]
    assert await tally(engine, "t") == (1, 1)


async def test_a_dropped_store_is_empty_when_it_is_made_again(engine: Engine) -> None:
    fill = plain(creates=["t"], puts=[("t", b"k", b"v")], tallies=[("t", 1, 1)])
    await engine.write(fill)
    await engine.write(plain(drops=["t", "t", "absent"]))
    assert await rows_of(engine) == []
    assert await tally(engine, "t") == (0, 0)
    await engine.write(fill)
    assert await rows_of(engine) == [(b"k", b"v")]
    await engine.write(plain(drops=["t"], creates=["t"]))
    assert await rows_of(engine) == []
    assert await tally(engine, "t") == (0, 0)


async def test_stores_of_a_space_are_dropped_apart(engine: Engine) -> None:
    await engine.write(plain(creates=["t", "t.a", "t.b"]))
    await engine.write(plain(puts=[("t", b"k", b"1"), ("t.a", b"k", b"2"), ("t.b", b"k", b"3")]))
    await engine.write(plain(drops=["t.a"]))
    assert await rows_of(engine, "t.a") == []
    assert await rows_of(engine, "t") == [(b"k", b"1")]
    await engine.write(plain(drops=["t"]))
    assert await rows_of(engine, "t") == []
    assert await rows_of(engine, "t.b") == [(b"k", b"3")]


async def test_a_change_of_an_absent_store_refuses_the_whole_decision(engine: Engine) -> None:
    await engine.write(plain(creates=["t"]))
    for mistaken in (
        plain(puts=[("t", b"k", b"v"), ("t.absent", b"k", b"v")], announced=True),
        plain(puts=[("t", b"k", b"v")], appends=[("t.absent", b"k", b"v")]),
        plain(puts=[("t", b"k", b"v")], tallies=[("t.absent", 1, 1)]),
    ):
        with pytest.raises(EngineError):
            await engine.write(mistaken)
    assert await rows_of(engine) == []
    assert engine.counter() == 0
    await engine.write(put("t", b"k", b"v"))


async def test_stores_change_in_the_step_if_the_engine_is_atomic_across_shards(
    engine: Engine,
) -> None:
    if not engine.capabilities.atomic_across_shards:
        pytest.skip("stores may be made before the step and dropped after it")
    await engine.write(plain(creates=["t"], puts=[("t", b"old", b"v")]))
    for mistaken in (
        plain(puts=[("t", b"k", b"v")], drops=["t"]),
        plain(puts=[("t.absent", b"k", b"v")], creates=["t.u"], drops=["t"]),
    ):
        with pytest.raises(EngineError):
            await engine.write(mistaken)
    assert await rows_of(engine) == [(b"old", b"v")]
    with pytest.raises(EngineError):
        await engine.write(put("t.u", b"k", b"v"))


async def test_rows_of_several_spaces_change_together_if_the_engine_can_do_that(
    engine: Engine,
) -> None:
    if not engine.capabilities.atomic_across_shards:
        pytest.skip("a decision stays within a shard")
    await engine.write(plain(creates=["t", "u"], puts=[("u", b"k", b"2"), ("t", b"k", b"1")]))
    with pytest.raises(EngineError):
        await engine.write(plain(puts=[("t", b"k", b"3"), ("absent", b"k", b"3")]))
    await engine.write(plain(puts=[("u", b"k", b"4")], deletes=[("t", b"k")]))
    assert await rows_of(engine, "t") == []
    assert await rows_of(engine, "u") == [(b"k", b"4")]


async def test_deleting_from_an_absent_store_does_nothing(engine: Engine) -> None:
    await engine.write(plain(creates=["t"]))
    await engine.write(plain(deletes=[("t.absent", b"k")]))
    await engine.write(plain(deletes=[("absent", b"k")]))


async def test_what_decide_raises_reaches_its_caller_and_changes_nothing(engine: Engine) -> None:
    class Refused(Exception):
        pass

    await engine.write(plain(creates=["t"]))
    results = await asyncio.gather(
        engine.write(increment("t", b"n")),
        engine.write(refuse(Refused("no"), "t", b"n")),
        engine.write(increment("t", b"n")),
        return_exceptions=True,
    )
    assert results[0] == 1
    assert isinstance(results[1], Refused)
    assert results[2] == 2
    assert await rows_of(engine) == [(b"n", b"2")]


async def test_an_invalid_value_hurts_only_its_own_decision(engine: Engine) -> None:
    if not engine.capabilities.local_files:
        pytest.skip("dictionaries take any value")
    await engine.write(plain(creates=["t"]))
    mistaken = plain(puts=[("t", b"a", b"1"), ("t", b"b", None)])  # type: ignore[list-item]
    results = await asyncio.gather(
        engine.write(increment("t", b"n")),
        engine.write(mistaken),
        engine.write(increment("t", b"n")),
        return_exceptions=True,
    )
    assert results[0] == 1
    assert isinstance(results[1], EngineError)
    assert results[2] == 2
    assert await rows_of(engine) == [(b"n", b"2")]


async def test_concurrent_decisions_lose_no_update(engine: Engine) -> None:
    await engine.write(plain(creates=["t"]))

    async def work() -> None:
        for _ in range(20):
            await engine.write(increment("t", b"n", b"m"))

    await asyncio.gather(*(work() for _ in range(25)))
    assert await rows_of(engine) == [(b"m", b"500"), (b"n", b"500")]


async def test_decisions_submitted_together_each_see_the_one_before(engine: Engine) -> None:
    await engine.write(plain(creates=["t"]))
    outcomes = await asyncio.gather(*(engine.write(increment("t", b"n")) for _ in range(1500)))
    assert sorted(map(int, map(str, outcomes))) == list(range(1, 1501))


async def test_a_reader_never_sees_half_a_decision_nor_goes_back_in_time(engine: Engine) -> None:
    await engine.write(plain(creates=["t"]))
    is_snapshot = engine.capabilities.snapshot_reads
    keys = keys_of("t", [b"n", b"m"])
    done = False

    async def write() -> None:
        nonlocal done
        for _ in range(100):
            await engine.write(increment("t", b"n", b"m"))
        done = True

    async def watch() -> None:
        last = 0
        while not done:
            n, m = await (engine.read_together(keys) if is_snapshot else engine.read(keys, STRONG))
            assert n == m or not is_snapshot
            assert int(n or b"0") >= last
            last = int(n or b"0")
            rows = await rows_of(engine)
            assert len({value for _, value in rows}) <= 1 or not is_snapshot
            await asyncio.sleep(0)

    await asyncio.gather(write(), watch(), watch())


async def test_an_acknowledged_write_is_seen_by_the_next_strong_read(engine: Engine) -> None:
    await engine.write(plain(creates=["t"]))

    async def work(key: bytes) -> None:
        for number in range(20):
            await engine.write(put("t", key, b"%d" % number))
            assert await read(engine, "t", key) == [b"%d" % number]
            rows, _ = await page(engine, "t", lower=key, upper=key + b"\x00")
            assert rows == [(key, b"%d" % number)]

    await asyncio.gather(*(work(b"%d" % worker) for worker in range(10)))


async def test_tallies_add_up(engine: Engine) -> None:
    await engine.write(plain(creates=["t", "t.u"], tallies=[("t", 2, 10), ("t.u", 1, 1)]))
    await asyncio.gather(
        *(engine.write(plain(tallies=[("t", 1, 5), ("t", 1, -1)])) for _ in range(10))
    )
    assert await tally(engine, "t") == (22, 50)
    assert await tally(engine, "t.u") == (1, 1)


async def test_a_space_keeps_tallies_of_stores_of_other_spaces(engine: Engine) -> None:
    await engine.write(plain(creates=["t", "u"]))
    for _ in range(2):
        await engine.write(plain(puts=[("t", b"k", b"v")], tallies=[("u", 1, 7)]))
    assert await engine.tally("t", engine.capabilities.shards, "u") == (2, 14)
    assert await tally(engine, "t") == (0, 0)


async def test_a_cancelled_write_happens_wholly_or_not_at_all(engine: Engine) -> None:
    await engine.write(plain(creates=["t"]))
    tasks = [asyncio.create_task(_increment_both(engine)) for _ in range(20)]
    await asyncio.sleep(0)
    for task in tasks[::2]:
        task.cancel()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    n, m = await read(engine, "t", b"n", b"m")
    acknowledged = sum(isinstance(result, int) for result in results)
    assert n == m
    assert acknowledged <= int(n or b"0") <= 20


async def _increment_both(engine: Engine) -> object:
    return await engine.write(increment("t", b"n", b"m"))


async def test_closing_finishes_what_is_under_way(engine: Engine) -> None:
    await engine.write(plain(creates=["t"]))
    writes = asyncio.gather(*(engine.write(increment("t", b"n")) for _ in range(600)))
    await asyncio.sleep(0)
    await engine.close()
    assert set(await writes) == set(range(1, 601))
    await engine.close()
