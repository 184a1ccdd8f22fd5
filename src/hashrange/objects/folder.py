"""A folder that stands for an object store: a folder per bucket, a file per object.

    root/BUCKET/PATH/OF/KEY                  the content, as it is or sealed (see seals)
    root/BUCKET/.hashrange/bucket.json       who made the bucket, and when
    root/BUCKET/.hashrange/o/PATH/OF/KEY     what else belongs to the object, as it is or sealed
    root/BUCKET/.hashrange/u/NAME            content on its way to become an object (see abandoned)

Files are private to the user of the server. Content is written under another name, synced, and
renamed. What else belongs to an object is trusted only if it tells the size and the time of the
content; otherwise, as for a file that somebody copied here, the ETag is made of those two. A folder
that is sealed lists such a file, and refuses to read it. Several processes may use the folder. A
key cannot be another key's folder: "a" and "a/b" exclude each other, which S3 allows.

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

from hashrange.limits import OBJECT_CHUNK_BYTES, UPLOAD_SWEEP_SECONDS
from hashrange.objects.abandoned import remove_abandoned
from hashrange.objects.base import (
    BucketEntry,
    NoSuchBucketError,
    NoSuchKeyError,
    ObjectEntry,
    ObjectPage,
    ObjectStoreError,
)
from hashrange.objects.files import (
    PRIVATE_FOLDER,
    make_folder,
    move,
    open_private,
    remove_empty,
    sync_folder,
    write_all,
    write_small,
)
from hashrange.objects.names import check_bucket_name, key_part, key_parts
from hashrange.objects.seals import PLAIN, UNREADABLE, Content, Seal, object_subject
from hashrange.sealing import SealError

_OURS: Final = ".hashrange"
_BUCKET: Final = "bucket.json"
_FACTS: Final = "o"
_UPLOADS: Final = "u"
_DEFAULT_TYPE: Final = "binary/octet-stream"

P = ParamSpec("P")
Answer = TypeVar("Answer")


@final
class FolderStore:
    """Buckets in a folder."""

    def __init__(
        self, root: Path | Callable[[], Path], *, seal: Seal = PLAIN, is_inline: bool = False
    ) -> None:
        self.seal = seal
        self._given_root = root
        self._root: Path | None = None
        self._is_inline = is_inline
        self._swept_at: dict[str, float] = {}

    @property
    def root(self) -> Path:
        """The folder, made when it is first needed."""
        if self._root is None:
            self._root = self._given_root if isinstance(self._given_root, Path) else None
            if self._root is None:
                assert not isinstance(self._given_root, Path)
                self._root = self._given_root()
            make_folder(self._root)
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
        except SealError as error:
            raise ObjectStoreError(UNREADABLE, f"The object cannot be read: {error}.") from error

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
        content = await self.call(self._open, bucket, key)
        try:
            end = content.size if end is None else min(end, content.size)
            while start < end:
                size = min(end - start, OBJECT_CHUNK_BYTES)
                chunk = await self.call(content.read, start, size)
                if not chunk:
                    return
                start += len(chunk)
                yield chunk
        finally:
            content.close()

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
        folder = uploads_folder(self.folder_of(bucket))
        make_folder(folder)
        now = time.time()
        if now - self._swept_at.get(bucket, 0.0) > UPLOAD_SWEEP_SECONDS:
            self._swept_at[bucket] = now
            remove_abandoned(folder, now)
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
        facts = PLAIN.unpack_facts("", _read_small(folder / _OURS / _BUCKET))
        created_at = facts.get("created_at", folder.stat().st_mtime)
        return BucketEntry(name, created_at, facts.get("owner", ""))

    def _create_bucket(self, name: str, owner: str) -> bool:
        check_bucket_name(name)
        folder = self.root / name
        try:
            folder.mkdir(PRIVATE_FOLDER)
        except FileExistsError:
            return False
        ours = folder / _OURS
        ours.mkdir(PRIVATE_FOLDER)
        write_small(ours / _BUCKET, orjson.dumps({"owner": owner, "created_at": time.time()}))
        return True

    def _delete_bucket(self, name: str) -> None:
        folder = self.folder_of(name)
        if next(walk_objects(folder), None) is not None:
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
        return self._entry(bucket, key, path, status)

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
                objects.append(self._entry(bucket, key, path, os.stat(path)))
                last = key
        return ObjectPage(objects, prefixes, last, False)

    def _open(self, bucket: str, key: str) -> Content:
        self._head(bucket, key)
        path = self.folder_of(bucket).joinpath(*key_parts(key))
        try:
            return self.seal.open(path, object_subject(bucket, key))
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
        facts = facts_folder(folder).joinpath(*parts)
        with contextlib.suppress(FileNotFoundError, NotADirectoryError, IsADirectoryError):
            facts.unlink()
        remove_empty(path.parent, folder)

    def adopt(
        self, bucket: str, key: str, content: Path, etag: str, facts: Mapping[str, Any]
    ) -> ObjectEntry:
        """Make a complete, synced file the content of an object."""
        folder = self.folder_of(bucket)
        parts = key_parts(key)
        status = content.stat()
        subject = object_subject(bucket, key)
        size = self.seal.content_bytes(content, status.st_size, None)
        facts_path = facts_folder(folder).joinpath(*parts)
        path = folder.joinpath(*parts)
        kept = {"size": size, "time": status.st_mtime_ns, "etag": etag, **facts}
        try:
            make_folder(facts_path.parent)
            write_small(facts_path, self.seal.pack_facts(subject, kept))
            move(content, path)
        except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
            raise ObjectStoreError(
                "InvalidRequest",
                "A folder of this store cannot hold both an object and, as if it were a folder, "
                "objects below it",
            ) from error
        sync_folder(path.parent)
        return self._entry(bucket, key, path, status)

    def _entry(
        self, bucket: str, key: str, path: str | Path, status: os.stat_result
    ) -> ObjectEntry:
        facts_path = facts_folder(self.folder_of(bucket)).joinpath(*key_parts(key))
        facts = self.seal.unpack_facts(object_subject(bucket, key), _read_small(facts_path))
        size = self.seal.content_bytes(path, status.st_size, facts.get("size"))
        if facts.get("size") != size or facts.get("time") != status.st_mtime_ns:
            facts = {}
        stamp = f"{status.st_size:x}.{status.st_mtime_ns:x}".encode()
        return ObjectEntry(
            key,
            size,
            facts.get("etag") or hashlib.md5(stamp, usedforsecurity=False).hexdigest() + "-1",
            status.st_mtime,
            facts.get("content_type", _DEFAULT_TYPE),
            facts.get("headers", {}),
        )


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
        self._writer = store.seal.writer(object_subject(bucket, key))
        self._file: BinaryIO | None = open_private(path)

    async def write(self, chunk: bytes) -> None:
        await self._store.call(self._write, chunk)

    def _write(self, chunk: bytes) -> None:
        assert self._file is not None, "the upload has ended"
        self._digest.update(chunk)
        write_all(self._file, self._writer.update(chunk))

    async def complete(self) -> ObjectEntry:
        return await self._store.call(self._complete)

    def _complete(self) -> ObjectEntry:
        assert self._file is not None, "the upload has ended"
        write_all(self._file, self._writer.finish())
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


def facts_folder(bucket: Path) -> Path:
    """Return where the folder of a bucket has what else belongs to objects."""
    return bucket / _OURS / _FACTS


def uploads_folder(bucket: Path) -> Path:
    """Return where the folder of a bucket has content on its way."""
    return bucket / _OURS / _UPLOADS


def walk_objects(bucket: Path) -> Iterator[tuple[str, str]]:
    """Yield the keys of all objects in the folder of a bucket, in their order, and their files."""
    return _walk(bucket, "", "", "")


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


def _read_small(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _translated(error: OSError) -> ObjectStoreError:
    if isinstance(error, PermissionError):
        return ObjectStoreError("AccessDenied", "Access Denied")
    return ObjectStoreError("InternalError", f"The folder of the buckets failed: {error}")
