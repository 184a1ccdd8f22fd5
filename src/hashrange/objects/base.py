"""The contract of object stores: buckets of objects, read and written in pieces.

A bucket holds objects by key; keys are texts, ordered by their UTF-8 bytes. An object is seen as a
whole or not at all, also after a crash, and replaces one of the same key at once. Memory stays
flat: content is read and written in chunks of a bounded size. A missing bucket or object raises
`NoSuchBucketError` or `NoSuchKeyError`; a store that cannot be reached or refuses raises
`ObjectStoreError`, whose code is that of S3.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol


class ObjectStoreError(Exception):
    """The store refused, or could not do it; `code` is what S3 calls it."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class NoSuchBucketError(ObjectStoreError):
    """There is no such bucket."""

    def __init__(self, bucket: str) -> None:
        super().__init__("NoSuchBucket", "The specified bucket does not exist")
        self.bucket = bucket


class NoSuchKeyError(ObjectStoreError):
    """There is no object with this key."""

    def __init__(self, key: str) -> None:
        super().__init__("NoSuchKey", "The specified key does not exist.")
        self.key = key


@dataclass(frozen=True, slots=True)
class BucketEntry:
    """A bucket, the account that made it (empty if nobody did), and when."""

    name: str
    created_at: float
    owner: str = ""


@dataclass(frozen=True, slots=True)
class ObjectEntry:
    """An object without its content; `etag` is without quotes."""

    key: str
    size: int
    etag: str
    modified_at: float
    content_type: str = "binary/octet-stream"
    headers: Mapping[str, str] = field(default_factory=dict)
    """Other headers that belong to the object, in lower case, such as x-amz-meta-NAME."""


@dataclass(frozen=True, slots=True)
class ObjectPage:
    """A page of a listing: objects, the common prefixes among them, and whether more follow."""

    objects: list[ObjectEntry]
    prefixes: list[str]
    last: str
    """The key or prefix after which the next page begins."""
    is_truncated: bool


class Upload(Protocol):
    """An object that is being written; nobody sees it before it is complete."""

    async def write(self, chunk: bytes) -> None:
        """Append to the content."""

    async def complete(self) -> ObjectEntry:
        """Make the object visible, in place of one with the same key."""

    async def abort(self) -> None:
        """Forget what was written; does nothing after `complete`."""


class ObjectStore(Protocol):
    """Buckets and their objects."""

    async def buckets(self) -> list[BucketEntry]:
        """Return all buckets in the order of their names."""

    async def bucket(self, name: str) -> BucketEntry:
        """Return a bucket."""

    async def head(self, bucket: str, key: str) -> ObjectEntry:
        """Return what is known of an object."""

    async def page(
        self, bucket: str, prefix: str, *, after: str = "", keys_max: int = 1000
    ) -> ObjectPage:
        """Return objects whose keys begin with a prefix, behind `after`, in the order of keys."""

    def read(
        self, bucket: str, key: str, *, start: int = 0, end: int | None = None
    ) -> AsyncIterator[bytes]:
        """Yield the content of an object, from one position up to another, in chunks."""

    async def begin(
        self,
        bucket: str,
        key: str,
        *,
        content_type: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> Upload:
        """Begin to write an object."""

    async def delete(self, bucket: str, key: str) -> None:
        """Delete an object, if it is there."""


async def put_object(store: ObjectStore, bucket: str, key: str, content: bytes) -> ObjectEntry:
    """Write an object of which the whole content is at hand."""
    upload = await store.begin(bucket, key)
    try:
        if content:
            await upload.write(content)
        return await upload.complete()
    except BaseException:
        await upload.abort()
        raise


async def get_object(store: ObjectStore, bucket: str, key: str) -> bytes:
    """Return the whole content of an object, which should be small."""
    return b"".join([chunk async for chunk in store.read(bucket, key)])
