"""Folders that become sealed, get another key or become plain; killed anywhere, nothing is lost."""

import os
from pathlib import Path
from typing import Any

import pytest

from hashrange.objects.base import ObjectStoreError, get_object, put_object
from hashrange.objects.conversion import FolderConversion
from hashrange.objects.folder import FolderStore
from hashrange.objects.multipart import MultipartUploads
from hashrange.objects.seals import PLAIN, KeySeal, Seal
from hashrange.sealing import CHUNK_BYTES
from tests.harness.loops import in_loop

FIRST, SECOND = KeySeal([bytes(32)]), KeySeal([bytes(range(32))])
CONTENTS = {"a/empty": b"", "a/small": b"planted-word", "large": os.urandom(CHUNK_BYTES * 2 + 1)}
HEADERS = {"x-amz-meta-note": "planted-word"}
STEPS = [(PLAIN, FIRST), (FIRST, SECOND), (SECOND, PLAIN)]
IDS = ["encrypt", "rekey", "decrypt"]


async def fill(root: Path, seal: Seal) -> str:
    """Make objects and an upload in parts; return its id."""
    store = FolderStore(root, seal=seal)
    await store.create_bucket("bucket", "owner")
    for key, content in CONTENTS.items():
        upload = await store.begin("bucket", key, headers=HEADERS)
        await upload.write(content)
        await upload.complete()
    uploads = MultipartUploads(store)
    id = await uploads.begin("bucket", "parts", "text/plain", HEADERS)
    await uploads.put_part("bucket", "parts", id, 1, CONTENTS["large"])
    await uploads.put_part("bucket", "parts", id, 2, b"end")
    # What a server leaves that is killed.
    for name in ("u/0123456789abcdef0123456789abcdef", "o/.0123456789abcdef"):
        (root / "bucket" / ".hashrange" / name).write_bytes(b"planted-word")
    (root / ".other.01234567" / ".hashrange" / "o").mkdir(parents=True)
    (root / ".other.01234567" / ".hashrange" / "o" / "key").write_bytes(b"planted-word")
    return id


async def seen(root: Path, seal: Seal, id: str) -> dict[str, Any]:
    """Return all that a store tells of its objects and of the parts of an upload."""
    store = FolderStore(root, seal=seal)
    listed = (await store.page("bucket", "")).objects
    assert [entry.key for entry in listed] == sorted(CONTENTS)
    found: dict[str, Any] = {
        entry.key: (entry, await get_object(store, "bucket", entry.key)) for entry in listed
    }
    parts = await MultipartUploads(store).parts("bucket", "parts", id)
    found["parts"] = [(part.number, part.etag, part.size) for part in parts]
    return found


def convert(root: Path, old: Seal, new: Seal) -> FolderConversion:
    conversion = FolderConversion(root, [old], new, lambda _size: None)
    conversion.run()
    return conversion


@pytest.mark.parametrize(("old", "new"), STEPS, ids=IDS)
@in_loop
async def test_a_converted_folder_is_the_same_to_clients(
    old: Seal, new: Seal, tmp_path: Path
) -> None:
    id = await fill(tmp_path, old)
    before = await seen(tmp_path, old, id)
    conversion = convert(tmp_path, old, new)
    assert (conversion.written, conversion.unreadable) == (5, [])
    assert await seen(tmp_path, new, id) == before
    shown = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert (b"planted-word" in shown) is (new is PLAIN)
    assert convert(tmp_path, old, new).written == 0
    uploads = MultipartUploads(FolderStore(tmp_path, seal=new))
    chosen = [(number, etag) for number, etag, _ in before["parts"]]
    joined = await uploads.complete("bucket", "parts", id, chosen)
    assert (joined.size, joined.headers) == (len(CONTENTS["large"]) + 3, HEADERS)


class KilledError(BaseException):
    """The process ends here."""


class Steps:
    """Counts steps on the file system, and ends the process at one of them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.left = -1
        for name in ("replace", "unlink"):
            monkeypatch.setattr(Path, name, self._counted(getattr(Path, name)))

    def _counted(self, act: Any) -> Any:
        def step(*arguments: Any, **options: Any) -> Any:
            self.left -= 1
            if self.left == 0:
                raise KilledError
            return act(*arguments, **options)

        return step


@pytest.mark.parametrize(("old", "new"), STEPS, ids=IDS)
@in_loop
async def test_a_conversion_that_is_killed_anywhere_loses_nothing(
    old: Seal, new: Seal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    id = await fill(tmp_path, old)
    before = await seen(tmp_path, old, id)
    steps = Steps(monkeypatch)
    kills = 0
    for number in range(1, 12):
        steps.left = number
        try:
            convert(tmp_path, old, new)
        except KilledError:
            kills += 1
        steps.left = -1
        for key, content in CONTENTS.items():
            assert content in [await content_in(tmp_path, seal, key) for seal in (old, new)]
    convert(tmp_path, old, new)
    assert kills > 3
    assert await seen(tmp_path, new, id) == before


async def content_in(root: Path, seal: Seal, key: str) -> bytes | None:
    try:
        return await get_object(FolderStore(root, seal=seal), "bucket", key)
    except ObjectStoreError:
        return None


@in_loop
async def test_what_cannot_be_read_is_told_and_left(tmp_path: Path) -> None:
    await fill(tmp_path, FIRST)
    large, small = tmp_path / "bucket" / "large", tmp_path / "bucket" / "a" / "small"
    for path, position in ((large, 100), (small, 0)):
        status = path.stat()
        damaged = bytearray(path.read_bytes())
        damaged[position] ^= 1
        path.write_bytes(damaged)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    before = large.read_bytes(), small.read_bytes()
    assert convert(tmp_path, FIRST, PLAIN).unreadable == [
        "object bucket/a/small",
        "object bucket/large",
    ]
    # One whose beginning is damaged is not taken for a plain file.
    assert convert(tmp_path, PLAIN, FIRST).unreadable == ["object bucket/a/small"]
    assert (large.read_bytes(), small.read_bytes()) == before


@in_loop
async def test_files_that_somebody_copied_in_become_objects(tmp_path: Path) -> None:
    store = FolderStore(tmp_path, seal=FIRST)
    await store.create_bucket("bucket", "owner")
    await put_object(store, "bucket", "replaced", b"before")
    for name in ("copied", "replaced"):
        (tmp_path / "bucket" / name).write_bytes(b"by hand")
        os.utime(tmp_path / "bucket" / name, (1, 1))
    assert convert(tmp_path, PLAIN, FIRST).unreadable == []
    for name in ("copied", "replaced"):
        assert await get_object(store, "bucket", name) == b"by hand"
        assert (await store.head("bucket", name)).modified_at == 1


def test_a_folder_that_is_not_there_needs_no_conversion(tmp_path: Path) -> None:
    assert convert(tmp_path / "none", PLAIN, FIRST).written == 0
