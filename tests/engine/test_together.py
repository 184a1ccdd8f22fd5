"""Engines that write together: nobody is told of what the disk does not have yet."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest

from hashrange.engine.base import Changes
from hashrange.engine.sqlite.data_directory import LOG_NAME
from hashrange.engine.sqlite.engine import SqliteEngine, acquire_directory
from hashrange.engine.sqlite.log_check import read_salt
from hashrange.engine.sqlite.log_sync import open_file
from hashrange.engine.sqlite.shared_state import SHARED_STATE_NAME, SharedState
from hashrange.errors import EngineError, UnknownOutcomeError
from tests.engine.decisions import SHARD, Rows, Write, plain, put
from tests.engine.reading import page, read, rows_of, tally
from tests.faults.power import IN_THREAD, ON_LOOP, Event, Recorder

SECONDS_MAX = 20.0


class HeldLog(Recorder):
    """Lets nobody in a thread sync the log until it is released."""

    def __init__(self) -> None:
        super().__init__()
        self.is_asked = threading.Event()
        self.is_released = threading.Event()
        self.is_released.set()

    def before_sync(self, file: str) -> None:
        if file == LOG_NAME and threading.current_thread().name == "hashrange-commit":
            self.is_asked.set()
            assert self.is_released.wait(SECONDS_MAX)

    def hold(self) -> None:
        self.is_asked.clear()
        self.is_released.clear()


@pytest.fixture
def disk() -> Iterator[HeldLog]:
    disk = HeldLog()
    yield disk
    disk.unregister()


@contextmanager
def directory(path: Path, disk: Recorder) -> Iterator[None]:
    lock = acquire_directory(path, vfs=disk.name)
    yield
    lock.release()


def open_engine(path: Path, disk: Recorder, quick_seconds: float = IN_THREAD) -> SqliteEngine:
    return SqliteEngine.open(path, writes_together=True, quick_seconds=quick_seconds, vfs=disk.name)


async def until_asked(disk: HeldLog) -> None:
    loop = asyncio.get_running_loop()
    assert await loop.run_in_executor(None, disk.is_asked.wait, SECONDS_MAX)


async def is_waiting(task: asyncio.Future[Any]) -> bool:
    """Tell whether something still waits after many turns of the event loop."""
    for _ in range(1000):
        await asyncio.sleep(0)
    return not task.done()


async def scan(engine: SqliteEngine) -> list[bytes]:
    return [key for key, _ in await rows_of(engine)]


def rewritten_log(events: list[Event]) -> bytes:
    """Return what writes to the log, one after the other and from its beginning, have written."""
    content = b""
    for event in events:
        assert (event.kind, event.file, event.offset) == ("write", LOG_NAME, len(content))
        content += event.content
    return content


async def test_whoever_reads_a_row_waits_until_the_disk_has_it(
    tmp_path: Path, disk: HeldLog
) -> None:
    with directory(tmp_path, disk):
        writer, reader = open_engine(tmp_path, disk), open_engine(tmp_path, disk, ON_LOOP)
        await writer.write(plain(creates=["t"], puts=[("t", b"old", b"1"), ("t", b"more", b"1")]))
        disk.hold()
        writing = asyncio.ensure_future(writer.write(plain(puts=[("t", b"new", b"2")])))
        await until_asked(disk)
        # Rows that nobody has changed lately are read at once.
        assert await asyncio.wait_for(read(reader, "t", b"old"), 1) == [b"1"]
        assert await asyncio.wait_for(page(reader, "t", lower=b"old", upper=b"old\xff"), 1) == (
            [(b"old", b"1")],
            True,
        )
        waiting: list[asyncio.Future[object]] = [
            writing,
            asyncio.ensure_future(read(writer, "t", b"new")),
            asyncio.ensure_future(scan(writer)),
        ]
        assert all([await is_waiting(task) for task in waiting])
        disk.is_released.set()
        assert await asyncio.gather(*waiting) == [None, [b"2"], [b"more", b"new", b"old"]]
        await writer.close()
        await reader.close()


async def test_a_reader_elsewhere_syncs_what_it_read_if_nobody_else_does(
    tmp_path: Path, disk: HeldLog
) -> None:
    with directory(tmp_path, disk):
        writer, reader = open_engine(tmp_path, disk), open_engine(tmp_path, disk, ON_LOOP)
        await writer.write(plain(creates=["t"]))
        disk.hold()
        writing = asyncio.ensure_future(writer.write(put("t", b"k", b"v")))
        await until_asked(disk)
        # As far as the reader can tell, the writer has died before its sync.
        before = len(disk.journal)
        assert await read(reader, "t", b"k") == [b"v"]
        synced = [event for event in disk.journal[before:] if event.kind == "sync"]
        assert [event.file for event in synced] == [LOG_NAME]
        # Once is enough.
        assert await scan(reader) == [b"k"]
        assert await tally(reader, "t") == (0, 0)
        assert len(disk.journal) == before + 1
        disk.is_released.set()
        await writing
        await writer.close()
        await reader.close()


async def test_a_refusal_waits_until_the_disk_has_the_reason(tmp_path: Path, disk: HeldLog) -> None:
    def decide(rows: Rows) -> Changes:
        return Changes(rows[0])

    with directory(tmp_path, disk):
        first, second = open_engine(tmp_path, disk), open_engine(tmp_path, disk)
        await first.write(plain(creates=["t"]))
        disk.hold()
        writing = asyncio.ensure_future(first.write(put("t", b"k", b"v")))
        await until_asked(disk)
        disk.is_asked.clear()
        refusing = asyncio.ensure_future(second.write(Write(decide, [("t", SHARD, b"k")])))
        await until_asked(disk)
        assert await is_waiting(refusing)
        disk.is_released.set()
        assert await refusing == b"v"
        await writing
        await first.close()
        await second.close()


async def test_that_a_store_is_gone_is_told_when_the_disk_knows(
    tmp_path: Path, disk: HeldLog
) -> None:
    with directory(tmp_path, disk):
        engine = open_engine(tmp_path, disk)
        await engine.write(plain(creates=["t"], puts=[("t", b"k", b"v")]))
        disk.hold()
        dropping = asyncio.ensure_future(engine.write(plain(drops=["t"])))
        await until_asked(disk)
        reading = asyncio.ensure_future(read(engine, "t", b"k"))
        assert await is_waiting(reading)
        disk.is_released.set()
        assert await reading == [None]
        await dropping
        await engine.close()


@pytest.mark.parametrize("quick_seconds", [ON_LOOP, IN_THREAD], ids=["on-loop", "in-thread"])
async def test_after_a_failed_sync_the_whole_log_is_written_once_more(
    tmp_path: Path, disk: HeldLog, quick_seconds: float
) -> None:
    with directory(tmp_path, disk):
        engine = open_engine(tmp_path, disk, quick_seconds)
        await engine.write(plain(creates=["t"]))
        disk.journal.clear()
        disk.failing_syncs = 1
        await engine.write(put("t", b"k", b"v"))
        kinds = [event.kind for event in disk.journal]
        *rewritten, synced = disk.journal[kinds.index("failed sync") + 1 :]
        assert synced.kind == "sync"
        assert rewritten_log(rewritten) == (tmp_path / LOG_NAME).read_bytes()
        await engine.close()


@pytest.mark.parametrize("quick_seconds", [ON_LOOP, IN_THREAD], ids=["on-loop", "in-thread"])
async def test_while_the_disk_fails_nobody_is_told_what_it_may_not_have(
    tmp_path: Path, disk: HeldLog, quick_seconds: float
) -> None:
    with directory(tmp_path, disk):
        engine = open_engine(tmp_path, disk, quick_seconds)
        other = open_engine(tmp_path, disk, quick_seconds)
        await engine.write(plain(creates=["t"], puts=[("t", b"old", b"1")]))
        disk.failing_syncs = 1_000_000
        with pytest.raises(UnknownOutcomeError):
            await engine.write(put("t", b"new", b"1"))
        with pytest.raises(UnknownOutcomeError):
            await other.write(put("t", b"newer", b"1"))
        for reader in (engine, other):
            assert await read(reader, "t", b"old") == [b"1"]
            with pytest.raises(EngineError, match="the disk may not have what was read"):
                await read(reader, "t", b"new")
        disk.failing_syncs = 0
        await other.write(put("t", b"newest", b"1"))
        assert await scan(engine) == [b"new", b"newer", b"newest", b"old"]
        await engine.close()
        await other.close()


async def test_a_log_that_the_disk_may_lack_is_written_once_more_at_the_next_start(
    tmp_path: Path, disk: HeldLog
) -> None:
    with directory(tmp_path, disk):
        engine = open_engine(tmp_path, disk, ON_LOOP)
        await engine.write(plain(creates=["t"]))
        disk.failing_syncs = 1_000_000
        with pytest.raises(UnknownOutcomeError):
            await engine.write(put("t", b"k", b"v"))
        await engine.close()
    log = (tmp_path / LOG_NAME).read_bytes()
    disk.failing_syncs = 0
    disk.journal.clear()
    # Every handle hears of the failure that was before, but none of those opened later.
    with directory(tmp_path, disk):
        kinds = [event.kind for event in disk.journal]
        assert rewritten_log(disk.journal[: kinds.index("sync")]) == log
        assert not (tmp_path / LOG_NAME).exists()
        engine = open_engine(tmp_path, disk, ON_LOOP)
        assert await read(engine, "t", b"k") == [b"v"]
        await engine.close()


def test_ranges_within_a_stripe_ask_for_that_stripe_alone(tmp_path: Path) -> None:
    with SharedState(tmp_path) as shared:
        shared.begin_commit(1, [b"ab1", b"cd"])
        shared.begin_commit(2, [b"ef", b"x", b""])
        assert shared.newest_commit([("t", SHARD, b"ab2")]) == 1
        assert (
            shared.newest_commit([("t", SHARD, b"ab"), ("u", SHARD, b"ef3"), ("t", SHARD, b"zz")])
            == 2
        )
        assert shared.newest_commit([("t", SHARD, b"zz")]) == 0
        assert (
            shared.newest_commit([("t", SHARD, b"")])
            == shared.newest_commit([("t", SHARD, b"x")])
            == 2
        )
        assert shared.newest_between(b"ab", b"ab\xff") == 1
        assert shared.newest_between(b"zz", b"zz\xff") == 0
        assert shared.newest_between(b"ab", b"cd") == 2
        assert shared.newest_between(b"", b"\xff") == shared.newest_between(b"a", b"ab") == 2
        shared.begin_commit(3, None)
        assert shared.newest_commit([("t", SHARD, b"zz")]) == 3
        assert shared.synced() == 0


def test_a_file_of_the_system_is_rewritten_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "log"
    content = bytes(range(256)) * 12_000
    path.write_bytes(content)
    file = open_file(str(path), "unix", apsw.SQLITE_OPEN_WAL)
    file.rewrite()
    file.sync()
    file.close()
    assert path.read_bytes() == content


def test_the_last_engine_of_a_process_closes_the_file_of_all(tmp_path: Path) -> None:
    path = tmp_path / "database"
    path.touch()
    before = len(os.listdir("/dev/fd"))
    first, second = (open_file(str(path), "unix", apsw.SQLITE_OPEN_MAIN_DB) for _ in range(2))
    assert len(os.listdir("/dev/fd")) == before + 1
    first.close()
    second.sync()
    assert len(os.listdir("/dev/fd")) == before + 1
    second.close()
    assert len(os.listdir("/dev/fd")) == before


def test_the_board_has_its_room_on_disk_before_it_is_mapped(tmp_path: Path) -> None:
    for size in (0, 24):
        path = tmp_path / SHARED_STATE_NAME
        path.write_bytes(bytes(size))
        SharedState(tmp_path).close()
        found = path.stat()
        assert found.st_size > 32_768
        assert found.st_blocks * 512 >= found.st_size


async def test_a_commit_that_writes_nothing_says_nothing_of_a_log_that_others_started_again(
    tmp_path: Path, disk: HeldLog
) -> None:
    with directory(tmp_path, disk):
        idle = open_engine(tmp_path, disk)
        busy = SqliteEngine.open(
            tmp_path, writes_together=True, checkpoint_bytes=1 << 16, vfs=disk.name
        )
        shared = SharedState(tmp_path)
        await idle.write(plain(creates=["t"]))
        for number in range(50):
            await idle.write(put("t", b"%d" % number, bytes(1000)))
        with (tmp_path / LOG_NAME).open("rb") as log:
            first = salt = read_salt(log.fileno())
            frames = shared.synced_frames(first)
            while salt == first:
                await busy.write(put("t", b"key", os.urandom(8)))  # the same value writes nothing
                salt = read_salt(log.fileno())
            await idle.write(plain(deletes=[("t", b"absent")]))
            assert read_salt(log.fileno()) == salt
        assert 0 < shared.synced_frames(salt) < frames
        shared.close()
        await idle.close()
        await busy.close()
