"""Backups of tables in files: what is written is read back, and anything else is refused."""

import asyncio
import json
import zlib
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from hashrange.objects.backup_parts import BackupDamagedError, Entry
from hashrange.objects.backups import BackupFiles, _digest
from hashrange.objects.folder import FolderStore

ENTRIES = [(b"key%d" % number, b"row with words " * number) for number in range(50)]
KEY = bytes(range(32))
ID = "01700000000000-01234567"


def run(call: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(call)


def made(folder: Path, key: bytes | None = None) -> BackupFiles:
    """Return the files of a folder, with one backup of two parts in it."""
    files = BackupFiles(FolderStore(folder, is_inline=True), "tables", key=key, is_inline=True)
    run(files.prepare())
    parts = [run(write_part(files, number, ENTRIES[number::2])) for number in range(2)]
    run(files.complete(ID, {"name": "nightly"}, parts))
    return files


async def write_part(files: BackupFiles, number: int, entries: list[Entry]) -> dict[str, Any]:
    part = await files.begin_part(ID, number)
    for entry in entries:
        await part.add([entry], len(entry[1]))
    return await part.complete()


def entries(files: BackupFiles) -> list[Entry]:
    async def read() -> list[Entry]:
        manifest = await files.manifest(ID)
        parts = [files.read_part(ID, manifest, number) for number in range(2)]
        return [entry for part in parts async for piece in part for entry in piece]

    found: list[Entry] = run(read())
    return found


@pytest.mark.parametrize("key", [None, KEY])
def test_a_backup_reads_back(tmp_path: Path, key: bytes | None) -> None:
    files = made(tmp_path, key)
    assert entries(files) == ENTRIES[::2] + ENTRIES[1::2]
    assert run(files.manifest(ID))["backup"] == {"name": "nightly"}


def test_with_a_key_no_item_can_be_read_from_the_files(tmp_path: Path) -> None:
    made(tmp_path, KEY)
    part = (tmp_path / "tables" / ID / "part-00000").read_bytes()
    with pytest.raises(zlib.error):
        zlib.decompress(part)
    assert b"nightly" not in (tmp_path / "tables" / ID / "manifest.json").read_bytes()
    for key, reason in ((None, "has no key"), (bytes(32), "another key")):
        other = BackupFiles(
            FolderStore(tmp_path, is_inline=True), "tables", key=key, is_inline=True
        )
        with pytest.raises(BackupDamagedError, match=reason):
            entries(other)


def test_a_readable_manifest_of_an_encrypted_backup_still_serves(tmp_path: Path) -> None:
    """Manifests of earlier releases are not encrypted."""
    files = made(tmp_path, KEY)
    manifest = run(files.manifest(ID))
    run(BackupFiles(files._store, "tables", is_inline=True).complete(ID, {}, manifest["parts"]))
    path = tmp_path / "tables" / ID / "manifest.json"
    earlier = json.loads(path.read_text()) | {"is_sealed": True}
    del earlier["sha256"]
    earlier["sha256"] = _digest(earlier)
    path.write_text(json.dumps(earlier))
    assert entries(files) == ENTRIES[::2] + ENTRIES[1::2]


def test_a_damaged_part_is_noticed(tmp_path: Path) -> None:
    files = made(tmp_path)
    path = tmp_path / "tables" / ID / "part-00001"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(BackupDamagedError, match="part-00001 is damaged"):
        entries(files)
    path.unlink()
    with pytest.raises(BackupDamagedError, match="part-00001 is missing"):
        entries(files)


def test_a_changed_manifest_is_noticed(tmp_path: Path) -> None:
    files = made(tmp_path)
    path = tmp_path / "tables" / ID / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["parts"].pop()
    path.write_text(json.dumps(manifest))
    with pytest.raises(BackupDamagedError, match="was changed"):
        run(files.manifest(ID))
    path.write_text("[]")
    with pytest.raises(BackupDamagedError, match="cannot be read"):
        run(files.manifest(ID))


def test_without_its_manifest_there_is_no_backup(tmp_path: Path) -> None:
    files = made(tmp_path)

    async def ids() -> list[str]:
        return [id async for id in files.ids()]

    assert run(ids()) == [ID]
    run(files.delete(ID))
    assert run(ids()) == []
    assert not list((tmp_path / "tables" / ID).glob("part-*"))
    run(files.delete(ID))
    with pytest.raises(BackupDamagedError, match="has no manifest"):
        run(files.manifest(ID))
