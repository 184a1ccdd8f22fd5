"""What every engine promises, checked on every engine."""

from __future__ import annotations

import asyncio

import pytest

from hashrange.engine.base import Changes, Engine
from hashrange.errors import EngineError, StaleVersionError
from tests.engine.decisions import Rows, Write, increment, plain, put, refuse

FIRST, LAST = b"", b"\xff" * 40
UNBOUNDED = 1 << 40


def numbered(number: int) -> bytes:
    return number.to_bytes(8, "big")


async def rows_of(engine: Engine, store: str = "t") -> list[tuple[bytes, bytes]]:
    rows, ended = await engine.range(
        store, FIRST, LAST, reverse=False, rows_max=UNBOUNDED, bytes_max=UNBOUNDED
    )
    assert ended
    return rows


async def test_an_absent_store_reads_as_empty(engine: Engine) -> None:
    assert await engine.read([("t", b"k")]) == [None]
    assert await engine.read([("t", b"k"), ("u", b"k")]) == [None, None]
    assert await rows_of(engine) == []
    assert await engine.tally("t") == (0, 0)


async def test_a_written_row_reads_back(engine: Engine) -> None:
    await engine.write(plain(creates=["t"]))
    await engine.write(put("t", b"k", b"v"))
    await engine.write(put("t", b"empty", b""))
    keys = [("t", b"k"), ("t", b"absent"), ("t", b"empty")]
    assert await engine.read(keys) == [b"v", None, b""]
    assert await engine.read([]) == []


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
    await engine.write(plain(creates=["t", "u"], puts=[("t", b"a", b"1"), ("u", b"b", b"2")]))
    seen: list[list[bytes | None]] = []

    def decide(rows: Rows) -> Changes:
        seen.append(list(rows))
        return Changes()

    keys = [("u", b"b"), ("t", b"absent"), ("t", b"a"), ("absent", b"a"), ("u", b"b")]
    await engine.write(Write(decide, keys))
    assert seen[-1] == [b"2", None, b"1", None, b"2"]


async def test_rows_come_in_byte_order_whatever_the_order_of_writing(engine: Engine) -> None:
    keys = [b"\x80", b"", b"a", b"\xff", b"\x00\x00", b"ab", b"\x00", b"a\x00", b"\xff\x00"]
    await engine.write(plain(creates=["t"], puts=[("t", key, b"v") for key in keys]))
    assert [key for key, _ in await rows_of(engine)] == sorted(keys)


async def test_a_range_includes_its_lower_and_excludes_its_upper_bound(engine: Engine) -> None:
    keys = [b"a", b"b", b"c", b"d"]
    await engine.write(plain(creates=["t"], puts=[("t", key, key) for key in keys]))
    for reverse in (False, True):
        rows, ended = await engine.range(
            "t", b"b", b"d", reverse=reverse, rows_max=10, bytes_max=UNBOUNDED
        )
        assert rows == [(b"c", b"c"), (b"b", b"b")][:: 1 if reverse else -1]
        assert ended
    empty = await engine.range("t", b"b", b"b", reverse=False, rows_max=10, bytes_max=10)
    assert empty == ([], True)
    inverted = await engine.range("t", b"d", b"a", reverse=False, rows_max=10, bytes_max=10)
    assert inverted == ([], True)


async def test_a_range_stopped_by_a_bound_has_not_ended(engine: Engine) -> None:
    puts = [("t", b"%d" % number, b"12345") for number in range(5)]
    await engine.write(plain(creates=["t"], puts=puts))

    async def page(rows_max: int, bytes_max: int, *, reverse: bool = False) -> tuple[bytes, bool]:
        rows, ended = await engine.range(
            "t", FIRST, LAST, reverse=reverse, rows_max=rows_max, bytes_max=bytes_max
        )
        return b"".join(key for key, _ in rows), ended

    assert await page(2, UNBOUNDED) == (b"01", False)
    assert await page(5, UNBOUNDED) == (b"01234", False)
    assert await page(6, UNBOUNDED) == (b"01234", True)
    assert await page(9, 1) == (b"0", False)
    assert await page(9, 5) == (b"0", False)
    assert await page(9, 6) == (b"01", False)
    assert await page(9, 25) == (b"01234", False)
    assert await page(9, 26) == (b"01234", True)
    assert await page(3, UNBOUNDED, reverse=True) == (b"432", False)
    assert await page(9, 11, reverse=True) == (b"432", False)


async def test_large_values_and_keys_survive(engine: Engine) -> None:
    key, value = b"\xab" * 3100, bytes(range(256)) * 1600
    await engine.write(plain(creates=["t"], puts=[("t", key, value)]))
    assert await engine.read([("t", key)]) == [value]


