"""The folder of buckets: whole objects, safe names, the order of keys, files copied in."""

import os
import stat
from hashlib import md5
from pathlib import Path

import pytest

from hashrange.objects.base import (
    NoSuchBucketError,
    NoSuchKeyError,
    ObjectStoreError,
    get_object,
    put_object,
)
from hashrange.objects.folder import FolderStore
from hashrange.objects.seals import PLAIN, KeySeal, Seal
from tests.harness.loops import in_loop

KEYS = [
    "a-b",
    "a/b",
    "a/c/d",
    "a0",
    "b",
    "folder/",
    "é/x",
    "..",
    "x/../y",
    "%41",
    ".hidden",
    "a//b",
]


@pytest.fixture(params=[PLAIN, KeySeal([bytes(32)])], ids=["plain", "sealed"])
def seal(request) -> Seal:
    return request.param


async def bucket(root: Path, seal: Seal = PLAIN) -> FolderStore:
    store = FolderStore(root / "buckets", seal=seal)
    await store.create_bucket("bucket", "owner")
    return store


@in_loop
async def test_objects_are_read_back_as_they_were_written(tmp_path: Path, seal: Seal) -> None:
    store = await bucket(tmp_path, seal)
    for key in KEYS:
        entry = await put_object(store, "bucket", key, key.encode() * 3)
        assert entry.etag == md5(key.encode() * 3).hexdigest()
    for key in KEYS:
        assert await get_object(store, "bucket", key) == key.encode() * 3
        assert (await store.head("bucket", key)).etag == md5(key.encode() * 3).hexdigest()


@in_loop
async def test_no_key_leaves_the_folder_of_its_bucket(tmp_path: Path) -> None:
    store = await bucket(tmp_path)
    for key in ("../../escaped", "/etc/passwd", "a/../../../b", "c:\\d", ".hashrange/x"):
        await put_object(store, "bucket", key, b"content")
    outside = {path.name for path in tmp_path.iterdir()} | {
        path.name for path in (tmp_path / "buckets").iterdir()
    }
    assert outside == {"buckets", "bucket"}
    assert not (tmp_path / "buckets" / "bucket" / ".hashrange" / "x").exists()


@pytest.mark.parametrize("name", ["..", "a", "UPPER", "a/b", "a..b", "127.0.0.1", ".hidden", ""])
@in_loop
async def test_names_that_are_not_of_buckets_are_refused(name: str, tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    with pytest.raises(ObjectStoreError, match="not valid"):
        await store.create_bucket(name, "")


@in_loop
async def test_pages_are_in_the_order_of_keys(tmp_path: Path, seal: Seal) -> None:
    store = await bucket(tmp_path, seal)
    for key in KEYS:
        await put_object(store, "bucket", key, b"")
    for prefix in ("", "a", "a/", "a/c", "none", "é"):
        expected = sorted((key for key in KEYS if key.startswith(prefix)), key=str.encode)
        for keys_max in (1, 3, 100):
            seen: list[str] = []
            after = ""
            while True:
                page = await store.page("bucket", prefix, after=after, keys_max=keys_max)
                seen += [entry.key for entry in page.objects]
                after = page.last
                if not page.is_truncated:
                    break
            assert seen == expected


@in_loop
async def test_common_prefixes_stand_for_what_is_below_them(tmp_path: Path) -> None:
    store = await bucket(tmp_path)
    for key in ("a/1", "a/2", "b", "c/d/e", "c/f"):
        await put_object(store, "bucket", key, b"")
    page = await store.page("bucket", "", delimiter="/")
    assert (page.prefixes, [entry.key for entry in page.objects]) == (["a/", "c/"], ["b"])
    page = await store.page("bucket", "", delimiter="/", keys_max=1)
    assert (page.prefixes, page.is_truncated) == (["a/"], True)
    page = await store.page("bucket", "", delimiter="/", after=page.last)
    assert (page.prefixes, [entry.key for entry in page.objects]) == (["c/"], ["b"])
    page = await store.page("bucket", "c/", delimiter="/")
    assert (page.prefixes, [entry.key for entry in page.objects]) == (["c/d/"], ["c/f"])


@in_loop
async def test_an_object_is_not_seen_before_it_is_complete(tmp_path: Path, seal: Seal) -> None:
    store = await bucket(tmp_path, seal)
    upload = await store.begin("bucket", "key")
    await upload.write(b"half")
    with pytest.raises(NoSuchKeyError):
        await store.head("bucket", "key")
    await upload.abort()
    assert (await store.page("bucket", "")).objects == []
    assert list((tmp_path / "buckets" / "bucket" / ".hashrange" / "u").iterdir()) == []


@in_loop
async def test_parts_of_an_object_are_read_by_their_positions(tmp_path: Path, seal: Seal) -> None:
    store = await bucket(tmp_path, seal)
    await put_object(store, "bucket", "key", b"0123456789")
    assert b"".join([c async for c in store.read("bucket", "key", start=2, end=5)]) == b"234"
    assert b"".join([c async for c in store.read("bucket", "key", start=8)]) == b"89"


@in_loop
async def test_files_are_private(tmp_path: Path) -> None:
    store = await bucket(tmp_path)
    await put_object(store, "bucket", "a/b", b"secret")
    for path, folders, files in os.walk(tmp_path / "buckets"):
        for name in folders + files:
            mode = stat.S_IMODE((Path(path) / name).stat().st_mode)
            assert mode & 0o077 == 0, f"{path}/{name} is {mode:o}"


@in_loop
async def test_a_file_that_somebody_copied_in_is_an_object(tmp_path: Path) -> None:
    store = await bucket(tmp_path)
    (tmp_path / "buckets" / "bucket" / "copied.json").write_bytes(b"{}")
    entry = await store.head("bucket", "copied.json")
    assert (entry.size, entry.etag[-2:]) == (2, "-1")
    await put_object(store, "bucket", "copied.json", b"[]")
    (tmp_path / "buckets" / "bucket" / "copied.json").write_bytes(b"changed")
    assert (await store.head("bucket", "copied.json")).etag[-2:] == "-1"


@in_loop
async def test_only_an_empty_bucket_can_be_deleted(tmp_path: Path, seal: Seal) -> None:
    store = await bucket(tmp_path, seal)
    await put_object(store, "bucket", "a/b", b"")
    with pytest.raises(ObjectStoreError, match="not empty"):
        await store.delete_bucket("bucket")
    await store.delete("bucket", "a/b")
    await store.delete_bucket("bucket")
    with pytest.raises(NoSuchBucketError):
        await store.bucket("bucket")


@in_loop
async def test_an_object_cannot_be_the_folder_of_another(tmp_path: Path, seal: Seal) -> None:
    store = await bucket(tmp_path, seal)
    await put_object(store, "bucket", "a", b"")
    with pytest.raises(ObjectStoreError, match="cannot hold both"):
        await put_object(store, "bucket", "a/b", b"")
    await put_object(store, "bucket", "c/d", b"")
    with pytest.raises(ObjectStoreError, match="cannot hold both"):
        await put_object(store, "bucket", "c", b"")
