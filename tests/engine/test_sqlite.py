"""What only the SQLite engine promises: a bounded log, and reads that pin nothing."""

from __future__ import annotations

import asyncio
import random
import sys
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from types import FrameType

import pytest

from hashrange.engine.sqlite import commit_policy
from hashrange.engine.sqlite.connection import open_connection
from hashrange.engine.sqlite.data_directory import DATABASE_NAME
from hashrange.engine.sqlite.engine import Durability, SqliteEngine, acquire_directory
from hashrange.errors import EngineError
from tests.engine.decisions import SHARD, plain, put
from tests.engine.reading import page, read, tally
from tests.engine.slow_disk import SlowDisk
from tests.faults.power import Recorder

CHECKPOINT_BYTES = 200_000


@pytest.mark.parametrize("durability", ["full", "relaxed"])
async def test_the_log_stays_short_under_writes_and_half_read_ranges(
    tmp_path: Path, durability: Durability
) -> None:
    lock = acquire_directory(tmp_path)
    engine = SqliteEngine.open(tmp_path, durability=durability, checkpoint_bytes=CHECKPOINT_BYTES)
    await engine.write(plain(creates=["t"]))
    log = tmp_path / f"{DATABASE_NAME}-wal"
    longest = 0

    async def work(writer: int) -> None:
        nonlocal longest
        for number in range(40):
            await engine.write(put("t", b"%d/%d" % (writer, number), b"x" * 4000))
            await page(engine, "t", rows_max=3)
            await read(engine, "t", b"0/0", b"absent")
            longest = max(longest, log.stat().st_size)
            if (copying := engine._writer._copying) is not None:
                # How long that takes on a busy machine, nobody knows.
                await asyncio.wait([copying])

    await asyncio.gather(*(work(writer) for writer in range(10)))
    await engine.close()
    lock.release()
    # About three megabytes went through it, each row dirtying a few pages.
    assert longest < 10 * CHECKPOINT_BYTES


async def test_the_log_stays_short_under_decisions_of_many_small_rows(tmp_path: Path) -> None:
    """What counts is how much is written to the log: each small row dirties a page of an index."""
    lock = acquire_directory(tmp_path)
    engine = SqliteEngine.open(tmp_path, durability="relaxed", checkpoint_bytes=4 << 20)
    await engine.write(plain(creates=["t"]))
    log = tmp_path / f"{DATABASE_NAME}-wal"
    rng = random.Random(1)
    logged = 0
    for _ in range(600):
        before = log.stat().st_size
        await engine.write(plain(puts=[("t", rng.randbytes(24), b"x" * 50) for _ in range(25)]))
        if (copying := engine._writer._copying) is not None:
            await asyncio.wait([copying])
        logged = max(logged, before, log.stat().st_size)
    await engine.close()
    lock.release()
    # Half a megabyte of rows; some 80 MB of pages went through the log.
    assert logged < 2 * (4 << 20)


@pytest.mark.parametrize(("read_only", "is_mapped"), [(True, True), (False, False)])
def test_every_setting_of_a_connection_takes_effect(
    tmp_path: Path, read_only: bool, is_mapped: bool
) -> None:
    lock = acquire_directory(tmp_path)
    connection = open_connection(tmp_path, syncs_commits=True, read_only=read_only)
    assert connection.pragma("synchronous") == 2
    assert connection.pragma("wal_autocheckpoint") == 0
    assert connection.pragma("journal_size_limit") == 256 << 20
    assert connection.pragma("cache_size") == -8192
    assert (connection.pragma("mmap_size") > 0) is is_mapped
    assert connection.pragma("query_only") == read_only
    connection.close()
    lock.release()


async def test_reading_leaves_nothing_behind(tmp_path: Path) -> None:
    lock = acquire_directory(tmp_path)
    engine = SqliteEngine.open(tmp_path)
    await engine.write(plain(creates=["t"], puts=[("t", b"%d" % n, b"x") for n in range(9)]))

    async def read_often(times: int) -> None:
        for rows_max in [2, 100] * times:
            await page(engine, "t", rows_max=rows_max)
            await read(engine, "t", b"1", b"absent")

    await read_often(100)
    tracemalloc.start()
    try:
        await read_often(100)
        before, _ = tracemalloc.get_traced_memory()
        await read_often(1000)
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        await engine.close()
        lock.release()
    assert after - before < 10_000


