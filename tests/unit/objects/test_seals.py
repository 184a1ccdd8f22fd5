"""Sealed folders: nothing in them can be read, and what was tampered with gives no wrong byte."""

import os
import shutil
from collections.abc import Callable
from hashlib import md5
from pathlib import Path

import pytest

from hashrange.objects.base import ObjectStoreError, get_object, put_object
from hashrange.objects.folder import FolderStore
from hashrange.objects.multipart import MultipartUploads
from hashrange.objects.seals import MAGIC, KeySeal
from hashrange.sealing import CHUNK_BYTES, SEALED_CHUNK_BYTES, STREAM_HEADER_BYTES
from tests.harness.loops import in_loop

KEY, OTHER = bytes(range(32)), bytes(32)
START = len(MAGIC) + STREAM_HEADER_BYTES
WORD = b"planted-word"
SIZES = [0, 1, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 6 * CHUNK_BYTES + 5]


async def bucket(root: Path, *keys: bytes) -> FolderStore:
    store = FolderStore(root, seal=KeySeal(keys or [KEY]))
    await store.create_bucket("bucket", "owner")
    return store


async def code_of_reading(store: FolderStore, key: str = "key") -> str:
    with pytest.raises(ObjectStoreError) as caught:
        await get_object(store, "bucket", key)
    return caught.value.code


@pytest.mark.parametrize("size", SIZES)
@in_loop
async def test_size_and_etag_are_those_of_the_content(size: int, tmp_path: Path) -> None:
    store = await bucket(tmp_path)
    content = os.urandom(size)
    written = await put_object(store, "bucket", "a/key", content)
    assert (written.size, written.etag) == (size, md5(content).hexdigest())
    assert await store.head("bucket", "a/key") == written
    assert (await store.page("bucket", "")).objects == [written]
    assert await get_object(store, "bucket", "a/key") == content
    # What else belongs to an object may be missing after a crash.
    shutil.rmtree(tmp_path / "bucket" / ".hashrange" / "o")
    assert (await store.head("bucket", "a/key")).size == size
    assert await get_object(store, "bucket", "a/key") == content


@in_loop
async def test_any_range_can_be_read(tmp_path: Path) -> None:
    store = await bucket(tmp_path)
    content = os.urandom(9 * CHUNK_BYTES + 7)
    await put_object(store, "bucket", "key", content)
    edges = [0, 1, CHUNK_BYTES - 1, CHUNK_BYTES, 5 * CHUNK_BYTES + 1, len(content) - 1]
    for start in edges:
        for end in (*edges, len(content), len(content) + 10, None):
            chunks = [c async for c in store.read("bucket", "key", start=start, end=end)]
            assert b"".join(chunks) == content[start:end]


@in_loop
async def test_a_range_opens_the_chunks_it_needs_only(tmp_path: Path) -> None:
    store = await bucket(tmp_path)
    content = os.urandom(4 * CHUNK_BYTES)
    await put_object(store, "bucket", "key", content)
    flip(tmp_path / "bucket" / "key", START + 2 * SEALED_CHUNK_BYTES)
    chunks = [c async for c in store.read("bucket", "key", end=2 * CHUNK_BYTES)]
    assert b"".join(chunks) == content[: 2 * CHUNK_BYTES]
    with pytest.raises(ObjectStoreError, match="damaged"):
        await anext(store.read("bucket", "key", start=CHUNK_BYTES))


def flip(path: Path, position: int) -> None:
    content = bytearray(path.read_bytes())
    content[position] ^= 1
    path.write_bytes(content)


def cut(length: int) -> Callable[[Path], None]:
    return lambda path: os.truncate(path, length)


def swap_chunks(path: Path) -> None:
    content = path.read_bytes()
    first, second = START + SEALED_CHUNK_BYTES, START + 2 * SEALED_CHUNK_BYTES
    path.write_bytes(content[:START] + content[first:second] + content[START:first])


def drop_chunk(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[:START] + content[START + SEALED_CHUNK_BYTES :])


@pytest.mark.parametrize(
    "tamper",
    [
        cut(0),
        cut(len(MAGIC)),
        cut(START),
        cut(START + 16),
        cut(START + SEALED_CHUNK_BYTES),
        cut(START + SEALED_CHUNK_BYTES + 3),
        swap_chunks,
        drop_chunk,
        lambda path: flip(path, 0),
        lambda path: flip(path, START - 1),
        lambda path: flip(path, START),
        lambda path: flip(path, -1),
        lambda path: path.write_bytes(path.read_bytes() + b"more"),
        lambda path: path.write_bytes(b"a plain file"),
        lambda path: path.write_bytes(path.with_name("other").read_bytes()),
    ],
)
@in_loop
async def test_what_was_tampered_with_is_refused(
    tamper: Callable[[Path], object], tmp_path: Path
) -> None:
    store = await bucket(tmp_path)
    for key in ("key", "other"):
        await put_object(store, "bucket", key, os.urandom(2 * CHUNK_BYTES))
    tamper(tmp_path / "bucket" / "key")
    assert await code_of_reading(store) == "InvalidObjectState"
    assert {entry.key for entry in (await store.page("bucket", "")).objects} == {"key", "other"}
    await put_object(store, "bucket", "key", b"anew")
    assert await get_object(store, "bucket", "key") == b"anew"


