"""Versions of spaces and the change counter: what they refuse, and what they tell caches."""

from __future__ import annotations

import asyncio

import pytest

from hashrange.engine.base import Changes, Engine, Fence
from hashrange.errors import StaleVersionError
from tests.engine.decisions import Rows, Write, plain, refuse
from tests.engine.reading import rows_of, until


def put_on(space: str, version: int, key: bytes) -> Write:
    """Return a decision that was built on a version of a space."""
    return plain(puts=[(space, key, b"")], fences=[(space, version)])


async def raise_version(engine: Engine, space: str, version: int) -> None:
    """Raise the version of a space, in all its shards."""
    await engine.write(plain(creates=[space], raises=[(space, version)]))
    await engine.fence(space, engine.capabilities.shards, version)


async def keys_of(engine: Engine, store: str = "t") -> list[bytes]:
    return [key for key, _ in await rows_of(engine, store)]


async def test_a_new_space_has_version_zero(engine: Engine) -> None:
    await engine.write(plain(creates=["t"]))
    await engine.write(put_on("t", 0, b"k"))
    assert await keys_of(engine) == [b"k"]


async def test_a_decision_built_on_an_older_version_is_refused_without_being_asked(
    engine: Engine,
) -> None:
    await raise_version(engine, "t", 3)
    asked = []

    def decide(rows: Rows) -> Changes:
        asked.append(rows)
        return Changes("done")

    def built_on(*fences: Fence) -> Write:
        return Write(decide, fences=fences)

    for version in (0, 2):
        with pytest.raises(StaleVersionError):
            await engine.write(built_on(("t", version)))
    assert not asked
    assert await engine.write(built_on(("t", 3))) == "done"
    assert await engine.write(built_on()) == "done"


async def test_other_spaces_do_not_notice_a_raised_version(engine: Engine) -> None:
    await engine.write(plain(creates=["t", "u"]))
    await raise_version(engine, "t", 1)
    await engine.write(put_on("u", 0, b"k"))
    assert await keys_of(engine, "u") == [b"k"]


async def test_the_version_of_a_space_fences_all_its_stores(engine: Engine) -> None:
    await engine.write(plain(creates=["t", "t.u"]))
    await raise_version(engine, "t", 1)
    with pytest.raises(StaleVersionError):
        await engine.write(plain(puts=[("t.u", b"k", b"")], fences=[("t", 0)]))
    await engine.write(plain(puts=[("t.u", b"k", b"")], fences=[("t", 1)]))
    assert await keys_of(engine, "t.u") == [b"k"]


async def test_a_decision_built_on_two_spaces_is_refused_if_either_has_changed(
    engine: Engine,
) -> None:
    if not engine.capabilities.atomic_across_shards:
        pytest.skip("a decision is built on one space")
    await engine.write(plain(creates=["t", "u"], raises=[("u", 1)]))
    for fences in ([("t", 0), ("u", 0)], [("u", 0), ("t", 0)]):
        with pytest.raises(StaleVersionError):
            await engine.write(plain(puts=[("t", b"k", b"")], fences=fences))
    await engine.write(plain(puts=[("t", b"k", b"")], fences=[("t", 0), ("u", 1)]))
    assert await keys_of(engine) == [b"k"]


async def test_a_raise_refuses_the_decisions_queued_behind_it(engine: Engine) -> None:
    await engine.write(plain(creates=["t", "u"]))
    results = await asyncio.gather(
        engine.write(put_on("t", 0, b"a")),
        engine.write(plain(puts=[("t", b"b", b"")], raises=[("t", 1)], fences=[("t", 0)])),
        engine.write(put_on("t", 0, b"c")),
        engine.write(put_on("t", 1, b"d")),
        engine.write(plain(puts=[("t", b"e", b"")])),
        engine.write(put_on("u", 0, b"f")),
        return_exceptions=True,
    )
    assert [type(result) for result in results].count(StaleVersionError) == 1
    assert isinstance(results[2], StaleVersionError)
    assert await keys_of(engine) == [b"a", b"b", b"d", b"e"]
    assert await keys_of(engine, "u") == [b"f"]


