"""Backups of whole servers, through the command; servers that run meanwhile are in tests/faults."""

import asyncio
import shutil
from pathlib import Path

import pytest

from hashrange import server_backup
from hashrange.cli import backups as command
from hashrange.cli.main import build_parser
from hashrange.engine.base import STRONG
from hashrange.engine.sqlite.data_directory import acquire_directory
from hashrange.engine.sqlite.engine import SqliteEngine
from hashrange.engine.sqlite.online_copy import OnlineCopy
from hashrange.objects.folder import FolderStore
from hashrange.objects.server_backups import ServerBackups
from tests.engine.decisions import plain

KEY = bytes(range(32))


def run(*arguments: object) -> int:
    return command.run(build_parser().parse_args(["backup", *map(str, arguments)]), {})


def write(directory: Path, *keys: bytes, key: bytes | None = None) -> None:
    """Put rows in a data directory as a server that stops afterwards does."""

    async def put() -> None:
        lock = acquire_directory(directory, server_key=key)
        engine = SqliteEngine.open(directory, server_key=key)
        if not (await engine.read([("store", 0, b"a")], STRONG))[0]:
            await engine.write(plain(creates=["store"]))
        for each in keys:
            await engine.write(plain(puts=[("store", each, each * 1000)]))
        await engine.close()
        lock.release()

    asyncio.run(put())


def rows(directory: Path, *keys: bytes, key: bytes | None = None) -> list[bytes | None]:
    async def read() -> list[bytes | None]:
        lock = acquire_directory(directory, server_key=key)
        engine = SqliteEngine.open(directory, server_key=key)
        found = await engine.read([("store", 0, each) for each in keys], STRONG)
        await engine.close()
        lock.release()
        return found

    return asyncio.run(read())


@pytest.fixture
def data(tmp_path: Path) -> Path:
    directory = tmp_path / "data"
    write(directory, b"a", b"b")
    return directory


def test_a_server_is_backed_up_listed_verified_and_restored(data, tmp_path, capsys):
    place = tmp_path / "backups"
    assert run("create", data, place) == 0
    id = capsys.readouterr().out.strip()
    assert run("list", place) == 0
    assert id in (listed := capsys.readouterr().out)
    assert "whole server" in listed
    assert run("verify", place) == run("verify", place, id) == 0
    capsys.readouterr()
    write(data, b"c")
    shutil.rmtree(data)
    assert run("restore", place, "latest", data) == 0
    assert capsys.readouterr().out == f"{data} is as {id} was\n"
    assert rows(data, b"a", b"b", b"c") == [b"a" * 1000, b"b" * 1000, None]


def test_a_log_that_was_not_moved_yet_is_part_of_the_backup(data, tmp_path, capsys):
    log = data / "hashrange.db-wal"
    write(data, b"c")
    crashed = tmp_path / "crashed"

    async def crash() -> None:
        lock = acquire_directory(data)
        engine = SqliteEngine.open(data)
        await engine.write(plain(puts=[("store", b"d", b"logged")]))
        assert log.stat().st_size > 0
        shutil.copytree(data, crashed, ignore=shutil.ignore_patterns("SHARED"))
        await engine.close()
        lock.release()

    asyncio.run(crash())
    assert run("create", crashed, tmp_path / "backups", "--rate", "0") == 0
    assert run("restore", tmp_path / "backups", "latest", tmp_path / "new") == 0
    assert rows(tmp_path / "new", b"c", b"d") == [b"c" * 1000, b"logged"]


def test_an_encrypted_server_has_encrypted_backups(tmp_path, capsys):
    data, place = tmp_path / "data", tmp_path / "backups"
    write(data, b"secret", key=KEY)
    assert run("create", data, place) == 0
    assert run("list", place) == 0
    assert "encrypted" in capsys.readouterr().out
    assert not any(b"secretsecret" in part.read_bytes() for part in place.rglob("*.0*"))
    assert run("restore", place, "latest", tmp_path / "new") == 0
    assert rows(tmp_path / "new", b"secret", key=KEY) == [b"secret" * 1000]


def test_only_an_empty_directory_is_restored_to(data, tmp_path, capsys):
    assert run("create", data, tmp_path / "backups") == 0
    assert run("restore", tmp_path / "backups", "latest", data) == 1
    assert "is not empty" in capsys.readouterr().err
    (tmp_path / "empty").mkdir()
    assert run("restore", tmp_path / "backups", "latest", tmp_path / "empty") == 0
    assert rows(tmp_path / "empty", b"a") == [b"a" * 1000]


def test_damage_is_found_and_nothing_half_is_restored(data, tmp_path, capsys):
    place = tmp_path / "backups"
    assert run("create", data, place) == 0
    (part,) = place.glob("servers/2*/hashrange.db.00000")
    content = bytearray(part.read_bytes())
    content[5000] ^= 1
    part.write_bytes(content)
    assert run("verify", place) == 1
    assert "hashrange.db.00000 is damaged" in capsys.readouterr().err
    assert run("restore", place, "latest", tmp_path / "new") == 1
    assert [path.name for path in tmp_path.iterdir() if "new" in path.name] == []
    part.unlink()
    assert run("verify", place) == 1
    assert "is missing" in capsys.readouterr().err
    (manifest,) = place.rglob("servers/2*/manifest.json")
    manifest.write_bytes(b"{}")
    assert run("list", place) == 1


def test_what_is_no_directory_or_no_backup_is_told(tmp_path, capsys):
    assert run("create", tmp_path, tmp_path / "backups") == 1
    assert "is not a data directory" in capsys.readouterr().err
    assert run("list", tmp_path / "nowhere") == 1
    (tmp_path / "backups" / "servers").mkdir(parents=True)
    assert run("restore", tmp_path / "backups", "latest", tmp_path / "new") == 1
    assert "holds no backups of servers" in capsys.readouterr().err
    assert run("list", "s3://bucket/prefix") == 1
    assert "give --s3-endpoint" in capsys.readouterr().err


def test_what_an_interrupted_backup_left_is_deleted_by_a_later_one(data, tmp_path):
    place = tmp_path / "backups"
    store = ServerBackups(FolderStore(place, is_inline=True), "servers")
    old, young = "20200101T000000-00000000", "29990101T000000-00000000"

    async def leave() -> None:
        await store.prepare()
        for id in (old, young):
            await store.write_file(id, "hashrange.db", [b"half"])

    asyncio.run(leave())
    assert run("create", data, place) == 0
    left = {path.parent.name for path in place.glob("servers/2*/hashrange.db.00000")}
    assert old not in left
    assert young in left


def test_a_log_that_starts_again_is_copied_anew(data, monkeypatch):
    log = data / "hashrange.db-wal"
    first, second = (bytes(16) + salt * 8 + bytes(8) for salt in (b"1", b"2"))
    log.write_bytes(first + b"old")
    with OnlineCopy(data) as copy:
        pieces = copy.read_log()
        assert next(pieces) == first + b"old"
        log.write_bytes(second + b"new!")
        assert list(pieces) == [None, second + b"new!"]
    log.unlink()


def test_progress_is_told_and_the_rate_is_kept(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    monkeypatch.setattr("time.sleep", lambda seconds: now.append(now.pop() + seconds))
    said: list[str] = []
    meter = server_backup.Meter(said.append, 10 << 20, bytes_per_second=1 << 20)
    for _ in range(5):
        meter.note(1 << 20)
    assert now == [5.0]
    assert said == ["2 MB of about 10 MB", "4 MB of about 10 MB"]
