"""Whatever a loss of power leaves on disk, the SQLite engine finds all it acknowledged in it."""

from __future__ import annotations

import asyncio
import os
import random
from pathlib import Path

import apsw
import pytest

from hashrange.engine.base import Changes
from hashrange.engine.sqlite.data_directory import DATABASE_NAME
from hashrange.engine.sqlite.engine import (
    DataDirectoryError,
    Durability,
    SqliteEngine,
    acquire_directory,
)
from hashrange.errors import CorruptionError, EngineError, UnknownOutcomeError
from tests.engine.decisions import SHARD, Rows, Write, plain
from tests.engine.reading import numbers_of, page, read, rows_of, tally
from tests.faults.power import IN_THREAD, ON_LOOP, Event, Recorder, Told, images, restore

IMAGES = int(os.environ.get("HASHRANGE_POWER_IMAGES", "60"))
MISHAP_SEEDS = int(os.environ.get("HASHRANGE_MISHAP_SEEDS", "3"))
SEED = int(os.environ.get("HASHRANGE_SEED", "1"))
WRITERS = 6
WRITES_EACH = 25


def numbered(number: int, dice: random.Random) -> Write:
    """A decision that puts rows of one number into two stores and counts itself."""
    value = dice.randbytes(dice.choice([10, 300, 3000, 20_000]))

    def decide(rows: Rows) -> Changes:
        changes = Changes()
        key = b"%06d" % number
        changes.puts.append(("t", SHARD, key, value))
        changes.puts.append(("u", SHARD, key[::-1], value[:100]))
        changes.puts.append(("t", SHARD, b"count", b"%d" % (int(rows[0] or b"0") + 1)))
        changes.appends.append(("u.log", SHARD, b"", key))
        changes.tallies.append(("t", 1, 1))
        return changes

    return Write(decide, [("t", SHARD, b"count")])


async def run_load(
    path: Path, recorder: Recorder, durability: Durability, mishaps: random.Random | None
) -> None:
    dice = random.Random(SEED)
    engines = [
        SqliteEngine.open(
            path,
            durability=durability,
            writes_together=recorder.engines > 1,
            checkpoint_bytes=400_000,
            quick_seconds=recorder.quick_seconds,
            vfs=recorder.name,
        )
        for _ in range(recorder.engines)
    ]
    await engines[0].write(plain(creates=["t", "u", "u.log"]))
    recorder.mishaps = mishaps

    async def work(writer: int) -> None:
        engine = engines[writer % len(engines)]
        for turn in range(WRITES_EACH):
            number = writer * WRITES_EACH + turn
            # So that batches differ: some writers come back too late for the next one.
            for _ in range(dice.randrange(100)):
                await asyncio.sleep(0)
            try:
                await engine.write(numbered(number, dice))
            except EngineError:
                recorder.refuse(number)
            except UnknownOutcomeError:
                recorder.wonder(number)
            else:
                recorder.acknowledge(number)

    await asyncio.gather(*(work(writer) for writer in range(WRITERS)))
    recorder.mishaps = None
    for engine in engines:
        await engine.close()


def recorded_load(
    path: Path,
    durability: Durability,
    mishaps: random.Random | None = None,
    quick_seconds: float = ON_LOOP,
    engines: int = 1,
) -> list[Event]:
    recorder = Recorder()
    recorder.quick_seconds = quick_seconds
    recorder.engines = engines
    lock = acquire_directory(path, vfs=recorder.name)
    asyncio.run(run_load(path, recorder, durability, mishaps))
    lock.release()
    recorder.unregister()
    return recorder.journal


async def surviving(path: Path) -> set[int]:
    """Open an image, check that it holds whole decisions only, and return their numbers."""
    lock = acquire_directory(path)
    engine = SqliteEngine.open(path)
    found = {}
    for store in ("t", "u"):
        rows, _ = await page(engine, store, lower=b"0", upper=b"A")
        found[store] = dict(rows)
    (count,) = await read(engine, "t", b"count")
    counted = await tally(engine, "t")
    logged = {int(key) for _, key in await rows_of(engine, "u.log")}
    order = await numbers_of(engine, "u.log")
    await engine.write(plain(creates=["t"], puts=[("t", b"afterwards", b"")]))
    await engine.close()
    lock.release()
    numbers = {int(key) for key in found["t"]}
    assert {int(key[::-1]) for key in found["u"]} == numbers
    assert all(found["t"][key][:100] == found["u"][key[::-1]] for key in found["t"])
    assert int(count or b"0") == len(numbers)
    assert counted == (len(numbers), len(numbers))
    assert logged == numbers
    assert order == list(range(1, len(numbers) + 1))
    return numbers