async def test_a_refused_decision_raises_no_version(engine: Engine) -> None:
    await engine.write(plain(creates=["t"]))
    results = await asyncio.gather(
        engine.write(plain(raises=[("t", 1)], tallies=[("t.absent", 1, 1)])),
        engine.write(refuse(ValueError("no"))),
        engine.write(put_on("t", 0, b"k")),
        return_exceptions=True,
    )
    assert [isinstance(result, Exception) for result in results] == [True, True, False]


async def test_a_newer_version_than_known_is_taken_note_of(engine: Engine) -> None:
    await engine.write(plain(creates=["t"]))
    results = await asyncio.gather(
        engine.write(put_on("t", 2, b"a")),
        engine.write(put_on("t", 1, b"b")),
        return_exceptions=True,
    )
    assert isinstance(results[1], StaleVersionError)
    with pytest.raises(StaleVersionError):
        await engine.write(put_on("t", 1, b"c"))
    await engine.write(put_on("t", 2, b"d"))
    assert await keys_of(engine) == [b"a", b"d"]


async def test_a_refused_decision_tells_of_no_newer_version(engine: Engine) -> None:
    await engine.write(plain(creates=["t"]))
    mistaken = plain(puts=[("t.absent", b"k", b"")], fences=[("t", 2)])
    refused = refuse(ValueError("no"))
    refused.fences = [("t", 2)]
    results = await asyncio.gather(
        engine.write(mistaken),
        engine.write(refused),
        engine.write(put_on("t", 0, b"k")),
        return_exceptions=True,
    )
    assert [isinstance(result, Exception) for result in results] == [True, True, False]


async def test_a_version_never_falls(engine: Engine) -> None:
    await raise_version(engine, "t", 5)
    await raise_version(engine, "t", 4)
    with pytest.raises(StaleVersionError):
        await engine.write(put_on("t", 4, b"k"))
    await engine.write(put_on("t", 5, b"k"))


async def test_the_version_stays_while_a_store_of_the_space_lives(engine: Engine) -> None:
    await raise_version(engine, "t", 2)
    await engine.write(plain(creates=["t.u"]))
    await engine.write(plain(drops=["t"]))
    with pytest.raises(StaleVersionError):
        await engine.write(plain(puts=[("t.u", b"k", b"")], fences=[("t", 1)]))
    await engine.write(plain(puts=[("t.u", b"k", b"")], fences=[("t", 2)]))


async def test_a_space_that_is_gone_refuses_what_was_built_on_it(engine: Engine) -> None:
    if not engine.capabilities.atomic_across_shards:
        pytest.skip("stores may be dropped after the step")
    await raise_version(engine, "t", 2)
    results = await asyncio.gather(
        engine.write(plain(drops=["t"], raises=[("t", 3)])),
        engine.write(put_on("t", 2, b"k")),
        return_exceptions=True,
    )
    assert isinstance(results[1], StaleVersionError)


async def test_the_counter_moves_when_changes_are_announced(engine: Engine) -> None:
    seen = engine.counter()
    await engine.write(plain(creates=["t"], announced=True))
    await until(lambda: engine.counter() != seen)
    seen = engine.counter()
    await asyncio.gather(*(engine.write(plain(announced=True)) for _ in range(3)))
    await until(lambda: engine.counter() != seen)


async def test_the_counter_of_an_engine_on_one_machine_moves_for_nothing_else(
    engine: Engine,
) -> None:
    if not engine.capabilities.atomic_across_shards:
        pytest.skip("the counter may move late or without need")
    await engine.write(plain(creates=["t"], announced=True))
    assert engine.counter() == 1
    await engine.write(plain(puts=[("t", b"k", b"")], raises=[("t", 1)], appends=[("t", b"", b"")]))
    await engine.write(plain(creates=["t.u"], drops=["t"]))
    with pytest.raises(ValueError, match="no"):
        await engine.write(refuse(ValueError("no")))
    assert engine.counter() == 1


async def test_nothing_is_refused_because_of_the_counter(engine: Engine) -> None:
    await engine.write(plain(creates=["t"]))
    await asyncio.gather(
        engine.write(plain(announced=True)),
        engine.write(put_on("t", 0, b"k")),
    )
    assert await keys_of(engine) == [b"k"]
