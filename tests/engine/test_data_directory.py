"""A data directory is made, recognised, locked, or refused with a message for people."""

from __future__ import annotations

import asyncio
import fcntl
import os
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path
from zlib import crc32

import apsw
import pytest

from hashrange.engine.sqlite import data_directory
from hashrange.engine.sqlite.data_directory import (
    APPLICATION_ID,
    DATABASE_NAME,
    FORMAT_VERSION,
    LOG_NAME,
    join_directory,
    wait_for_workers,
)
from hashrange.engine.sqlite.engine import DataDirectoryError, SqliteEngine, acquire_directory
from hashrange.engine.sqlite.shared_state import SHARED_STATE_NAME
from hashrange.errors import StaleVersionError
from tests.engine.decisions import append, plain
from tests.engine.reading import numbers_of, tally


def test_a_directory_is_made_with_its_parents_for_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "some" / "data"
    acquire_directory(path).release()
    assert stat.S_IMODE(path.stat().st_mode) == 0o700
    for file in path.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    connection = apsw.Connection(str(path / DATABASE_NAME))
    assert connection.pragma("application_id") == APPLICATION_ID
    assert connection.pragma("user_version") == FORMAT_VERSION
    assert connection.pragma("journal_mode") == "wal"
    connection.close()


def test_a_second_server_is_told_who_has_the_directory(tmp_path: Path) -> None:
    lock = acquire_directory(tmp_path)
    with pytest.raises(DataDirectoryError, match=f"in use by .* \\(process {os.getpid()}\\)"):
        acquire_directory(tmp_path)
    lock.release()
    acquire_directory(tmp_path).release()


def test_another_process_is_refused_as_well(tmp_path: Path) -> None:
    lock = acquire_directory(tmp_path)
    script = (
        "import sys; from hashrange.engine.sqlite.engine import *\n"
        "try: acquire_directory(sys.argv[1])\n"
        "except DataDirectoryError as error: sys.exit(str(error))"
    )
    result = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert f"in use by another Hashrange server (process {os.getpid()})" in result.stderr
    lock.release()


def test_a_worker_keeps_the_directory_after_its_parent_let_go(tmp_path: Path) -> None:
    lock = acquire_directory(tmp_path)
    engine = SqliteEngine.open(tmp_path)
    lock.release()
    with pytest.raises(DataDirectoryError, match="in use"):
        acquire_directory(tmp_path)
    asyncio.run(engine.close())
    acquire_directory(tmp_path).release()


def _ended_process() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_the_workers_of_a_killed_server_are_waited_for(tmp_path: Path) -> None:
    acquire_directory(tmp_path).release()
    worker = join_directory(tmp_path)
    (tmp_path / "LOCK").write_text(f"{_ended_process()}\n")
    has_ended = threading.Event()

    def end() -> None:
        has_ended.set()
        worker.release()

    threading.Timer(0.2, end).start()
    wait_for_workers(tmp_path)
    assert has_ended.is_set()
    acquire_directory(tmp_path).release()


def test_nobody_else_is_waited_for(tmp_path: Path) -> None:
    wait_for_workers(tmp_path / "missing")
    assert not list(tmp_path.iterdir())
    lock = acquire_directory(tmp_path)
    begin = time.monotonic()
    wait_for_workers(tmp_path)
    assert time.monotonic() - begin < data_directory._ENDING_SECONDS_MAX
    lock.release()


def test_workers_are_not_waited_for_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data_directory, "_ENDING_SECONDS_MAX", 0.05)
    acquire_directory(tmp_path).release()
    worker = join_directory(tmp_path)
    process = _ended_process()
    (tmp_path / "LOCK").write_text(f"{process}\n")
    wait_for_workers(tmp_path)
    with pytest.raises(DataDirectoryError, match=f"in use .* {process}, which has ended"):
        acquire_directory(tmp_path)
    worker.release()