async def test_stores_are_separate(engine: Engine) -> None:
    await engine.write(plain(creates=["t", "u"], puts=[("t", b"k", b"1"), ("u", b"k", b"2")]))
    await engine.write(plain(deletes=[("t", b"k")]))
    assert await rows_of(engine, "t") == []
    assert await rows_of(engine, "u") == [(b"k", b"2")]


async def test_creating_a_store_that_exists_keeps_it(engine: Engine) -> None:
    await engine.write(plain(creates=["t"], puts=[("t", b"k", b"v")], tallies=[("t", 1, 1)]))
    await engine.write(plain(creates=["t", "t"]))
    assert await rows_of(engine) == [(b"k", b"v")]
    assert await engine.tally("t") == (1, 1)


async def test_a_dropped_store_is_empty_when_it_is_made_again(engine: Engine) -> None:
    fill = plain(creates=["t"], puts=[("t", b"k", b"v")], tallies=[("t", 1, 1)])
    await engine.write(fill)
    await engine.write(plain(drops=["t", "t", "absent"]))
    assert await rows_of(engine) == []
    assert await engine.tally("t") == (0, 0)
    await engine.write(fill)
    assert await rows_of(engine) == [(b"k", b"v")]
    await engine.write(plain(drops=["t"], creates=["t"]))
    assert await rows_of(engine) == []
    assert await engine.tally("t") == (0, 0)


async def test_a_put_into_an_absent_store_refuses_the_whole_decision(engine: Engine) -> None:
    await engine.write(plain(creates=["t"]))
    for mistaken in (
        plain(puts=[("t", b"k", b"v"), ("absent", b"k", b"v")], epoch_step=True),
        plain(puts=[("t", b"k", b"v")], tallies=[("absent", 1, 1)], creates=["u"]),
        plain(puts=[("t", b"k", b"v")], drops=["t"]),
    ):
        with pytest.raises(EngineError):
            await engine.write(mistaken)
    assert await rows_of(engine) == []
    assert engine.epoch() == 0
    await engine.write(put("t", b"k", b"v"))
    with pytest.raises(EngineError):
        await engine.write(put("u", b"k", b"v"))


async def test_deleting_from_an_absent_store_does_nothing(engine: Engine) -> None:
    await engine.write(plain(deletes=[("absent", b"k")]))


async def test_what_decide_raises_reaches_its_caller_and_changes_nothing(engine: Engine) -> None:
    class Refused(Exception):
        pass

    await engine.write(plain(creates=["t"]))
    results = await asyncio.gather(
        engine.write(increment("t", b"n")),
        engine.write(refuse(Refused("no"), [("t", b"n")])),
        engine.write(increment("t", b"n")),
        return_exceptions=True,
    )
    assert results[0] == 1
    assert isinstance(results[1], Refused)
    assert results[2] == 2
    assert await rows_of(engine) == [(b"n", b"2")]


async def test_an_invalid_value_hurts_only_its_own_decision(engine: Engine) -> None:
    if type(engine).__name__ == "MemoryEngine":
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


async def test_decisions_submitted_together_happen_in_order(engine: Engine) -> None:
    await engine.write(plain(creates=["t"]))
    outcomes = await asyncio.gather(*(engine.write(increment("t", b"n")) for _ in range(1500)))
    assert outcomes == list(range(1, 1501))


async def test_readers_never_see_half_a_decision(engine: Engine) -> None:
    await engine.write(plain(creates=["t", "u"]))
    done = False

    async def write() -> None:
        nonlocal done
        for _ in range(100):
            await engine.write(increment("t", b"n", b"m"))
        done = True

    async def read() -> None:
        last = 0
        while not done:
            n, m = await engine.read([("t", b"n"), ("t", b"m")])
            assert n == m
            assert int(n or b"0") >= last
            last = int(n or b"0")
            rows = await rows_of(engine)
            assert len({value for _, value in rows}) <= 1
            await asyncio.sleep(0)

    await asyncio.gather(write(), read(), read())


async def test_an_acknowledged_write_is_seen_by_the_next_read(engine: Engine) -> None:
    await engine.write(plain(creates=["t"]))

    async def work(key: bytes) -> None:
        for number in range(20):
            await engine.write(put("t", key, b"%d" % number))
            assert await engine.read([("t", key)]) == [b"%d" % number]

    await asyncio.gather(*(work(b"%d" % worker) for worker in range(10)))


async def test_the_epoch_starts_at_zero_and_steps_by_one(engine: Engine) -> None:
    assert engine.epoch() == 0
    await engine.write(plain(epoch_step=True))
    assert engine.epoch() == 1
    await engine.write(plain(creates=["t"]))
    assert engine.epoch() == 1
    await engine.write(plain(epoch_step=True, epoch=1))
    assert engine.epoch() == 2


