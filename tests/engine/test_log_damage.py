"""A log that lost commits to damage is refused at the start, with advice, and left as it is."""

from __future__ import annotations

import asyncio
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from hashrange.engine.base import EVENTUAL
from hashrange.engine.sqlite.data_directory import DATABASE_NAME, LOG_NAME, PAGE_BYTES
from hashrange.engine.sqlite.engine import DataDirectoryError, SqliteEngine, acquire_directory
from hashrange.engine.sqlite.shared_state import SHARED_STATE_NAME
from tests.engine.decisions import keys_of

COMMITS = 100
FRAME_BYTES = PAGE_BYTES + 24

_WRITER = """
import asyncio, os, sys
from hashrange.engine.sqlite.engine import SqliteEngine, acquire_directory
from tests.engine.decisions import plain, put
async def run():
    engine = SqliteEngine.open(sys.argv[1], durability=sys.argv[2], server_key=key)
    await engine.write(plain(creates=["t"]))
    for number in range(int(sys.argv[3])):
        await engine.write(put("t", b"%d" % number, b"value %d" % number))
    os.kill(os.getpid(), 9)
key = bytes.fromhex(sys.argv[4]) or None
lock = acquire_directory(sys.argv[1], server_key=key)
asyncio.run(run())
"""

either = pytest.mark.parametrize("key", [None, bytes(32)], ids=["plain", "encrypted"])


def killed(
    path: Path, durability: str = "full", commits: int = COMMITS, key: bytes | None = None
) -> bytes:
    """Run a process that writes and is killed; return the log it left."""
    root = Path(__file__).parents[2]
    arguments = [sys.executable, "-c", _WRITER, str(path), durability, str(commits)]
    arguments.append((key or b"").hex())
    subprocess.run(arguments, check=False, cwd=root)
    return (path / LOG_NAME).read_bytes()


def flipped(content: bytes, offset: int) -> bytes:
    damaged = bytearray(content)
    damaged[offset] ^= 16
    return bytes(damaged)


def read_all(path: Path, key: bytes | None = None) -> list[bytes | None]:
    async def run() -> list[bytes | None]:
        engine = SqliteEngine.open(path, server_key=key)
        keys = [b"%d" % number for number in range(COMMITS)]
        rows = await engine.read(keys_of("t", keys), EVENTUAL)
        await engine.close()
        return rows

    lock = acquire_directory(path, server_key=key)
    try:
        return asyncio.run(run())
    finally:
        lock.release()


@either
def test_a_whole_log_is_replayed(tmp_path: Path, key: bytes | None) -> None:
    killed(tmp_path, key=key)
    assert read_all(tmp_path, key) == [b"value %d" % number for number in range(COMMITS)]


