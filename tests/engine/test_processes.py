"""Several processes on one data directory behave as one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from hashrange.engine.sqlite.engine import Durability, SqliteEngine, acquire_directory
from hashrange.errors import StaleVersionError
from tests.engine.decisions import SHARD, append, plain, put
from tests.engine.processes import (
    CONTEXT,
    announce_together,
    append_together,
    change_stores,
    close_together,
    count_together,
    raise_together,
)
from tests.engine.reading import numbers_of, page, read

PROCESSES = 3
SECONDS_MAX = 60


def run_processes(target: Callable[..., None], *arguments: object) -> list[list[int] | int]:
    """Start processes, and return what each of them sends."""
    started = []
    for _ in range(PROCESSES):
        receiver, sender = CONTEXT.Pipe(duplex=False)
        process = CONTEXT.Process(target=target, args=(*arguments, sender))
        process.start()
        sender.close()
        started.append((process, receiver))
    sent = []
    for process, receiver in started:
        assert receiver.poll(SECONDS_MAX)
        sent.append(receiver.recv())
        process.join(SECONDS_MAX)
        assert process.exitcode == 0
        process.close()
        receiver.close()
    return sent


def opened(path: Path, call: Callable[[SqliteEngine], object]) -> object:
    """Call something with an engine on a directory."""

    async def run() -> object:
        engine = SqliteEngine.open(path)
        found = call(engine)
        await engine.close()
        return found

    return asyncio.run(run())


def prepare(path: Path, *stores: str) -> None:
    """Make stores."""

    async def run() -> None:
        engine = SqliteEngine.open(path)
        await engine.write(plain(creates=stores))
        await engine.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("durability", "writes_together"), [("full", True), ("full", False), ("relaxed", True)]
)
def test_processes_lose_no_update_and_none_of_them_starves(
    tmp_path: Path, durability: Durability, writes_together: bool
) -> None:
    lock = acquire_directory(tmp_path)
    prepare(tmp_path, "t")
    told = run_processes(count_together, tmp_path, 40, durability, writes_together)
    lock.release()
    counts = sorted(count for counts in told if isinstance(counts, list) for count in counts)
    assert counts == list(range(1, PROCESSES * 120 + 1))


def test_every_announced_change_moves_the_counter_of_every_process(tmp_path: Path) -> None:
    lock = acquire_directory(tmp_path)
    told = run_processes(announce_together, tmp_path, 25)
    assert opened(tmp_path, lambda engine: engine.counter()) == PROCESSES * 25
    for known in told:
        assert isinstance(known, list)
        assert known == sorted(set(known))
    lock.release()


def test_no_two_processes_raise_a_version_from_the_same_one(tmp_path: Path) -> None:
    lock = acquire_directory(tmp_path)
    prepare(tmp_path, "t")
    told = run_processes(raise_together, tmp_path, 25)
    given = sorted(
        version for versions in told if isinstance(versions, list) for version in versions
    )
    assert given == list(range(1, PROCESSES * 25 + 1))
    lock.release()


@pytest.mark.parametrize("spaces", [["t"], ["t", "u"]], ids=["one-space", "two-spaces"])
def test_appends_of_processes_have_numbers_without_gaps_in_each_space(
    tmp_path: Path, spaces: list[str]
) -> None:
    lock = acquire_directory(tmp_path)
    prepare(tmp_path, *spaces)
    told = run_processes(append_together, tmp_path, spaces, 20)
    rows = sum(count for count in told if isinstance(count, int)) // len(spaces)

    async def numbers() -> list[list[int]]:
        engine = SqliteEngine.open(tmp_path)
        found = [await numbers_of(engine, space) for space in spaces]
        await engine.close()
        return found

    assert asyncio.run(numbers()) == [list(range(1, rows + 1))] * len(spaces)
    lock.release()


@pytest.mark.parametrize("writes_together", [False, True])
def test_engines_of_two_processes_share_stores_rows_versions_numbers_and_the_counter(
    tmp_path: Path, writes_together: bool
) -> None:
    """Two engines in one process stand for two: they share nothing but the directory."""

    async def run() -> None:
        first = SqliteEngine.open(tmp_path, writes_together=writes_together)
        second = SqliteEngine.open(tmp_path, writes_together=writes_together)
        await first.write(plain(creates=["t"], raises=[("t", 1)], announced=True))
        assert second.counter() == 1
        await first.write(append("t", b""))
        await second.write(append("t", b""))
        assert first.appended("t") == second.appended("t")
        assert await numbers_of(first, "t") == [1, 2]
        await second.write(put("t", b"k", b"v"))
        assert await read(first, "t", b"k") == [b"v"]
        with pytest.raises(StaleVersionError):
            await second.write(plain(fences=[("t", 0)]))
        await second.write(plain(drops=["t"], creates=["u"], announced=True))
        assert first.counter() == 2
        assert await read(first, "t", b"k") == [None]
        with pytest.raises(StaleVersionError):
            await first.write(plain(fences=[("t", 1)]))
        await first.write(put("u", b"k", b"v"))
        assert await read(second, "u", b"k") == [b"v"]
        await first.close()
        await second.close()

    lock = acquire_directory(tmp_path)
    asyncio.run(run())
    lock.release()


@pytest.mark.parametrize("writes_together", [False, True])
def test_a_version_raised_elsewhere_refuses_the_next_decision_here(
    tmp_path: Path, writes_together: bool
) -> None:
    async def run() -> None:
        first = SqliteEngine.open(tmp_path, writes_together=writes_together)
        second = SqliteEngine.open(tmp_path, writes_together=writes_together)
        await first.write(plain(creates=["t", "u"]))
        for version in range(5):
            await first.write(plain(puts=[("t", b"a", b"")], fences=[("t", version)]))
            await second.write(plain(raises=[("t", version + 1)], fences=[("t", version)]))
            with pytest.raises(StaleVersionError):
                await first.write(plain(puts=[("t", b"b", b"")], fences=[("t", version)]))
            await first.write(plain(puts=[("u", b"c", b"")], fences=[("u", 0)]))
        assert await read(first, "t", b"a", b"b") == [b"", None]
        await first.close()
        await second.close()

    lock = acquire_directory(tmp_path)
    asyncio.run(run())
    lock.release()


def test_a_counter_that_a_dying_process_did_not_share_is_found_by_the_next_write(
    tmp_path: Path,
) -> None:
    async def run() -> None:
        engine = SqliteEngine.open(tmp_path)
        await engine.write(plain(creates=["t"], announced=True))
        # What a process killed between its commit and the sharing leaves behind.
        engine._shared.set_counter(0)
        assert engine.counter() == 0
        await engine.write(put("t", b"k", b"v"))
        assert engine.counter() == 1
        await engine.close()

    lock = acquire_directory(tmp_path)
    asyncio.run(run())
    lock.release()


async def test_stores_that_come_and_go_elsewhere_disturb_no_reader(tmp_path: Path) -> None:
    lock = acquire_directory(tmp_path)
    engine = SqliteEngine.open(tmp_path, writes_together=True)
    await engine.write(plain(creates=["t"]))
    await engine.write(put("t", b"k", b"v"))
    receiver, sender = CONTEXT.Pipe(duplex=False)
    process = CONTEXT.Process(target=change_stores, args=(tmp_path, 150, sender))
    process.start()
    reads = 0
    while not receiver.poll():
        # A name never used before, so that SQLite has to prepare a statement for it.
        absent = f"absent{reads}"
        keys = [("t", SHARD, b"k"), (absent, SHARD, b"k")]
        assert await engine.read_together(keys) == [b"v", None]
        assert await read(engine, absent, b"k") == [None]
        assert await page(engine, absent) == ([], True)
        reads += 1
        assert process.is_alive() or receiver.poll()
    process.join(SECONDS_MAX)
    await engine.close()
    lock.release()
    assert reads > 0


def test_processes_that_close_at_the_same_moment_leave_no_log_behind(tmp_path: Path) -> None:
    paths = [tmp_path / str(number) for number in range(40)]
    locks = [acquire_directory(path) for path in paths]
    run_processes(close_together, paths, CONTEXT.Barrier(PROCESSES))
    for lock in locks:
        lock.release()
    assert [path for path in paths if (path / "hashrange.db-wal").exists()] == []
