"""Uploads in parts: how they are listed, and when nobody goes on with them."""

import os
import time
from pathlib import Path

import pytest

from hashrange.limits import UPLOAD_SECONDS_MAX
from hashrange.objects.base import ObjectStoreError
from hashrange.objects.folder import FolderStore
from hashrange.objects.multipart import MultipartUploads
from tests.harness.loops import in_loop


async def bucket(root: Path) -> FolderStore:
    store = FolderStore(root)
    await store.create_bucket("bucket", "owner")
    return store


def age(path: Path, seconds: float) -> None:
    then = time.time() - seconds
    for each in [path, *(path.iterdir() if path.is_dir() else ())]:
        os.utime(each, (then, then))


@in_loop
async def test_uploads_are_listed_until_they_end(tmp_path: Path) -> None:
    uploads = MultipartUploads(await bucket(tmp_path))
    ids = [await uploads.begin("bucket", key, "text/plain", {}) for key in ("b", "a/1", "b", "a/2")]
    found = await uploads.uploads("bucket", "")
    assert [(entry.key, entry.id) for entry in found] == [
        *(("a/1", ids[1]), ("a/2", ids[3])),
        *(("b", ids[0]), ("b", ids[2])),
    ]
    assert [entry.key for entry in await uploads.uploads("bucket", "a/")] == ["a/1", "a/2"]
    await uploads.abort("bucket", "a/1", ids[1])
    etag = await uploads.put_part("bucket", "b", ids[0], 1, b"content")
    await uploads.complete("bucket", "b", ids[0], [(1, etag)])
    assert [entry.id for entry in await uploads.uploads("bucket", "")] == [ids[3], ids[2]]


@in_loop
async def test_what_nobody_goes_on_with_is_removed(tmp_path: Path) -> None:
    store = await bucket(tmp_path)
    uploads = MultipartUploads(store)
    old, busy, fresh = [await uploads.begin("bucket", key, "", {}) for key in "abc"]
    folder = store.uploads_of("bucket")
    stray = folder / "left-by-a-killed-server"
    stray.write_bytes(b"content")
    for path in (folder / old, folder / busy, stray):
        age(path, UPLOAD_SECONDS_MAX + 60)
    await uploads.put_part("bucket", "b", busy, 1, b"content")
    # Another server, since one looks only once in a while.
    later = MultipartUploads(FolderStore(tmp_path))
    assert {entry.id for entry in await later.uploads("bucket", "")} == {busy, fresh}
    assert not stray.exists()
    with pytest.raises(ObjectStoreError) as caught:
        await later.put_part("bucket", "a", old, 1, b"content")
    assert caught.value.code == "NoSuchUpload"