def test_an_engine_opens_only_a_prepared_directory(tmp_path: Path) -> None:
    with pytest.raises(DataDirectoryError, match="not been prepared"):
        SqliteEngine.open(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_directory_with_other_things_in_it_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(DataDirectoryError, match=r"not empty \(it holds thesis.txt\)"):
        acquire_directory(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.txt"]


def test_the_root_of_a_fresh_file_system_is_accepted(tmp_path: Path) -> None:
    (tmp_path / "lost+found").mkdir()
    acquire_directory(tmp_path).release()


def test_a_database_of_another_program_is_refused_and_left_alone(tmp_path: Path) -> None:
    database = tmp_path / DATABASE_NAME
    connection = apsw.Connection(str(database))
    connection.execute("CREATE TABLE theirs(x)")
    connection.close()
    before = database.read_bytes()
    with pytest.raises(DataDirectoryError, match="not a Hashrange database"):
        acquire_directory(tmp_path)
    database.write_bytes(b"not even SQLite")
    with pytest.raises(DataDirectoryError, match="not a Hashrange database"):
        acquire_directory(tmp_path)
    database.write_bytes(before)
    # With a journal beside it SQLite has to look, and finds the same.
    (tmp_path / f"{DATABASE_NAME}-journal").write_bytes(b"")
    with pytest.raises(DataDirectoryError, match="not a Hashrange database"):
        acquire_directory(tmp_path)
    assert database.read_bytes() == before


def test_a_newer_format_is_refused(tmp_path: Path) -> None:
    acquire_directory(tmp_path).release()
    connection = apsw.Connection(str(tmp_path / DATABASE_NAME))
    connection.pragma("user_version", FORMAT_VERSION + 1)
    connection.close()
    with pytest.raises(
        DataDirectoryError, match=f"format version {FORMAT_VERSION + 1}, written by a newer"
    ):
        acquire_directory(tmp_path)


def test_a_path_that_is_no_directory_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    for path in (file, file / "below"):
        with pytest.raises(DataDirectoryError, match="Cannot use data directory"):
            acquire_directory(path)


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_directory_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.mkdir(mode=0o500)
    with pytest.raises(DataDirectoryError, match="Permission denied"):
        acquire_directory(path)


def content_of(directory: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in directory.iterdir()}


def make_old_directory(path: Path, version: int) -> None:
    """Make what an older release left behind: format 1 had no sequence, 2 one for all."""
    path.mkdir()
    connection = apsw.Connection(str(path / DATABASE_NAME))
    sequence = ", sequence INTEGER NOT NULL" if version == 2 else ""
    connection.execute(
        f"""
        PRAGMA page_size = 8192;
        CREATE TABLE meta(
            id INTEGER PRIMARY KEY CHECK(id = 0), epoch INTEGER NOT NULL,
            stores_version INTEGER NOT NULL, fence INTEGER NOT NULL{sequence}
        );
        INSERT INTO meta VALUES(0, 5, 1, 0{", 7" if sequence else ""});
        CREATE TABLE tallies(
            store TEXT PRIMARY KEY NOT NULL, rows INTEGER NOT NULL, bytes INTEGER NOT NULL
        ) WITHOUT ROWID;
        INSERT INTO tallies VALUES('t1', 1, 3);
        CREATE TABLE store_t1(key BLOB NOT NULL UNIQUE, value BLOB NOT NULL);
        INSERT INTO store_t1 VALUES(x'6b', x'76');
        PRAGMA application_id = {APPLICATION_ID};
        PRAGMA user_version = {version};
        """
    ).fetchall()
    connection.pragma("journal_mode", "wal")
    connection.close()


def refuse_old_directory(path: Path, version: int) -> None:
    with pytest.raises(DataDirectoryError) as refusal:
        acquire_directory(path)
    assert str(refusal.value) == (
        f"Data directory {path} has format version {version}, written by an older release of "
        "Hashrange; this one reads version 3 only. Run that release and copy the tables to a new "
        "directory."
    )


@pytest.mark.parametrize("version", [1, 2])
def test_an_older_format_is_refused_and_left_as_it_is(tmp_path: Path, version: int) -> None:
    path = tmp_path / "data"
    make_old_directory(path, version)
    before = content_of(path)
    refuse_old_directory(path, version)
    assert content_of(path) == before


@pytest.mark.parametrize("version", [1, 2])
def test_an_older_format_with_the_files_of_its_server_is_left_as_it_is(
    tmp_path: Path, version: int
) -> None:
    path = tmp_path / "data"
    make_old_directory(path, version)
    for name in ("LOCK", "TURN", "QUEUE", "EPOCH"):
        (path / name).write_bytes(b"1234567890\n" if name == "LOCK" else b"")
    before = content_of(path)
    refuse_old_directory(path, version)
    assert content_of(path) == before
    # The release that made it can have it again.
    with (path / "LOCK").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_an_older_format_with_a_log_that_was_left_behind_is_left_as_it_is(tmp_path: Path) -> None:
    made, path = tmp_path / "made", tmp_path / "data"
    make_old_directory(made, 2)
    connection = apsw.Connection(str(made / DATABASE_NAME))
    connection.execute("INSERT INTO store_t1 VALUES(x'6c', x'76')")
    path.mkdir()
    for name in (DATABASE_NAME, LOG_NAME):
        (path / name).write_bytes((made / name).read_bytes())
    connection.close()
    before = content_of(path)
    assert before[LOG_NAME]
    refuse_old_directory(path, 2)
    assert content_of(path) == before


def test_the_counter_comes_from_the_database_whatever_the_shared_file_says(tmp_path: Path) -> None:
    async def announce(times: int) -> int:
        engine = SqliteEngine.open(tmp_path)
        for _ in range(times):
            await engine.write(plain(announced=True))
        counter = engine.counter()
        await engine.close()
        return counter

    lock = acquire_directory(tmp_path)
    assert asyncio.run(announce(3)) == 3
    lock.release()
    shared = tmp_path / SHARED_STATE_NAME
    for content in (b"", b"\xff" * 8, None):
        if content is None:
            shared.unlink()
        else:
            shared.write_bytes(content)
        lock = acquire_directory(tmp_path)
        assert asyncio.run(announce(0)) == 3
        lock.release()


def test_versions_numbers_and_tallies_survive_a_restart(tmp_path: Path) -> None:
    async def before() -> None:
        engine = SqliteEngine.open(tmp_path)
        await engine.write(plain(creates=["t", "t.log", "u"]))
        await engine.write(plain(raises=[("t", 7)], tallies=[("t", 1, 10)]))
        await engine.write(append("t.log", b"1", b"2"))
        await engine.write(append("u", b"1"))
        await engine.close()

    async def after() -> None:
        engine = SqliteEngine.open(tmp_path)
        with pytest.raises(StaleVersionError):
            await engine.write(plain(fences=[("t", 6)]))
        await engine.write(plain(appends=[("t.log", b"", b"3")], fences=[("t", 7)]))
        await engine.write(plain(appends=[("u", b"", b"2")], fences=[("u", 0)]))
        assert await numbers_of(engine, "t.log") == [1, 2, 3]
        assert await numbers_of(engine, "u") == [1, 2]
        assert await tally(engine, "t") == (1, 10)
        await engine.close()

    for step in (before, after):
        lock = acquire_directory(tmp_path)
        asyncio.run(step())
        lock.release()


def test_the_database_has_the_tables_that_are_documented(tmp_path: Path) -> None:
    async def write() -> None:
        engine = SqliteEngine.open(tmp_path)
        await engine.write(plain(creates=["t1", "t1.c", "u2"], raises=[("t1", 4)], announced=True))
        await engine.write(plain(puts=[("t1.c", b"k", b"v")], appends=[("t1", b"p", b"")]))
        await engine.write(plain(drops=["u2"]))
        await engine.close()

    lock = acquire_directory(tmp_path)
    asyncio.run(write())
    lock.release()
    connection = apsw.Connection(str(tmp_path / DATABASE_NAME))
    meta = connection.execute("SELECT id, counter, layout, sum, fence FROM meta").fetchall()
    assert meta == [(0, 1, 3, crc32(b"0\x001\x003\x00"), 0)]
    spaces = connection.execute("SELECT space, version, sequence, sum FROM spaces").fetchall()
    assert spaces == [("t1", 4, 1, crc32(b"t1\x004\x001\x00"))]
    tallies = connection.execute("SELECT store, rows, bytes, sum FROM tallies").fetchall()
    assert tallies == [
        ("t1", 0, 0, crc32(b"t1\x000\x000\x00")),
        ("t1.c", 0, 0, crc32(b"t1.c\x000\x000\x00")),
    ]
    start = crc32(b"k", crc32(b"t1.c"))
    row_sum = (start & 0x7FFFFFFF) << 32 | crc32(b"v", start)
    rows = connection.execute('SELECT key, sum, value FROM "store_t1.c"').fetchall()
    assert rows == [(b"k", row_sum, b"v")]
    appended = connection.execute("SELECT key, value FROM store_t1").fetchall()
    assert appended == [(b"p" + (1).to_bytes(8, "big"), b"")]
    connection.close()


def test_a_clean_close_leaves_everything_in_the_database_file(tmp_path: Path) -> None:
    async def write() -> None:
        engine = SqliteEngine.open(tmp_path)
        await engine.write(plain(creates=["t"], puts=[("t", b"k", b"v")]))
        await engine.close()

    lock = acquire_directory(tmp_path)
    asyncio.run(write())
    lock.release()
    assert not (tmp_path / f"{DATABASE_NAME}-wal").exists()
    connection = apsw.Connection(str(tmp_path / DATABASE_NAME))
    assert connection.execute("SELECT value FROM store_t").get == b"v"
    connection.close()
