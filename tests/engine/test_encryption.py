"""Encrypted directories: who opens them, what can be read from outside, conversions, new keys."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hashrange import maintenance
from hashrange.engine.base import STRONG, Changes
from hashrange.engine.sqlite import conversion
from hashrange.engine.sqlite.data_directory import DATABASE_NAME, LOG_NAME, NEW_DATABASE_NAME
from hashrange.engine.sqlite.encryption import MARK_NAME, read_mark, root_key
from hashrange.engine.sqlite.engine import DataDirectoryError, SqliteEngine, acquire_directory
from hashrange.maintenance import MaintenanceError

KEY, OTHER = bytes(range(32)), bytes(range(1, 33))
WORD = b"planted-word"
ROWS = 400


class Fill:
    """A decision to make a store and write rows full of a word."""

    fences = ()
    keys = ()

    def __init__(self, store: str = "planted_store.a", rows: int = ROWS) -> None:
        self.store, self.rows = store, rows

    def decide(self, _rows: object) -> Changes:
        changes = Changes()
        changes.creates.append(self.store)
        for number in range(self.rows):
            changes.puts.append((self.store, 0, b"%06d" % number, WORD * 40 + b"%06d" % number))
        changes.tallies.append((self.store, self.rows, 0))
        return changes


def fill(path: Path, key: bytes | None, rows: int = ROWS) -> None:
    async def run() -> None:
        engine = SqliteEngine.open(path, server_key=key)
        await engine.write(Fill(rows=rows))
        await engine.close()

    lock = acquire_directory(path, server_key=key)
    asyncio.run(run())
    lock.release()


def count(path: Path, key: bytes | None) -> int:
    """Return how many rows a directory has, having checked them."""

    async def run() -> int:
        engine = SqliteEngine.open(path, server_key=key)
        limits: Any = {"rows_max": 100_000, "bytes_max": 1 << 30, "consistency": STRONG}
        rows, _ = await engine.range("planted_store.a", 0, b"", b"\xff", reverse=False, **limits)
        await engine.close()
        assert all(value == WORD * 40 + row_key for row_key, value in rows)
        return len(rows)

    lock = acquire_directory(path, server_key=key)
    try:
        return asyncio.run(run())
    finally:
        lock.release()


def contents(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in path.iterdir()}


def shows(path: Path, word: bytes = WORD) -> bool:
    return any(word in content for content in contents(path).values())


def silent(_text: str) -> None:
    pass


def test_a_directory_made_with_a_key_shows_nothing_and_opens_with_it(tmp_path):
    fill(tmp_path, KEY)
    assert not shows(tmp_path)
    assert not shows(tmp_path, b"store")
    assert count(tmp_path, KEY) == ROWS


def test_the_log_of_a_killed_server_shows_nothing_and_is_replayed(tmp_path):
    program = """
import asyncio, os, signal, sys
from hashrange.engine.sqlite.engine import SqliteEngine, acquire_directory
from tests.engine.test_encryption import KEY, Fill
async def run():
    await SqliteEngine.open(sys.argv[1], server_key=KEY).write(Fill())
    os.kill(os.getpid(), signal.SIGKILL)
