"""A dropped store is gone at once, and its pages are freed in pieces, also after a crash."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import apsw
import pytest

from hashrange.engine.base import EVENTUAL
from hashrange.engine.sqlite.data_directory import DATABASE_NAME
from hashrange.engine.sqlite.engine import SqliteEngine, acquire_directory
from hashrange.engine.sqlite.reserve import RESERVE_BYTES
from hashrange.errors import StorageFullError
from tests.engine.decisions import keys_of, plain

ROWS = 3000


def key_of(number: int) -> bytes:
    return number.to_bytes(4, "little") * 5


async def filled(engine: SqliteEngine, rows: int) -> None:
    await engine.write(plain(creates=["big", "small"]))
    for first in range(0, rows, 500):
        puts = [("big", key_of(number), b"v" * 2000) for number in range(first, first + 500)]
        await engine.write(plain(puts=puts))


def tables_of(path: Path) -> list[str]:
    connection = apsw.Connection(str(path / DATABASE_NAME))
    rows = connection.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE '%big%'"
    ).fetchall()
    connection.close()
    return [str(row[0]) for row in rows]


def test_a_dropped_store_is_empty_at_once_and_can_be_made_again(tmp_path: Path) -> None:
    async def run() -> None:
        engine = SqliteEngine.open(tmp_path)
        await filled(engine, ROWS)
        await engine.write(plain(drops=["big"]))
        assert await engine.read(keys_of("big", [key_of(1)]), EVENTUAL) == [None]
        await engine.write(plain(creates=["big"], puts=[("big", key_of(2), b"new")]))
        read = await engine.read(keys_of("big", [key_of(1), key_of(2)]), EVENTUAL)
        assert read == [None, b"new"]
        while await engine.tidy():
            pass
        assert await engine.read(keys_of("big", [key_of(2)]), EVENTUAL) == [b"new"]
        await engine.close()

    lock = acquire_directory(tmp_path)
    asyncio.run(run())
    lock.release()
    assert tables_of(tmp_path) == ["store_big"]


def test_what_is_left_of_a_dropped_store_is_freed_after_a_restart(tmp_path: Path) -> None:
    async def drop() -> None:
        engine = SqliteEngine.open(tmp_path)
        await filled(engine, ROWS)
        await engine.write(plain(drops=["big"]))
        assert await engine.tidy()
        await engine.close()

    async def go_on() -> int:
        engine = SqliteEngine.open(tmp_path)
        pieces = 0
        while await engine.tidy():
            pieces += 1
        await engine.close()
        return pieces

    lock = acquire_directory(tmp_path)
    asyncio.run(drop())
    assert len(tables_of(tmp_path)) == 1
    assert asyncio.run(go_on()) > 0
    assert asyncio.run(go_on()) == 0
    lock.release()
    assert tables_of(tmp_path) == []


def test_a_drop_holds_the_event_loop_for_a_short_time_whatever_the_size(tmp_path: Path) -> None:
    longest = 0.0

    async def run() -> None:
        nonlocal longest
        engine = SqliteEngine.open(tmp_path, durability="relaxed")
        await filled(engine, 10_000)

        async def drop() -> None:
            await engine.write(plain(drops=["big"]))
            while await engine.tidy():
                await asyncio.sleep(0)

        task = asyncio.create_task(drop())
        while not task.done():
            # The processor time of this thread: the machine may have other things to do.
            begin = time.thread_time()
            await asyncio.sleep(0)
            longest = max(longest, time.thread_time() - begin)
        await task
        await engine.close()

    lock = acquire_directory(tmp_path)
    asyncio.run(run())
    lock.release()
    assert longest < 0.05


def test_making_many_stores_costs_each_the_same(tmp_path: Path) -> None:
    """Nothing is read or copied for the stores that are there already."""

    async def run() -> tuple[float, float]:
        engine = SqliteEngine.open(tmp_path, durability="relaxed")
        times = []
        for number in range(400):
            begin = time.thread_time()
            await engine.write(plain(creates=[f"t{number}"]))
            times.append(time.thread_time() - begin)
        await engine.close()
        return sorted(times[:50])[25], sorted(times[-50:])[25]

    lock = acquire_directory(tmp_path)
    first, last = asyncio.run(run())
    lock.release()
    assert last < max(20 * first, 0.005)


class _FullDisk(apsw.VFS):
    """A disk that has no room while the reserve holds some."""

    def __init__(self, reserve: Path) -> None:
        self.reserve = reserve
        self.is_full = False
        super().__init__("reserved", "unix")

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802 - SQLite's name
        return _FullFile(self, name, flags)

    def excepthook(self, *_: object) -> bool:
        return True


class _FullFile(apsw.VFSFile):
    def __init__(
        self, disk: _FullDisk, name: str | apsw.URIFilename | None, flags: list[int]
    ) -> None:
        self.disk = disk
        super().__init__("unix", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802 - SQLite's name
        if self.disk.is_full and self.disk.reserve.stat().st_size:
            raise apsw.FullError("no room, as planned")
        super().xWrite(data, offset)

    def excepthook(self, *_: object) -> bool:
        return True


def test_a_store_can_be_dropped_when_the_disk_is_full(tmp_path: Path) -> None:
    disk = _FullDisk(tmp_path / "RESERVE")

    async def run() -> None:
        engine = SqliteEngine.open(tmp_path, vfs="reserved")
        await filled(engine, 500)
        disk.is_full = True
        with pytest.raises(StorageFullError):
            await engine.write(plain(puts=[("small", b"k", b"v")]))
        dropped, refused = await asyncio.gather(
            engine.write(plain(drops=["big"], outcome="dropped")),
            engine.write(plain(puts=[("small", b"k", b"v")])),
            return_exceptions=True,
        )
        assert dropped == "dropped"
        assert isinstance(refused, StorageFullError)
        assert await engine.read(keys_of("big", [key_of(1)]), EVENTUAL) == [None]
        disk.is_full = False
        while await engine.tidy():
            pass
        assert disk.reserve.stat().st_size == RESERVE_BYTES
        await engine.close()

    lock = acquire_directory(tmp_path)
    asyncio.run(run())
    lock.release()
    disk.unregister()