@pytest.mark.parametrize("quick_seconds", [60.0, 0.0], ids=["on-loop", "in-thread"])
async def test_writing_leaves_nothing_behind(tmp_path: Path, quick_seconds: float) -> None:
    lock = acquire_directory(tmp_path)
    engine = SqliteEngine.open(tmp_path, quick_seconds=quick_seconds)
    await engine.write(plain(creates=["t"]))

    async def write(times: int) -> None:
        for _ in range(times):
            await engine.write(plain(puts=[("t", b"k", b"x")]))

    def pause(_frame: FrameType, event: str, called: object) -> None:
        # The commit thread is to be at work before the event loop has let go of a batch.
        if event == "c_return" and getattr(called, "__name__", "") == "put":
            time.sleep(0.0005)

    tracemalloc.start()
    sys.setprofile(pause)
    try:
        await write(50)
        before, _ = tracemalloc.get_traced_memory()
        await write(200)
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        sys.setprofile(None)
        await engine.close()
        lock.release()
    assert after - before < 10_000


async def test_a_closed_engine_refuses_politely(tmp_path: Path) -> None:
    lock = acquire_directory(tmp_path)
    engine = SqliteEngine.open(tmp_path)
    await engine.close()
    for call in (
        engine.write(plain()),
        read(engine, "t", b"k"),
        page(engine, "t"),
        tally(engine, "t"),
    ):
        with pytest.raises(EngineError):
            await call
    lock.release()


@pytest.mark.parametrize(
    "name", ["", "T", "a-b", "a b", 'a"b', "x" * 201, "ä", "a.", ".a", "a.b.c", "a.B", "."]
)
async def test_a_store_needs_a_plain_name(tmp_path: Path, name: str) -> None:
    lock = acquire_directory(tmp_path)
    engine = SqliteEngine.open(tmp_path)
    with pytest.raises(EngineError, match="not a store name"):
        await engine.write(plain(creates=[name]))
    with pytest.raises(EngineError, match="not a store name"):
        await read(engine, name, b"k")
    await engine.close()
    lock.release()


async def test_a_store_may_carry_a_word_of_sql(tmp_path: Path) -> None:
    lock = acquire_directory(tmp_path)
    engine = SqliteEngine.open(tmp_path)
    await engine.write(plain(creates=["select", "1", "t.from"], puts=[("select", b"k", b"v")]))
    await engine.write(put("t.from", b"k", b"w"))
    keys = [("select", SHARD, b"k"), ("1", SHARD, b"k"), ("t.from", SHARD, b"k")]
    assert await engine.read_together(keys) == [b"v", None, b"w"]
    await engine.close()
    lock.release()


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    recorder = Recorder()
    yield recorder
    recorder.unregister()