def check_no_gaps(survivors: set[int], told: Told) -> None:
    """Each writer waits for its answer before it goes on, so what is left of it is its first part.

    Only what was refused, or left unknown, may be missing before something that is there.
    """
    for number in survivors:
        earlier = set(range(number // WRITES_EACH * WRITES_EACH, number))
        assert earlier <= survivors | told.refused | told.unknown


def check_integrity(path: Path) -> None:
    connection = apsw.Connection(str(path / DATABASE_NAME))
    assert connection.pragma("integrity_check") == "ok"
    connection.close()


def losses(tmp_path: Path, journal: list[Event], images_wanted: int) -> list[set[int]]:
    """Return, for each image, what was acknowledged and is not there."""
    dice = random.Random(SEED)
    moments = [dice.randrange(len(journal) + 1) for _ in range(images_wanted)]
    lost = []
    for index, (told, files) in enumerate(images({}, journal, moments, dice)):
        path = tmp_path / f"image{index}"
        restore(path, files)
        survivors = asyncio.run(surviving(path))
        check_integrity(path)
        check_no_gaps(survivors, told)
        assert not told.refused & survivors, "a refused write came back"
        lost.append({number for number in told.acknowledged if number >= 0} - survivors)
    return lost


@pytest.mark.parametrize("engines", [1, 2])
@pytest.mark.parametrize("quick_seconds", [ON_LOOP, IN_THREAD])
def test_no_loss_of_power_loses_an_acknowledged_write_or_leaves_half_of_one(
    tmp_path: Path, quick_seconds: float, engines: int
) -> None:
    journal = recorded_load(tmp_path / "data", "full", quick_seconds=quick_seconds, engines=engines)
    synced = {event.file for event in journal if event.kind == "sync"}
    assert DATABASE_NAME in synced, "the load must be long enough to move the log"
    assert not any(losses(tmp_path, journal, IMAGES))


@pytest.mark.parametrize("engines", [1, 2])
@pytest.mark.parametrize("seed", range(MISHAP_SEEDS))
def test_failing_syncs_and_a_full_disk_before_the_loss_of_power_change_nothing_of_that(
    tmp_path: Path, seed: int, engines: int
) -> None:
    quick_seconds = (ON_LOOP, IN_THREAD)[seed % 2]
    journal = recorded_load(tmp_path / "data", "full", random.Random(seed), quick_seconds, engines)
    assert {event.kind for event in journal} & {"refusal", "unknown", "failed sync"}
    assert not any(losses(tmp_path, journal, IMAGES // 3))


def test_relaxed_durability_may_lose_the_newest_writes_and_nothing_worse(tmp_path: Path) -> None:
    journal = recorded_load(tmp_path / "data", "relaxed")
    # Also the proof that this check can see a loss.
    assert any(losses(tmp_path, journal, IMAGES))


def test_a_disk_that_lies_about_syncing_is_caught(tmp_path: Path) -> None:
    journal = [event for event in recorded_load(tmp_path / "data", "full") if event.kind != "sync"]
    try:
        caught = any(losses(tmp_path, journal, IMAGES))
    except (AssertionError, EngineError, CorruptionError, DataDirectoryError, apsw.Error):
        caught = True
    assert caught


@pytest.mark.parametrize("seed", range(10))
def test_a_loss_of_power_while_the_directory_is_made_leaves_one_that_opens(
    tmp_path: Path, seed: int
) -> None:
    recorder = Recorder()
    acquire_directory(tmp_path / "data", vfs=recorder.name).release()
    recorder.unregister()
    dice = random.Random(seed)
    moments = [dice.randrange(len(recorder.journal) + 1)]
    for _, files in images({}, recorder.journal, moments, dice):
        restore(tmp_path / "image", files)
        assert asyncio.run(surviving(tmp_path / "image")) == set()
        check_integrity(tmp_path / "image")
