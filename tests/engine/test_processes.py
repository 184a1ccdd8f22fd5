"""Several processes on one data directory behave as one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from hashrange.engine.sqlite.engine import Durability, SqliteEngine, acquire_directory
from hashrange.errors import StaleVersionError
from tests.engine.decisions import plain, put
from tests.engine.processes import (
    CONTEXT,
    change_stores,
    close_together,
    count_together,
    step_together,
)

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


@pytest.mark.parametrize(
    ("durability", "writes_together"), [("full", True), ("full", False), ("relaxed", True)]
)
def test_processes_lose_no_update_and_none_of_them_starves(
    tmp_path: Path, durability: Durability, writes_together: bool
) -> None:
    lock = acquire_directory(tmp_path)

    async def prepare() -> None:
        engine = SqliteEngine.open(tmp_path)
        await engine.write(plain(creates=["t"]))
        await engine.close()

    asyncio.run(prepare())
    told = run_processes(count_together, tmp_path, 40, durability, writes_together)
    lock.release()
    counts = sorted(count for counts in told if isinstance(counts, list) for count in counts)
    assert counts == list(range(1, PROCESSES * 120 + 1))


def test_every_process_sees_every_step_of_the_epoch(tmp_path: Path) -> None:
    lock = acquire_directory(tmp_path)
    run_processes(step_together, tmp_path, 25)

    async def read() -> int:
        engine = SqliteEngine.open(tmp_path)
        epoch = engine.epoch()
        await engine.close()
        return epoch

    assert asyncio.run(read()) == PROCESSES * 25
    lock.release()


@pytest.mark.parametrize("writes_together", [False, True])
def test_engines_of_two_processes_share_epoch_stores_and_rows(
    tmp_path: Path, writes_together: bool
) -> None:
    """Two engines in one process stand for two: they share nothing but the directory."""

    async def run() -> None:
        first = SqliteEngine.open(tmp_path, writes_together=writes_together)
        second = SqliteEngine.open(tmp_path, writes_together=writes_together)
        await first.write(plain(creates=["t"], epoch_step=True))
        assert second.epoch() == 1
        await first.write(plain(appends=[("t", b"", b"")]))
        await second.write(plain(appends=[("t", b"", b"")]))
        assert first.sequence() == second.sequence() == 2
        await second.write(put("t", b"k", b"v"))
        assert await first.read([("t", b"k")]) == [b"v"]
        with pytest.raises(StaleVersionError):
            await second.write(plain(epoch=0))
        await second.write(plain(drops=["t"], creates=["u"], epoch_step=True))
        assert first.epoch() == 2
        assert await first.read([("t", b"k")]) == [None]
        await first.write(put("u", b"k", b"v"))
        assert await second.read([("u", b"k")]) == [b"v"]
        await first.close()
        await second.close()

    lock = acquire_directory(tmp_path)
    asyncio.run(run())
    lock.release()


def test_an_epoch_that_a_dying_process_did_not_share_is_found_by_the_next_write(
    tmp_path: Path,
) -> None:
    async def run() -> None:
        engine = SqliteEngine.open(tmp_path)
        await engine.write(plain(epoch_step=True))
        # What a process killed between its commit and the sharing leaves behind.
        engine._shared.set_epoch(0)
        assert engine.epoch() == 0
        with pytest.raises(StaleVersionError):
            await engine.write(plain(epoch=0))
        assert engine.epoch() == 1
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
        assert await engine.read([("t", b"k"), (absent, b"k")]) == [b"v", None]
        assert await engine.read([(absent, b"k")]) == [None]
        found = await engine.range(absent, b"", b"z", reverse=False, rows_max=9, bytes_max=99)
        assert found == ([], True)
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