async def test_those_who_wrote_together_are_committed_together(
    tmp_path: Path, recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    # However long a turn of the event loop takes, a batch waits for the turns it may wait for.
    monkeypatch.setattr(commit_policy, "perf_counter", lambda: 0.0)
    lock = acquire_directory(tmp_path, vfs=recorder.name)
    engine = SqliteEngine.open(tmp_path, quick_seconds=60.0, vfs=recorder.name)
    await engine.write(plain(creates=["t"]))
    writers = 6
    numbers = count()

    async def write(turns: int) -> None:
        # Each comes back a little later than the one before it.
        for _ in range(turns):
            await asyncio.sleep(0)
        # Every time another value: SQLite syncs nothing for a row that stays the same.
        await engine.write(plain(puts=[("t", b"k", b"%d" % next(numbers))]))

    async def commits_of_all() -> int:
        recorder.journal.clear()
        await asyncio.gather(*(write(turns) for turns in range(writers)))
        return sum(event.kind == "sync" for event in recorder.journal)

    await asyncio.gather(*(write(0) for _ in range(writers)))
    assert await commits_of_all() == 1
    # Somebody alone waits in vain, and therefore less and less.
    for _ in range(writers):
        await write(0)
    assert await commits_of_all() > 1
    await engine.close()
    lock.release()


@pytest.mark.parametrize("quick_seconds", [60.0, 1e-9], ids=["quick", "slow"])
async def test_only_a_quick_disk_is_waited_for_on_the_event_loop(
    tmp_path: Path, recorder: Recorder, quick_seconds: float
) -> None:
    lock = acquire_directory(tmp_path, vfs=recorder.name)
    engine = SqliteEngine.open(tmp_path, quick_seconds=quick_seconds, vfs=recorder.name)
    # The first commit tells how quick the disk is.
    await engine.write(plain(creates=["t"]))
    recorder.syncing_threads.clear()
    await engine.write(plain(puts=[("t", b"k", b"x")]))
    quick = quick_seconds > 1
    assert recorder.syncing_threads == {"MainThread" if quick else "hashrange-commit"}
    # Much to write takes its time on every disk.
    recorder.syncing_threads.clear()
    await engine.write(plain(puts=[("t", b"large", b"x" * 1_000_000)]))
    assert recorder.syncing_threads == {"hashrange-commit"}
    # So does what no client waits for.
    recorder.syncing_threads.clear()
    await engine.write(plain(puts=[("t", b"k", b"y")], unhurried=True))
    assert recorder.syncing_threads == {"hashrange-commit"}
    await engine.close()
    lock.release()


class HeldDisk(Recorder):
    """Lets nobody flush the database until it is released."""

    def __init__(self) -> None:
        super().__init__()
        self.is_asked = threading.Event()
        self.is_released = threading.Event()

    def before_sync(self, file: str) -> None:
        if file == DATABASE_NAME:
            self.is_asked.set()
            assert self.is_released.wait(60)


async def write_until(engine: SqliteEngine, is_reached: Callable[[], bool]) -> int:
    """Write rows under numbers from 0 on; return how many were needed."""
    for number in count():
        if is_reached():
            return number
        await engine.write(put("t", b"%d" % number, b"x" * 4000))
    raise AssertionError


@pytest.mark.parametrize("quick_seconds", [60.0, 0.0], ids=["on-loop", "in-thread"])
async def test_writes_go_on_while_the_log_is_copied(tmp_path: Path, quick_seconds: float) -> None:
    lock = acquire_directory(tmp_path)
    disk = HeldDisk()
    engine = SqliteEngine.open(
        tmp_path, checkpoint_bytes=CHECKPOINT_BYTES, quick_seconds=quick_seconds, vfs=disk.name
    )
    log = tmp_path / f"{DATABASE_NAME}-wal"
    await engine.write(plain(creates=["t"]))
    await write_until(engine, disk.is_asked.is_set)
    for number in range(100):
        await engine.write(put("t", b"more %d" % number, b"x" * 4000))
    size, beginning = log.stat().st_size, log.read_bytes()[:32]
    disk.is_released.set()
    # Whoever writes then finishes the checkpoint, and the log starts again from its beginning.
    await write_until(engine, lambda: log.read_bytes()[:32] != beginning)
    assert log.stat().st_size < 2 * size
    assert await read(engine, "t", b"0", b"more 99") == [b"x" * 4000] * 2
    await engine.close()
    assert not log.exists()
    disk.unregister()
    lock.release()


async def test_after_a_failure_to_flush_the_database_the_log_is_kept(
    tmp_path: Path, recorder: Recorder, caplog: pytest.LogCaptureFixture
) -> None:
    lock = acquire_directory(tmp_path)
    engine = SqliteEngine.open(
        tmp_path, checkpoint_bytes=CHECKPOINT_BYTES, quick_seconds=60.0, vfs=recorder.name
    )
    other = SqliteEngine.open(tmp_path, checkpoint_bytes=CHECKPOINT_BYTES)
    log = tmp_path / f"{DATABASE_NAME}-wal"
    await engine.write(plain(creates=["t"]))
    recorder.failing_files = {DATABASE_NAME}
    written = await write_until(engine, lambda: bool(caplog.records))
    assert "is kept, and grows, until the server is started again" in caplog.text
    recorder.failing_files = set()
    recorder.journal.clear()
    # Neither this process nor another one moves any of it.
    for number in range(100):
        await engine.write(put("t", b"%d" % number, b"y" * 4000))
        await other.write(put("t", b"other %d" % number, b"y" * 4000))
    await other.close()
    await engine.close()
    assert not any(event.file == DATABASE_NAME for event in recorder.journal)
    assert log.stat().st_size > 2 * CHECKPOINT_BYTES
    lock.release()
    lock = acquire_directory(tmp_path)
    assert not log.exists()
    engine = SqliteEngine.open(tmp_path)
    assert await read(engine, "t", b"99", b"other 99") == [b"y" * 4000] * 2
    await engine.close()
    lock.release()
    assert written > 5


async def test_on_a_slow_disk_clients_that_write_one_after_another_share_their_commits(
    tmp_path: Path,
) -> None:
    lock = acquire_directory(tmp_path)
    disk = SlowDisk("slow", seconds=0.03)
    engine = SqliteEngine.open(tmp_path, vfs=disk.name)
    await engine.write(plain(creates=["t"]))
    before = disk.syncs

    async def work(writer: int) -> None:
        await asyncio.sleep(0.01 * (writer % 2))
        for number in range(12):
            await engine.write(put("t", b"%d/%d" % (writer, number), b"v"))
            await asyncio.sleep(0.003)

    await asyncio.gather(*(work(writer) for writer in range(4)))
    commits = disk.syncs - before
    await engine.close()
    lock.release()
    # In two groups that take turns they would need 24.
    assert 12 <= commits < 20
