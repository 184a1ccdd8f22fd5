"""A full disk and a failing sync are told to the caller, and cost nothing that was acknowledged."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import apsw
import pytest

from hashrange.engine.sqlite.data_directory import DATABASE_NAME
from hashrange.engine.sqlite.engine import Durability, SqliteEngine, acquire_directory
from hashrange.errors import CorruptionError, EngineError, StorageFullError, UnknownOutcomeError
from tests.engine.decisions import increment, plain, put
from tests.engine.reading import read, rows_of
from tests.faults.power import IN_THREAD, ON_LOOP, Recorder, images, restore

IMAGES_LATER = 3


@pytest.fixture(params=[ON_LOOP, IN_THREAD], ids=["on-loop", "in-thread"])
def recorder(request: pytest.FixtureRequest) -> Iterator[Recorder]:
    recorder = Recorder()
    recorder.quick_seconds = request.param
    yield recorder
    recorder.unregister()


def with_engine(
    path: Path,
    recorder: Recorder,
    test: Callable[[SqliteEngine], Awaitable[None]],
    durability: Durability = "full",
) -> None:
    """Run a test on an engine with one store, then check the file and what a reopening sees."""
    lock = acquire_directory(path, vfs=recorder.name)

    async def run() -> None:
        engine = SqliteEngine.open(
            path,
            durability=durability,
            quick_seconds=recorder.quick_seconds,
            vfs=recorder.name,
        )
        await engine.write(plain(creates=["t"], puts=[("t", b"before", b"1")]))
        recorder.acknowledge(0)
        try:
            await test(engine)
        finally:
            recorder.failing_syncs = 0
            recorder.room_bytes = None
            await engine.close()

    asyncio.run(run())
    lock.release()
    connection = apsw.Connection(str(path / DATABASE_NAME))
    assert connection.pragma("integrity_check") == "ok"
    connection.close()


async def keys_of(engine: SqliteEngine) -> list[bytes]:
    return [key for key, _ in await rows_of(engine)]


def keys_in(path: Path) -> list[bytes]:
    async def read_keys() -> list[bytes]:
        engine = SqliteEngine.open(path)
        try:
            return await keys_of(engine)
        finally:
            await engine.close()

    lock = acquire_directory(path)
    try:
        return asyncio.run(read_keys())
    finally:
        lock.release()


def test_a_failing_sync_fails_the_whole_batch_and_nothing_of_it_is_seen(
    tmp_path: Path, recorder: Recorder
) -> None:
    async def test(engine: SqliteEngine) -> None:
        recorder.failing_syncs = 1
        results = await asyncio.gather(
            engine.write(put("t", b"a", b"1")),
            engine.write(put("t", b"b", b"1")),
            engine.write(plain(creates=["u"], raises=[("t", 1)], announced=True)),
            engine.write(plain(appends=[("t", b"", b"")], fences=[("t", 1)])),
            return_exceptions=True,
        )
        assert [type(result) for result in results] == [EngineError] * 4
        assert len({id(result) for result in results}) == 4
        assert await keys_of(engine) == [b"before"]
        assert engine.counter() == 0
        with pytest.raises(EngineError, match="no store"):
            await engine.write(put("u", b"k", b"v"))
        await engine.write(plain(puts=[("t", b"c", b"1")], fences=[("t", 0)]))
        assert await keys_of(engine) == [b"before", b"c"]

    with_engine(tmp_path / "data", recorder, test)
    assert keys_in(tmp_path / "data") == [b"before", b"c"]


@pytest.mark.parametrize("seed", range(12))
def test_a_write_refused_by_a_failing_sync_does_not_come_back_after_a_loss_of_power(
    tmp_path: Path, recorder: Recorder, seed: int
) -> None:
    refused_at = 0

    async def test(engine: SqliteEngine) -> None:
        nonlocal refused_at
        recorder.failing_syncs = 1
        with pytest.raises(EngineError):
            await engine.write(put("t", b"refused", b"1" * 20_000))
        refused_at = len(recorder.journal)
        for number in range(1, 4):
            await engine.write(put("t", b"%d" % number, b"1" * 9_000))
            recorder.acknowledge(number)

    with_engine(tmp_path / "data", recorder, test)
    dice = random.Random(seed)
    # Right after the refusal is when the log would still have it, were it not fenced.
    later = [dice.randrange(refused_at, len(recorder.journal) + 1) for _ in range(IMAGES_LATER)]
    moments = [refused_at, *later]
    for index, (told, files) in enumerate(images({}, recorder.journal, moments, dice)):
        restore(tmp_path / f"image{index}", files)
        found = keys_in(tmp_path / f"image{index}")
        assert b"refused" not in found
        expected = {b"before"} | {b"%d" % number for number in told.acknowledged if number > 0}
        assert expected <= set(found)


def test_when_not_even_the_fence_can_be_synced_the_outcome_is_unknown_until_the_disk_recovers(
    tmp_path: Path, recorder: Recorder
) -> None:
    async def test(engine: SqliteEngine) -> None:
        recorder.failing_syncs = 1_000_000
        for _ in range(3):
            with pytest.raises(UnknownOutcomeError):
                await engine.write(put("t", b"a", b"1"))
        assert await keys_of(engine) == [b"before"]
        recorder.failing_syncs = 0
        await engine.write(put("t", b"c", b"1"))
        assert await keys_of(engine) == [b"before", b"c"]

    with_engine(tmp_path / "data", recorder, test)
    assert keys_in(tmp_path / "data") == [b"before", b"c"]


@pytest.mark.parametrize("durability", ["full", "relaxed"])
def test_a_full_disk_refuses_writes_and_keeps_what_there_is(
    tmp_path: Path, recorder: Recorder, durability: Durability
) -> None:
    async def test(engine: SqliteEngine) -> None:
        for room in (0, 100, 5_000, 50_000, 150_000):
            recorder.room_bytes = room
            results = await asyncio.gather(
                *(engine.write(put("t", b"%d" % key, b"x" * 20_000)) for key in range(10)),
                return_exceptions=True,
            )
            assert [type(result) for result in results] == [StorageFullError] * 10
            assert await keys_of(engine) == [b"before"]
        recorder.room_bytes = None
        assert await engine.write(increment("t", b"n")) == 1
        assert await keys_of(engine) == [b"before", b"n"]

    with_engine(tmp_path / "data", recorder, test, durability)
    assert keys_in(tmp_path / "data") == [b"before", b"n"]


def test_a_disk_too_full_for_a_checkpoint_still_takes_no_harm(
    tmp_path: Path, recorder: Recorder
) -> None:
    lock = acquire_directory(tmp_path / "data", vfs=recorder.name)

    async def fill(engine: SqliteEngine) -> int:
        for number in range(1000):
            try:
                await engine.write(put("t", b"%04d" % number, b"x" * 3_000))
            except StorageFullError:
                return number
        raise AssertionError("the disk did not fill up")

    async def run() -> None:
        engine = SqliteEngine.open(
            tmp_path / "data",
            checkpoint_bytes=50_000,
            quick_seconds=recorder.quick_seconds,
            vfs=recorder.name,
        )
        await engine.write(plain(creates=["t"]))
        recorder.room_bytes = 400_000
        written = await fill(engine)
        recorder.room_bytes = None
        assert len(await keys_of(engine)) == written
        await engine.write(put("t", b"after", b""))
        await engine.close()
        assert written > 5

    asyncio.run(run())
    lock.release()
    assert keys_in(tmp_path / "data")[-1] == b"after"


def test_damage_is_reported_as_corruption(tmp_path: Path) -> None:
    path = tmp_path / "data"

    async def fill() -> None:
        engine = SqliteEngine.open(path)
        await engine.write(plain(creates=["t"]))
        for start in range(0, 2000, 100):
            puts = [("t", b"%06d" % number, b"x" * 500) for number in range(start, start + 100)]
            await engine.write(plain(puts=puts))
        await engine.close()

    async def read_all() -> None:
        engine = SqliteEngine.open(path)
        try:
            for number in range(2000):
                await read(engine, "t", b"%06d" % number)
        finally:
            await engine.close()

    lock = acquire_directory(path)
    asyncio.run(fill())
    database = path / DATABASE_NAME
    content = bytearray(database.read_bytes())
    page = 8192
    for start in range(4 * page, len(content) - page, page):
        content[start : start + 100] = b"\xa5" * 100
    database.write_bytes(content)
    with pytest.raises(CorruptionError):
        asyncio.run(read_all())
    lock.release()
