"""A folder that stands for an object store: a folder per bucket, a file per object.

    root/BUCKET/PATH/OF/KEY                  the content, as it is
    root/BUCKET/.hashrange/bucket.json       who made the bucket, and when
    root/BUCKET/.hashrange/o/PATH/OF/KEY     what else belongs to the object, as JSON
    root/BUCKET/.hashrange/u/NAME            content on its way to become an object

Files are private to the user of the server. Content is written under another name, synced, and
renamed. What else belongs to an object is trusted only if it tells the size and the time of the
file; otherwise, as for a file that somebody copied here, the ETag is made of those two. Several
processes may use the folder. A key cannot be another key's folder: "a" and "a/b" exclude each
other, which S3 allows.

The calls block, so they run in threads, except where there is no event loop (`is_inline`).
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import secrets
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Final, ParamSpec, TypeVar, final

import orjson

from hashrange.limits import OBJECT_CHUNK_BYTES
from hashrange.objects.base import (
    BucketEntry,
    NoSuchBucketError,
    NoSuchKeyError,
    ObjectEntry,
    ObjectPage,
    ObjectStoreError,
)
from hashrange.objects.names import check_bucket_name, key_part, key_parts

_OURS: Final = ".hashrange"
_BUCKET: Final = "bucket.json"
_FACTS: Final = "o"
_UPLOADS: Final = "u"
_PRIVATE_FOLDER: Final = 0o700
_PRIVATE_FILE: Final = 0o600
_DEFAULT_TYPE: Final = "binary/octet-stream"

P = ParamSpec("P")
Answer = TypeVar("Answer")


@final
class FolderStore:
    """Buckets in a folder."""

    def __init__(self, root: Path | Callable[[], Path], *, is_inline: bool = False) -> None:
        self._given_root = root
        self._root: Path | None = None
        self._is_inline = is_inline

    @property
    def root(self) -> Path:
        """The folder, made when it is first needed."""
        if self._root is None:
            self._root = self._given_root if isinstance(self._given_root, Path) else None
            if self._root is None:
                assert not isinstance(self._given_root, Path)
                self._root = self._given_root()
            _make_folder(self._root)
        return self._root

    async def call(
        self, act: Callable[P, Answer], *arguments: P.args, **options: P.kwargs
    ) -> Answer:
        """Do something that blocks."""
        try:
            if self._is_inline:
                return act(*arguments, **options)
            return await asyncio.to_thread(act, *arguments, **options)
        except OSError as error:
            raise _translated(error) from error

    async def buckets(self) -> list[BucketEntry]:
        return await self.call(self._buckets)

    async def bucket(self, name: str) -> BucketEntry:
        return await self.call(self._bucket, name)

    async def create_bucket(self, name: str, owner: str) -> bool:
        """Make a bucket; tell whether it was not there before."""
        return await self.call(self._create_bucket, name, owner)

    async def delete_bucket(self, name: str) -> None:
        """Delete a bucket, which must be empty."""
        await self.call(self._delete_bucket, name)

    async def head(self, bucket: str, key: str) -> ObjectEntry:
        return await self.call(self._head, bucket, key)

    async def page(
        self,
        bucket: str,
        prefix: str,
        *,
        after: str = "",
        keys_max: int = 1000,
        delimiter: str = "",
    ) -> ObjectPage:
        return await self.call(self._list, bucket, prefix, after, keys_max, delimiter)

    async def read(
        self, bucket: str, key: str, *, start: int = 0, end: int | None = None
    ) -> AsyncIterator[bytes]:
        file = await self.call(self._open, bucket, key)
        try:
            await self.call(file.seek, start)
            left = None if end is None else end - start
            while left is None or left > 0:
                size = OBJECT_CHUNK_BYTES if left is None else min(left, OBJECT_CHUNK_BYTES)
                chunk = await self.call(file.read, size)
                if not chunk:
                    return
                if left is not None:
                    left -= len(chunk)
                yield chunk
        finally:
            file.close()

    async def begin(
        self,
        bucket: str,
        key: str,
        *,
        content_type: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> FolderUpload:
        return await self.call(self._begin, bucket, key, content_type, headers or {})

    async def delete(self, bucket: str, key: str) -> None:
        await self.call(self._delete, bucket, key)

    def folder_of(self, bucket: str) -> Path:
        """Return the folder of a bucket that is there."""
        check_bucket_name(bucket)
        folder = self.root / bucket
        if not folder.is_dir():
            raise NoSuchBucketError(bucket)
        return folder

    def uploads_of(self, bucket: str) -> Path:
        """Return the folder of content that is on its way."""
        folder = self.folder_of(bucket) / _OURS / _UPLOADS
        _make_folder(folder)
        return folder

    def _buckets(self) -> list[BucketEntry]:
        entries = [entry for entry in os.scandir(self.root) if entry.is_dir()]
        found = []
        for name in sorted(entry.name for entry in entries):
            with contextlib.suppress(ObjectStoreError):
                found.append(self._bucket(name))
        return found

    def _bucket(self, name: str) -> BucketEntry:
        folder = self.folder_of(name)
        facts = _read_facts(folder / _OURS / _BUCKET)
        created_at = facts.get("created_at", folder.stat().st_mtime)
        return BucketEntry(name, created_at, facts.get("owner", ""))

    def _create_bucket(self, name: str, owner: str) -> bool:
        check_bucket_name(name)
        folder = self.root / name
        try:
            folder.mkdir(_PRIVATE_FOLDER)
        except FileExistsError:
            return False
        ours = folder / _OURS
        ours.mkdir(_PRIVATE_FOLDER)
        _write_facts(ours / _BUCKET, {"owner": owner, "created_at": time.time()})
        return True

    def _delete_bucket(self, name: str) -> None:
        folder = self.folder_of(name)
        if next(_walk(folder, "", "", ""), None) is not None:
            raise ObjectStoreError("BucketNotEmpty", "The bucket you tried to delete is not empty")
        doomed = folder.with_name(f".{name}.{secrets.token_hex(4)}")
        folder.rename(doomed)
        for path, folders, files in os.walk(doomed, topdown=False):
            for file in files:
                os.unlink(os.path.join(path, file))
            for inner in folders:
                os.rmdir(os.path.join(path, inner))
        doomed.rmdir()

    def _head(self, bucket: str, key: str) -> ObjectEntry:
        folder = self.folder_of(bucket)
        path = folder.joinpath(*key_parts(key))
        try:
            status = path.stat()
        except (FileNotFoundError, NotADirectoryError):
            raise NoSuchKeyError(key) from None
        if not path.is_file():
            raise NoSuchKeyError(key)
        return _entry(folder, key, status)

    def _list(
        self, bucket: str, prefix: str, after: str, keys_max: int, delimiter: str
    ) -> ObjectPage:
        folder = self.folder_of(bucket)
        objects: list[ObjectEntry] = []
        prefixes: list[str] = []
        last = ""
        skipped = ""
        for key, path in _walk(folder, "", prefix, after):
            if skipped and key.startswith(skipped):
                continue
            cut = key.find(delimiter, len(prefix)) if delimiter else -1
            common = "" if cut < 0 else key[: cut + len(delimiter)]
            if common and common <= after:
                skipped = common
                continue
            if len(objects) + len(prefixes) >= keys_max:
                return ObjectPage(objects, prefixes, last, True)
            if common:
                prefixes.append(common)
                last = skipped = common
                continue
            with contextlib.suppress(FileNotFoundError):  # deleted meanwhile
                objects.append(_entry(folder, key, os.stat(path)))
                last = key
        return ObjectPage(objects, prefixes, last, False)

    def _open(self, bucket: str, key: str) -> BinaryIO:
        self._head(bucket, key)
        try:
            return open(self.folder_of(bucket).joinpath(*key_parts(key)), "rb", buffering=0)
        except FileNotFoundError:
            raise NoSuchKeyError(key) from None

    def _begin(
        self, bucket: str, key: str, content_type: str, headers: Mapping[str, str]
    ) -> FolderUpload:
        key_parts(key)
        path = self.uploads_of(bucket) / secrets.token_hex(16)
        return FolderUpload(self, bucket, key, path, content_type or _DEFAULT_TYPE, headers)

    def _delete(self, bucket: str, key: str) -> None:
        folder = self.folder_of(bucket)
        parts = key_parts(key)
        path = folder.joinpath(*parts)
        with contextlib.suppress(FileNotFoundError, NotADirectoryError, IsADirectoryError):
            path.unlink()
        facts = folder.joinpath(_OURS, _FACTS, *parts)
        with contextlib.suppress(FileNotFoundError, NotADirectoryError, IsADirectoryError):
            facts.unlink()
        _remove_empty(path.parent, folder)

    def adopt(
        self, bucket: str, key: str, content: Path, etag: str, facts: Mapping[str, Any]
    ) -> ObjectEntry:
        """Make a complete, synced file the content of an object."""
        folder = self.folder_of(bucket)
        parts = key_parts(key)
        status = content.stat()
        facts_path = folder.joinpath(_OURS, _FACTS, *parts)
        path = folder.joinpath(*parts)
        try:
            _make_folder(facts_path.parent)
            _write_facts(
                facts_path,
                {"size": status.st_size, "time": status.st_mtime_ns, "etag": etag, **facts},
            )
            _rename(content, path)
        except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
            raise ObjectStoreError(
                "InvalidRequest",
                "A folder of this store cannot hold both an object and, as if it were a folder, "
                "objects below it",
            ) from error
        _sync_folder(path.parent)
        return _entry(folder, key, status)


@final
class FolderUpload:
    """Content on its way to become an object."""

    def __init__(
        self,
        store: FolderStore,
        bucket: str,
        key: str,
        path: Path,
        content_type: str,
        headers: Mapping[str, str],
    ) -> None:
        self._store = store
        self._where = (bucket, key)
        self._path = path
        self._facts = {"content_type": content_type, "headers": dict(headers)}
        self._digest = hashlib.md5(usedforsecurity=False)
        self._file: BinaryIO | None = open_private(path)

    async def write(self, chunk: bytes) -> None:
        await self._store.call(self._write, chunk)

    def _write(self, chunk: bytes) -> None:
        assert self._file is not None, "the upload has ended"
        self._digest.update(chunk)
        write_all(self._file, chunk)

    async def complete(self) -> ObjectEntry:
        return await self._store.call(self._complete)

    def _complete(self) -> ObjectEntry:
        assert self._file is not None, "the upload has ended"
        os.fsync(self._file.fileno())
        self._file.close()
        self._file = None
        try:
            etag = self._digest.hexdigest()
            return self._store.adopt(*self._where, self._path, etag, self._facts)
        except BaseException:
            self._path.unlink(missing_ok=True)
            raise

    async def abort(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
            await self._store.call(self._path.unlink, missing_ok=True)


def open_private(path: Path) -> BinaryIO:
    """Make a file that only the user of the server can read."""
    return open(
        path, "xb", buffering=0, opener=lambda name, flags: os.open(name, flags, _PRIVATE_FILE)
    )


def write_all(file: BinaryIO, chunk: bytes) -> None:
    """Write a chunk to a file without a buffer."""
    view = memoryview(chunk)
    while view:
        view = view[file.write(view) :]


def _make_folder(path: Path) -> None:
    """Make a private folder in private folders."""
    try:
        path.mkdir(_PRIVATE_FOLDER, exist_ok=True)
    except FileNotFoundError:
        _make_folder(path.parent)
        path.mkdir(_PRIVATE_FOLDER, exist_ok=True)


def _entry(folder: Path, key: str, status: os.stat_result) -> ObjectEntry:
    facts = _read_facts(folder.joinpath(_OURS, _FACTS, *key_parts(key)))
    if facts.get("size") != status.st_size or facts.get("time") != status.st_mtime_ns:
        facts = {}
    stamp = f"{status.st_size:x}.{status.st_mtime_ns:x}".encode()
    return ObjectEntry(
        key,
        status.st_size,
        facts.get("etag") or hashlib.md5(stamp, usedforsecurity=False).hexdigest() + "-1",
        status.st_mtime,
        facts.get("content_type", _DEFAULT_TYPE),
        facts.get("headers", {}),
    )


def _walk(folder: Path | str, above: str, prefix: str, after: str) -> Iterator[tuple[str, str]]:
    """Yield keys with a prefix behind `after`, in their order, and their files."""
    entries: list[tuple[bytes, str, os.DirEntry[str]]] = []
    try:
        with os.scandir(folder) as found:
            for entry in found:
                if entry.name.startswith("."):
                    continue
                is_folder = entry.is_dir()
                key = above + key_part(entry.name) + ("/" if is_folder else "")
                shared = min(len(key), len(prefix))
                if key[:shared] == prefix[:shared] and (is_folder or len(key) >= len(prefix)):
                    entries.append((key.encode(), key, entry))
    except FileNotFoundError:
        return
    bound = after.encode()
    for encoded, key, entry in sorted(entries, key=lambda known: known[0]):
        if key.endswith("/") and entry.is_dir():
            # Everything below is less than `after` unless that lies below, too.
            if encoded > bound or bound.startswith(encoded):
                yield from _walk(entry.path, key, prefix, after)
        elif encoded > bound:
            yield key, entry.path


def _read_facts(path: Path) -> dict[str, Any]:
    try:
        facts: dict[str, Any] = orjson.loads(path.read_bytes())
    except (OSError, orjson.JSONDecodeError):
        return {}
    return facts


def _write_facts(path: Path, facts: Mapping[str, Any]) -> None:
    """Write a small file as a whole; it is not synced, as it can be missing."""
    temporary = path.with_name(f".{secrets.token_hex(8)}")
    with open_private(temporary) as file:
        write_all(file, orjson.dumps(facts))
    temporary.replace(path)


def _rename(content: Path, path: Path) -> None:
    """Rename a file, making its folders; another process may remove empty ones meanwhile."""
    for _ in range(10):
        _make_folder(path.parent)
        with contextlib.suppress(FileNotFoundError):
            content.replace(path)
            return
    content.replace(path)


def _remove_empty(folder: Path, root: Path) -> None:
    with contextlib.suppress(OSError):
        while folder != root:
            folder.rmdir()
            folder = folder.parent


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _translated(error: OSError) -> ObjectStoreError:
    if isinstance(error, PermissionError):
        return ObjectStoreError("AccessDenied", "Access Denied")
    return ObjectStoreError("InternalError", f"The folder of the buckets failed: {error}")
