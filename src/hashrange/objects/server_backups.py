"""Backups of whole servers: the files of a data directory in parts, and a manifest.

    BUCKET/ID/hashrange.db.00000    the database as it lies on the disk, 64 MB a part
    BUCKET/ID/hashrange.db-wal.00000    and its log
    BUCKET/ID/manifest.json         written last; without it there is no backup

manifest := {"format": 1, "id", "made_at", "version", "encryption": the file ENCRYPTION or null,
             "files": [{"name", "bytes", "parts": [{"name", "bytes", "sha256"}, …]}, …],
             "sha256": of the manifest without this member}

What is read back and is not what was written is a `BackupDamagedError`.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Iterable
from typing import Any, Final, final

from hashrange.objects.backup_parts import BackupDamagedError
from hashrange.objects.backups import MANIFEST, pack_manifest, unpack_manifest, walk_ids
from hashrange.objects.base import NoSuchKeyError, ObjectStore, Upload, get_object, put_object

FORMAT: Final = 1
PART_BYTES: Final = 64 << 20
_PAGE_KEYS: Final = 1000


@final
class ServerBackups:
    """The backups of whole servers in one bucket."""

    def __init__(self, store: ObjectStore, bucket: str) -> None:
        self._store = store
        self._bucket = bucket

    async def prepare(self) -> None:
        """Make the bucket, if the store is ours."""
        create = getattr(self._store, "create_bucket", None)
        if create is not None:
            await create(self._bucket, "")

    async def write_file(
        self, id: str, name: str, chunks: Iterable[bytes | None]
    ) -> dict[str, Any]:
        """Write a file in parts; return its description. None in `chunks` begins it anew."""
        parts: list[_Part] = []
        part: _Part | None = None
        try:
            for chunk in chunks:
                if chunk is None:
                    if part is not None:
                        await part.upload.abort()
                    parts, part = [], None
                    continue
                if part is None:
                    part = _Part(f"{name}.{len(parts):05}")
                    part.upload = await self._store.begin(self._bucket, f"{id}/{part.name}")
                    parts.append(part)
                await part.write(chunk)
                if part.size >= PART_BYTES:
                    await part.upload.complete()
                    part = None
            if part is not None:
                await part.upload.complete()
                part = None
        finally:
            if part is not None:
                await part.upload.abort()
        described = [each.describe() for each in parts]
        return {"name": name, "bytes": sum(each.size for each in parts), "parts": described}

    async def complete(self, id: str, members: dict[str, Any]) -> None:
        """Write the manifest, with which the backup is there."""
        content = pack_manifest({"format": FORMAT, "id": id, **members})
        await put_object(self._store, self._bucket, f"{id}/{MANIFEST}", content)

    async def manifest(self, id: str) -> dict[str, Any]:
        """Return the manifest of a backup, checked."""
        try:
            content = await get_object(self._store, self._bucket, f"{id}/{MANIFEST}")
        except NoSuchKeyError as error:
            raise BackupDamagedError(f"backup {id} has no manifest") from error
        return unpack_manifest(id, content, FORMAT)

    async def read_file(self, id: str, file: dict[str, Any]) -> AsyncIterator[bytes]:
        """Yield the content of a file; raises at the end of a part that is not what it was."""
        for part in file["parts"]:
            subject = f"{id}/{part['name']}"
            digest = hashlib.sha256()
            try:
                async for chunk in self._store.read(self._bucket, subject):
                    digest.update(chunk)
                    yield chunk
            except NoSuchKeyError as error:
                raise BackupDamagedError(f"{subject} is missing") from error
            if digest.hexdigest() != part["sha256"]:
                raise BackupDamagedError(f"{subject} is damaged")

    async def ids(self) -> AsyncIterator[str]:
        """Yield the ids of all backups in the bucket, oldest first."""
        async for id in walk_ids(self._store, self._bucket):
            yield id

    async def forget_unfinished(self, before: str) -> None:
        """Delete what backups left that were never completed and whose ids are below one."""
        complete = {id async for id in self.ids()}
        after = ""
        while True:
            page = await self._store.page(self._bucket, "", after=after, keys_max=_PAGE_KEYS)
            for entry in page.objects:
                id = entry.key.partition("/")[0]
                if id not in complete and id < before:
                    await self._store.delete(self._bucket, entry.key)
            if not page.is_truncated:
                return
            after = page.last


@final
class _Part:
    """A part that is being written."""

    __slots__ = ("_digest", "name", "size", "upload")

    upload: Upload

    def __init__(self, name: str) -> None:
        self.name = name
        self.size = 0
        self._digest = hashlib.sha256()

    async def write(self, chunk: bytes) -> None:
        self.size += len(chunk)
        self._digest.update(chunk)
        await self.upload.write(chunk)

    def describe(self) -> dict[str, Any]:
        return {"name": self.name, "bytes": self.size, "sha256": self._digest.hexdigest()}
