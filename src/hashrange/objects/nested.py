"""Buckets within a prefix of one bucket: `tables` of s3://archive/prod is s3://archive/prod/tables/.

What is kept in a folder of buckets can so be kept in one bucket of a service, whose buckets belong
to other people.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import final

from hashrange.objects.base import BucketEntry, ObjectEntry, ObjectPage, ObjectStore, Upload


@final
class NestedStore:
    """Buckets that are prefixes of the keys of another bucket; they need not be made."""

    def __init__(self, store: ObjectStore, bucket: str, prefix: str = "") -> None:
        self._store = store
        self._bucket = bucket
        self._prefix = f"{prefix.strip('/')}/" if prefix.strip("/") else ""

    async def buckets(self) -> list[BucketEntry]:
        """Return nothing: nobody makes these buckets, so nobody knows them all."""
        return []

    async def bucket(self, name: str) -> BucketEntry:
        """Return a bucket, which is there if the other one is."""
        return replace(await self._store.bucket(self._bucket), name=name)

    async def head(self, bucket: str, key: str) -> ObjectEntry:
        entry = await self._store.head(self._bucket, self._outer(bucket, key))
        return replace(entry, key=key)

    async def page(
        self, bucket: str, prefix: str, *, after: str = "", keys_max: int = 1000
    ) -> ObjectPage:
        start = self._outer(bucket, "")
        page = await self._store.page(
            self._bucket,
            start + prefix,
            after=start + after if after else "",
            keys_max=keys_max,
        )
        objects = [replace(entry, key=entry.key[len(start) :]) for entry in page.objects]
        return ObjectPage(objects, [], page.last[len(start) :], page.is_truncated)

    def read(
        self, bucket: str, key: str, *, start: int = 0, end: int | None = None
    ) -> AsyncIterator[bytes]:
        return self._store.read(self._bucket, self._outer(bucket, key), start=start, end=end)

    async def begin(
        self,
        bucket: str,
        key: str,
        *,
        content_type: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> Upload:
        return await self._store.begin(
            self._bucket, self._outer(bucket, key), content_type=content_type, headers=headers
        )

    async def delete(self, bucket: str, key: str) -> None:
        await self._store.delete(self._bucket, self._outer(bucket, key))

    def _outer(self, bucket: str, key: str) -> str:
        return f"{self._prefix}{bucket}/{key}"