async def test_a_decision_of_another_epoch_is_refused_without_being_asked(engine: Engine) -> None:
    await engine.write(plain(creates=["t"], epoch_step=True))
    asked = []

    def decide(rows: Rows) -> Changes:
        asked.append(rows)
        return Changes("done")

    for epoch in (0, 2):
        with pytest.raises(StaleVersionError):
            await engine.write(Write(decide, [("t", b"k")], epoch=epoch))
    assert not asked
    assert await engine.write(Write(decide, [("t", b"k")], epoch=1)) == "done"


async def test_a_step_of_the_epoch_fences_the_decisions_queued_behind_it(engine: Engine) -> None:
    await engine.write(plain(creates=["t"]))
    results = await asyncio.gather(
        engine.write(plain(puts=[("t", b"a", b"1")], epoch=0)),
        engine.write(plain(epoch_step=True, epoch=0)),
        engine.write(plain(puts=[("t", b"b", b"1")], epoch=0)),
        engine.write(plain(puts=[("t", b"c", b"1")])),
        return_exceptions=True,
    )
    assert isinstance(results[2], StaleVersionError)
    assert [key for key, _ in await rows_of(engine)] == [b"a", b"c"]
    assert engine.epoch() == 1


async def test_appends_are_numbered_by_one_sequence_for_all_stores(engine: Engine) -> None:
    await engine.write(plain(creates=["t", "u"]))
    assert engine.sequence() == 0
    await engine.write(plain(appends=[("t", b"a", b"1"), ("u", b"", b"2"), ("t", b"a", b"3")]))
    await engine.write(plain(appends=[("t", b"b", b"4")]))
    assert engine.sequence() == 4
    assert await rows_of(engine) == [
        (b"a" + numbered(1), b"1"),
        (b"a" + numbered(3), b"3"),
        (b"b" + numbered(4), b"4"),
    ]
    assert await rows_of(engine, "u") == [(numbered(2), b"2")]


async def test_a_refused_decision_uses_up_no_number(engine: Engine) -> None:
    await engine.write(plain(creates=["t"]))
    answers = await asyncio.gather(
        engine.write(plain(appends=[("t", b"", b"1")])),
        engine.write(plain(appends=[("t", b"", b"x"), ("absent", b"", b"x")])),
        engine.write(refuse(ValueError("no"))),
        engine.write(plain(appends=[("t", b"", b"2")])),
        return_exceptions=True,
    )
    assert [type(answer) for answer in answers[1:3]] == [EngineError, ValueError]
    assert await rows_of(engine) == [(numbered(1), b"1"), (numbered(2), b"2")]


async def test_a_deleted_append_does_not_give_its_number_back(engine: Engine) -> None:
    await engine.write(plain(creates=["t"], appends=[("t", b"", b"1")]))
    await engine.write(plain(deletes=[("t", numbered(1))]))
    await engine.write(plain(drops=["t"], creates=["t"], appends=[("t", b"", b"2")]))
    assert await rows_of(engine) == [(numbered(2), b"2")]


async def test_whoever_sees_a_number_sees_all_smaller_ones(engine: Engine) -> None:
    await engine.write(plain(creates=["t"]))

    async def append(lane: int) -> None:
        for _ in range(20):
            await engine.write(plain(appends=[("t", b"", b"%d" % lane)] * 2))

    async def watch() -> None:
        seen = 0
        while seen < 160:
            known = engine.sequence()
            rows = await rows_of(engine)
            assert [key for key, _ in rows] == [numbered(n) for n in range(1, len(rows) + 1)]
            assert known <= len(rows)
            seen = len(rows)
            await asyncio.sleep(0)

    await asyncio.gather(watch(), *(append(lane) for lane in range(4)))


async def test_tallies_add_up(engine: Engine) -> None:
    await engine.write(plain(creates=["t", "u"], tallies=[("t", 2, 10), ("u", 1, 1)]))
    await asyncio.gather(
        *(engine.write(plain(tallies=[("t", 1, 5), ("t", 1, -1)])) for _ in range(10))
    )
    assert await engine.tally("t") == (22, 50)
    assert await engine.tally("u") == (1, 1)


async def test_a_cancelled_write_happens_wholly_or_not_at_all(engine: Engine) -> None:
    await engine.write(plain(creates=["t"]))
    tasks = [asyncio.create_task(engine.write(increment("t", b"n", b"m"))) for _ in range(20)]
    await asyncio.sleep(0)
    for task in tasks[::2]:
        task.cancel()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    n, m = await engine.read([("t", b"n"), ("t", b"m")])
    acknowledged = sum(isinstance(result, int) for result in results)
    assert n == m
    assert acknowledged <= int(n or b"0") <= 20


async def test_closing_finishes_what_is_under_way(engine: Engine) -> None:
    await engine.write(plain(creates=["t"]))
    writes = asyncio.gather(*(engine.write(increment("t", b"n")) for _ in range(600)))
    await asyncio.sleep(0)
    await engine.close()
    assert (await writes)[-1] == 600