lock = acquire_directory(sys.argv[1], server_key=KEY)
asyncio.run(run())
"""
    killed = subprocess.run([sys.executable, "-c", program, str(tmp_path)], timeout=60)
    assert killed.returncode == -signal.SIGKILL
    log = tmp_path / LOG_NAME
    assert log.stat().st_size > ROWS * 40 * len(WORD)
    assert not shows(tmp_path)
    assert count(tmp_path, KEY) == ROWS


@pytest.mark.parametrize(
    ("key", "words"), [(OTHER, "the key that was given is"), (None, "--key-file")]
)
def test_a_wrong_or_missing_key_is_refused_and_nothing_is_touched(tmp_path, key, words):
    fill(tmp_path, KEY)
    before = contents(tmp_path)
    modes = {file.name: file.stat().st_mtime_ns for file in tmp_path.iterdir()}
    with pytest.raises(DataDirectoryError, match=words):
        acquire_directory(tmp_path, server_key=key)
    assert contents(tmp_path) == before
    assert {file.name: file.stat().st_mtime_ns for file in tmp_path.iterdir()} == modes
    assert count(tmp_path, KEY) == ROWS


def test_a_key_for_a_plain_directory_is_refused_with_the_way_to_encrypt_it(tmp_path):
    fill(tmp_path, None)
    before = contents(tmp_path)
    with pytest.raises(DataDirectoryError, match="hashrange encrypt"):
        acquire_directory(tmp_path, server_key=KEY)
    assert contents(tmp_path) == before


def test_a_directory_without_its_mark_is_refused(tmp_path):
    fill(tmp_path, KEY)
    (tmp_path / MARK_NAME).unlink()
    with pytest.raises(DataDirectoryError, match="not a Hashrange database"):
        acquire_directory(tmp_path)


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b'{"format": 1, "cipher": "aegis-256"}'])
def test_a_damaged_mark_is_refused(tmp_path, content):
    fill(tmp_path, KEY)
    (tmp_path / MARK_NAME).write_bytes(content)
    with pytest.raises(DataDirectoryError, match="ENCRYPTION is damaged"):
        acquire_directory(tmp_path, server_key=KEY)


def test_the_mark_of_another_directory_is_refused(tmp_path):
    fill(tmp_path / "a", KEY)
    fill(tmp_path / "b", KEY)
    os.replace(tmp_path / "a" / MARK_NAME, tmp_path / "b" / MARK_NAME)
    with pytest.raises(DataDirectoryError, match="does not belong"):
        acquire_directory(tmp_path / "b", server_key=KEY)


def test_the_mark_tells_no_secret(tmp_path):
    fill(tmp_path, KEY)
    content = (tmp_path / MARK_NAME).read_bytes()
    assert KEY not in content
    assert KEY.hex().encode() not in content
    assert root_key(tmp_path, KEY).hex().encode() not in content


def test_a_plain_directory_can_be_encrypted_and_made_plain_again(tmp_path):
    fill(tmp_path, None)
    assert shows(tmp_path)
    maintenance.encrypt(str(tmp_path), KEY, None, silent)
    assert not shows(tmp_path)
    assert count(tmp_path, KEY) == ROWS
    with pytest.raises(MaintenanceError, match="already"):
        maintenance.encrypt(str(tmp_path), KEY, None, silent)
    maintenance.decrypt(str(tmp_path), KEY, silent)
    assert shows(tmp_path)
    assert count(tmp_path, None) == ROWS
    assert count(tmp_path, KEY) == ROWS  # secrets in it still need the key
    with pytest.raises(MaintenanceError, match="not encrypted"):
        maintenance.decrypt(str(tmp_path), KEY, silent)


def test_secrets_keep_their_key_through_every_conversion(tmp_path):
    fill(tmp_path, None)
    secrets_key = os.urandom(32)
    maintenance.encrypt(str(tmp_path), KEY, secrets_key, silent)
    assert root_key(tmp_path, KEY) == secrets_key
    maintenance.rekey(str(tmp_path), KEY, OTHER, pages=True, say_progress=silent)
    assert root_key(tmp_path, OTHER) == secrets_key
    maintenance.decrypt(str(tmp_path), OTHER, silent)
    assert root_key(tmp_path, OTHER) == secrets_key
    plain = tmp_path / "plain"
    fill(plain, None)
    maintenance.rekey(str(plain), secrets_key, KEY, pages=False, say_progress=silent)
    assert root_key(plain, KEY) == secrets_key
    assert count(plain, None) == ROWS


@pytest.mark.parametrize("pages", [False, True])
def test_another_key_opens_a_directory_after_a_rekey_and_the_old_one_does_not(tmp_path, pages):
    fill(tmp_path, KEY)
    before = (tmp_path / DATABASE_NAME).read_bytes()
    maintenance.rekey(str(tmp_path), KEY, OTHER, pages=pages, say_progress=silent)
    assert count(tmp_path, OTHER) == ROWS
    with pytest.raises(DataDirectoryError, match="the key that was given is"):
        acquire_directory(tmp_path, server_key=KEY)
    # The first bytes are the salt of the page key.
    assert ((tmp_path / DATABASE_NAME).read_bytes()[:16] == before[:16]) is not pages


def test_a_conversion_without_room_is_refused_and_changes_nothing(tmp_path, monkeypatch):
    fill(tmp_path, None)
    before = (tmp_path / DATABASE_NAME).read_bytes()

    class Full:
        free = 1000

    monkeypatch.setattr("shutil.disk_usage", lambda _path: Full)
    with pytest.raises(MaintenanceError, match="no room"):
        maintenance.encrypt(str(tmp_path), KEY, None, silent)
    assert (tmp_path / DATABASE_NAME).read_bytes() == before
    assert read_mark(tmp_path) is None


def test_a_conversion_tells_how_far_it_is(tmp_path, monkeypatch):
    fill(tmp_path, None)
    monkeypatch.setattr(conversion, "_STEPS", 100)
    monkeypatch.setattr(maintenance, "_PROGRESS_SECONDS", 0.0)
    said: list[str] = []
    maintenance.encrypt(str(tmp_path), KEY, None, said.append)
    assert len(said) > 1
    assert "MB written" in said[0]


KILLED_AT = ("first mark", "rename", "second mark", "in the middle")


@pytest.mark.parametrize("moment", KILLED_AT)
@pytest.mark.parametrize("act", ["encrypt", "decrypt", "rekey"])
def test_a_conversion_killed_at_any_moment_loses_nothing(tmp_path, act, moment):
    """What the conversion does at each step is replaced by the end of the process."""
    fill(tmp_path, None if act == "encrypt" else KEY)
    program = """