@in_loop
async def test_a_truncated_object_gives_not_even_the_range_before_its_end(tmp_path: Path) -> None:
    store = await bucket(tmp_path)
    await put_object(store, "bucket", "key", os.urandom(3 * CHUNK_BYTES))
    os.truncate(tmp_path / "bucket" / "key", START + 2 * SEALED_CHUNK_BYTES)
    with pytest.raises(ObjectStoreError, match="cut short"):
        await anext(store.read("bucket", "key", end=10))


@in_loop
async def test_objects_open_with_older_keys_and_not_with_others(tmp_path: Path) -> None:
    await put_object(await bucket(tmp_path), "bucket", "key", b"content")
    newer = await bucket(tmp_path, OTHER, KEY)
    assert await get_object(newer, "bucket", "key") == b"content"
    assert (await newer.head("bucket", "key")).etag == md5(b"content").hexdigest()
    await put_object(newer, "bucket", "new", b"content")
    assert await get_object(await bucket(tmp_path, OTHER), "bucket", "new") == b"content"
    assert await code_of_reading(await bucket(tmp_path, OTHER)) == "InvalidObjectState"
    assert await code_of_reading(FolderStore(tmp_path)) == "InvalidObjectState"


@in_loop
async def test_no_file_shows_content_metadata_or_sums(tmp_path: Path) -> None:
    store = await bucket(tmp_path)
    headers = {"x-amz-meta-note": WORD.decode()}
    upload = await store.begin("bucket", "key", content_type="text/plain", headers=headers)
    await upload.write(WORD)
    await upload.complete()
    half = await store.begin("bucket", "half", headers=headers)
    await half.write(WORD * 20_000)
    uploads = MultipartUploads(store)
    ids = [await uploads.begin("bucket", "parts", WORD.decode(), headers) for _ in range(2)]
    for id in ids:
        etag = await uploads.put_part("bucket", "parts", id, 1, WORD)
    await uploads.complete("bucket", "parts", ids[0], [(1, etag)])
    assert etag == md5(WORD).hexdigest()
    assert (await store.head("bucket", "key")).headers == headers
    for path in tmp_path.rglob("*"):
        shown = str(path).encode() + (path.read_bytes() if path.is_file() else b"")
        assert not any(word in shown for word in (WORD, etag.encode(), b"text/plain"))
    await half.abort()


@in_loop
async def test_parts_are_sealed_replaced_and_joined(tmp_path: Path) -> None:
    store = await bucket(tmp_path)
    uploads = MultipartUploads(store)
    id = await uploads.begin("bucket", "key", "text/plain", {"x-amz-meta-a": "b"})
    first, second = os.urandom(CHUNK_BYTES + 1), os.urandom(3 * CHUNK_BYTES)
    for content in (b"another", first, first):
        await uploads.put_part("bucket", "key", id, 1, content)
    await uploads.put_part("bucket", "key", id, 2, second)
    parts = await uploads.parts("bucket", "key", id)
    assert [(part.number, part.size) for part in parts] == [(1, len(first)), (2, len(second))]
    entry = await uploads.complete(
        "bucket", "key", id, [(part.number, part.etag) for part in parts]
    )
    digests = md5(first).digest() + md5(second).digest()
    assert (entry.size, entry.etag) == (len(first + second), md5(digests).hexdigest() + "-2")
    assert (entry.content_type, entry.headers) == ("text/plain", {"x-amz-meta-a": "b"})
    assert await get_object(store, "bucket", "key") == first + second


@in_loop
async def test_a_part_does_not_open_in_the_place_of_another(tmp_path: Path) -> None:
    store = await bucket(tmp_path)
    uploads = MultipartUploads(store)
    id = await uploads.begin("bucket", "key", "", {})
    for number in (1, 2):
        await uploads.put_part("bucket", "key", id, number, b"%d" % number)
    one, two = await uploads.parts("bucket", "key", id)
    one.path.write_bytes(two.path.read_bytes())
    with pytest.raises(ObjectStoreError) as caught:
        await uploads.complete("bucket", "key", id, [(1, one.etag), (2, two.etag)])
    assert caught.value.code == "InvalidObjectState"
