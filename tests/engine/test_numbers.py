"""Numbers of appended rows: one sequence for each space, and waiting for what is appended."""

from __future__ import annotations

import asyncio
import time

from hashrange.engine.base import Engine
from hashrange.errors import EngineError
from tests.engine.decisions import append, plain, refuse
from tests.engine.reading import SECONDS_MAX, numbers_of, rows_of, until


async def test_a_row_lies_under_its_prefix_and_its_number_in_eight_bytes(engine: Engine) -> None:
    await engine.write(plain(creates=["t"], appends=[("t", b"ab", b"1")]))
    ((key, value),) = await rows_of(engine)
    assert (key[:2], len(key), value) == (b"ab", 10, b"1")
    assert int.from_bytes(key[2:], "big") > 0


async def test_numbers_follow_the_appends_of_a_step_and_the_order_of_steps(engine: Engine) -> None:
    await engine.write(plain(creates=["t", "t.u"]))
    await engine.write(
        plain(appends=[("t", b"a", b"1"), ("t.u", b"", b"2"), ("t", b"a", b"3"), ("t", b"", b"4")])
    )
    await engine.write(plain(appends=[("t", b"b", b"5"), ("t.u", b"", b"6")]))
    numbered = {}
    for store in ("t", "t.u"):
        for key, value in await rows_of(engine, store):
            numbered[int.from_bytes(key[-8:], "big")] = value
    assert [numbered[number] for number in sorted(numbered)] == [b"%d" % n for n in range(1, 7)]


async def test_a_space_has_numbers_of_its_own(engine: Engine) -> None:
    await engine.write(plain(creates=["t", "u"]))
    await asyncio.gather(*(engine.write(append("t", b"")) for _ in range(5)))
    await engine.write(append("u", b""))
    assert await numbers_of(engine, "u") == (await numbers_of(engine, "t"))[:1]


async def test_decisions_submitted_together_share_no_number(engine: Engine) -> None:
    await engine.write(plain(creates=["t", "t.u", "u"]))
    writes = [engine.write(append(store, b"", b"")) for store in ("t", "t.u", "u") * 10]
    await asyncio.gather(*writes)
    numbers = await numbers_of(engine, "t") + await numbers_of(engine, "t.u")
    assert len(set(numbers)) == 40
    assert len(set(await numbers_of(engine, "u"))) == 20


async def test_a_refused_decision_appends_nothing(engine: Engine) -> None:
    await engine.write(plain(creates=["t"]))
    answers = await asyncio.gather(
        engine.write(append("t", b"1")),
        engine.write(plain(appends=[("t", b"", b"x"), ("t.absent", b"", b"x")])),
        engine.write(refuse(ValueError("no"))),
        engine.write(append("t", b"2")),
        return_exceptions=True,
    )
    assert [type(answer) for answer in answers[1:3]] == [EngineError, ValueError]
    assert [value for _, value in await rows_of(engine)] == [b"1", b"2"]


async def test_a_deleted_append_does_not_give_its_number_back(engine: Engine) -> None:
    await engine.write(plain(creates=["t"], appends=[("t", b"", b"1")]))
    (number,) = await numbers_of(engine, "t")
    await engine.write(plain(deletes=[("t", number.to_bytes(8, "big"))]))
    await engine.write(append("t", b"2"))
    assert (await numbers_of(engine, "t"))[0] > number


async def test_the_sequence_goes_on_while_a_store_of_the_space_lives(engine: Engine) -> None:
    await engine.write(plain(creates=["t", "t.u"]))
    given: list[int] = []
    for drops, creates in (([], []), (["t"], []), ([], ["t"]), (["t.u"], ["t.u"])):
        await engine.write(plain(drops=drops, creates=creates))
        for store in ("t", "t.u"):
            if store not in drops or store in creates:
                await engine.write(append(store, b""))
                given.append((await numbers_of(engine, store))[-1])
    assert len(given) == 7
    assert given == sorted(set(given))


async def test_a_store_made_again_in_the_step_that_drops_it_goes_on_with_its_numbers(
    engine: Engine,
) -> None:
    await engine.write(plain(creates=["t"], appends=[("t", b"", b"1")]))
    (before,) = await numbers_of(engine, "t")
    await engine.write(plain(drops=["t"], creates=["t"], appends=[("t", b"", b"2")]))
    (after,) = await numbers_of(engine, "t")
    assert after > before


async def test_whoever_sees_a_number_sees_all_smaller_ones(engine: Engine) -> None:
    await engine.write(plain(creates=["t"]))

    async def write(lane: int) -> None:
        for _ in range(20):
            await engine.write(append("t", b"%d" % lane, b"%d" % lane))

    async def watch() -> None:
        seen: list[int] = []
        while len(seen) < 160:
            numbers = await numbers_of(engine, "t")
            assert numbers[: len(seen)] == seen
            assert len(numbers) % 2 == 0 or not engine.capabilities.snapshot_reads
            seen = numbers
            await asyncio.sleep(0)

    await asyncio.gather(watch(), *(write(lane) for lane in range(4)))


async def test_the_mark_of_a_space_moves_with_every_append_to_it(engine: Engine) -> None:
    await engine.write(plain(creates=["t", "t.u"]))
    marks = [engine.appended("t")]
    for store in ("t", "t.u", "t"):
        await engine.write(append(store, b""))
        await until(lambda: engine.appended("t") != marks[-1])
        marks.append(engine.appended("t"))
    assert len(set(marks)) == 4


async def test_a_watch_ends_when_something_is_appended(engine: Engine) -> None:
    await engine.write(plain(creates=["t", "t.u"]))
    for store in ("t", "t.u"):
        seen = engine.appended("t")
        watches = [asyncio.ensure_future(engine.watch("t", seen, 600)) for _ in range(2)]
        await asyncio.sleep(0)
        assert not any(watch.done() for watch in watches)
        await engine.write(append(store, b""))
        _, waiting = await asyncio.wait(watches, timeout=SECONDS_MAX)
        assert not waiting


async def test_a_watch_from_an_older_mark_ends_at_once(engine: Engine) -> None:
    await engine.write(plain(creates=["t"]))
    seen = engine.appended("t")
    await engine.write(append("t", b""))
    await until(lambda: engine.appended("t") != seen)
    await asyncio.wait_for(engine.watch("t", seen, 600), SECONDS_MAX)


async def test_a_watch_ends_after_its_time(engine: Engine) -> None:
    await engine.write(plain(creates=["t"]))
    for space in ("t", "absent"):
        began = time.monotonic()
        await asyncio.wait_for(engine.watch(space, engine.appended(space), 0.05), SECONDS_MAX)
        assert time.monotonic() - began < SECONDS_MAX / 2


async def test_a_watch_that_ends_early_leaves_the_others_their_wake_up(engine: Engine) -> None:
    await engine.write(plain(creates=["t"]))
    seen = engine.appended("t")
    cancelled, short, long = [
        asyncio.ensure_future(engine.watch("t", seen, seconds)) for seconds in (600, 0.02, 600)
    ]
    await asyncio.sleep(0)
    cancelled.cancel()
    await asyncio.wait([cancelled, short], timeout=SECONDS_MAX)
    assert cancelled.cancelled()
    assert short.done()
    await engine.write(append("t", b""))
    await asyncio.wait_for(long, SECONDS_MAX)