@either
@pytest.mark.parametrize("place", ["first", "middle", "last"])
def test_a_flipped_bit_in_a_synced_log_is_refused_and_nothing_is_changed(
    tmp_path: Path, place: str, key: bytes | None
) -> None:
    log = killed(tmp_path, key=key)
    frames = (len(log) - 32) // FRAME_BYTES
    frame = {"first": 0, "middle": frames // 2, "last": frames - 1}[place]
    damaged = flipped(log, 32 + frame * FRAME_BYTES + 500)
    (tmp_path / LOG_NAME).write_bytes(damaged)
    database = (tmp_path / DATABASE_NAME).read_bytes()
    for _ in range(2):
        with pytest.raises(DataDirectoryError, match=r"has lost commits.*hashrange repair"):
            acquire_directory(tmp_path, server_key=key)
    assert (tmp_path / LOG_NAME).read_bytes() == damaged
    assert (tmp_path / DATABASE_NAME).read_bytes() == database
    # Back from a copy, it is good again.
    (tmp_path / LOG_NAME).write_bytes(log)
    assert None not in read_all(tmp_path, key)


@pytest.mark.parametrize("offset", [0, 17, 22, 30])
def test_a_damaged_header_of_the_log_is_refused(tmp_path: Path, offset: int) -> None:
    log = killed(tmp_path)
    (tmp_path / LOG_NAME).write_bytes(flipped(log, offset))
    with pytest.raises(DataDirectoryError, match="header is damaged"):
        acquire_directory(tmp_path)


def test_commits_behind_a_damaged_one_are_logged_where_nothing_tells_of_them(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Syncs that failed before a loss of power leave the same, so this is no reason to refuse."""
    log = killed(tmp_path)
    (tmp_path / LOG_NAME).write_bytes(flipped(log, 32 + 20 * FRAME_BYTES + 500))
    (tmp_path / SHARED_STATE_NAME).unlink()
    acquire_directory(tmp_path).release()
    assert "commits in the log follow frame 21, which is damaged or missing" in caplog.text


def test_the_end_of_a_log_that_nobody_synced_may_be_missing(tmp_path: Path) -> None:
    log = killed(tmp_path, durability="relaxed")
    (tmp_path / LOG_NAME).write_bytes(flipped(log, 32 + 20 * FRAME_BYTES + 500))
    rows = read_all(tmp_path)
    lost = rows.index(None)
    assert all(row is None for row in rows[lost:])


@either
def test_damage_can_be_accepted(tmp_path: Path, key: bytes | None) -> None:
    log = killed(tmp_path, key=key)
    (tmp_path / LOG_NAME).write_bytes(flipped(log, len(log) - 500))
    acquire_directory(tmp_path, accepts_damaged_log=True, server_key=key).release()
    rows = read_all(tmp_path, key)
    assert rows[0] == b"value 0"
    assert rows[-1] is None


def test_a_missing_log_is_refused(tmp_path: Path) -> None:
    killed(tmp_path)
    (tmp_path / LOG_NAME).unlink()
    with pytest.raises(DataDirectoryError, match="it is missing"):
        acquire_directory(tmp_path)


@pytest.mark.parametrize("is_deleted", [True, False])
def test_a_missing_or_empty_database_beside_a_log_is_refused(
    tmp_path: Path, is_deleted: bool
) -> None:
    log = killed(tmp_path)
    database = tmp_path / DATABASE_NAME
    if is_deleted:
        database.unlink()
    else:
        os.truncate(database, 0)
    with pytest.raises(DataDirectoryError, match=r"is (missing|empty), but there is a log"):
        acquire_directory(tmp_path)
    assert (tmp_path / LOG_NAME).read_bytes() == log
    assert database.exists() is not is_deleted


def test_files_are_for_their_owner_only_in_an_existing_directory_too(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    umask = os.umask(0)
    try:
        killed(tmp_path, commits=2)
        (tmp_path / "LOCK").chmod(0o644)
        lock = acquire_directory(tmp_path)
        engine = SqliteEngine.open(tmp_path)
        assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o700
        for file in tmp_path.iterdir():
            assert stat.S_IMODE(file.stat().st_mode) == 0o600, file.name
        asyncio.run(engine.close())
        lock.release()
    finally:
        os.umask(umask)


@pytest.mark.parametrize("name", [DATABASE_NAME, LOG_NAME, "LOCK", "TURN", SHARED_STATE_NAME])
def test_a_link_in_the_place_of_a_file_is_not_followed(tmp_path: Path, name: str) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes(b"mine")
    path = tmp_path / "data"
    acquire_directory(path).release()
    (path / name).unlink(missing_ok=True)
    (path / name).symlink_to(outside)
    with pytest.raises(DataDirectoryError, match="Links are not followed"):
        acquire_directory(path)
    assert outside.read_bytes() == b"mine"


def test_a_second_server_is_refused_when_the_lock_file_was_deleted(tmp_path: Path) -> None:
    lock = acquire_directory(tmp_path)
    (tmp_path / "LOCK").unlink()
    with pytest.raises(DataDirectoryError, match="in use by another Hashrange server"):
        acquire_directory(tmp_path)
    lock.release()