import os, signal, sys
from hashrange import maintenance
from hashrange.engine.sqlite import conversion
from tests.engine.test_encryption import KEY, OTHER, silent
path, act, moment = sys.argv[1:]
def end(*_):
    os.kill(os.getpid(), signal.SIGKILL)
marks = []
def write_mark(directory, mark, write=conversion.write_mark):
    marks.append(mark)
    if moment == ["first mark", "second mark"][len(marks) - 1]:
        end()
    write(directory, mark)
conversion.write_mark = write_mark
if moment == "rename":
    conversion.os.replace = lambda source, target, replace=os.replace: (
        replace(source, target) if "ENCRYPTION" in str(target) else end()
    )
if moment == "in the middle":
    conversion._STEPS = 100
    maintenance._PROGRESS_SECONDS = 0.0
say = end if moment == "in the middle" else silent
if act == "encrypt":
    maintenance.encrypt(path, KEY, None, say)
elif act == "decrypt":
    maintenance.decrypt(path, KEY, say)
else:
    maintenance.rekey(path, KEY, OTHER, pages=True, say_progress=say)
"""
    killed = subprocess.run([sys.executable, "-c", program, str(tmp_path), act, moment], timeout=60)
    assert killed.returncode == -signal.SIGKILL
    if act == "rekey":
        # The new key counts from the first step on; the pages may have their old key.
        assert count(tmp_path, OTHER) == ROWS
        maintenance.rekey(str(tmp_path), OTHER, KEY, pages=True, say_progress=silent)
        assert count(tmp_path, KEY) == ROWS
    else:
        _finish(tmp_path, act)
    assert not (tmp_path / NEW_DATABASE_NAME).exists()
    assert shows(tmp_path) is (act == "decrypt")


def _finish(path: Path, act: str) -> None:
    """Do again what was interrupted; a server refuses what is half done and loses nothing."""
    for key in (KEY, None):
        try:
            assert count(path, key) == ROWS
        except DataDirectoryError as error:
            assert any(  # noqa: PT017 - either is right, depending on the moment
                words in str(error)
                for words in ("interrupted", "not encrypted", "is encrypted with")
            )
    try:
        if act == "encrypt":
            maintenance.encrypt(str(path), KEY, None, silent)
        else:
            maintenance.decrypt(str(path), KEY, silent)
    except MaintenanceError as error:
        assert "already" in str(error) or "not encrypted" in str(error)  # noqa: PT017 - it had ended
    assert count(path, KEY if act == "encrypt" else None) == ROWS


def test_a_damaged_page_is_refused_never_served(tmp_path):
    fill(tmp_path, KEY)
    database = tmp_path / DATABASE_NAME
    content = bytearray(database.read_bytes())
    position = len(content) // 2
    content[position] ^= 1
    database.write_bytes(content)
    said: list[str] = []
    assert maintenance.check(str(tmp_path), KEY, said.append, silent) > 0
    assert said
