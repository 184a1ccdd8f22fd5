"""Backups of tables in files: parts that hold items, and a manifest that makes them a backup.

    BUCKET/ID/part-00000       items in key order, compressed, sealed if the server has a key
    BUCKET/ID/manifest.json    written last; without it there is no backup; sealed likewise

part     := zlib of entries, sealed with the data key of the table if it has a KMS key (nonce of 12
            bytes, AES-256-GCM, the part's name as associated data), then a sealed stream (see
            `sealing`) if the server has a key
entry    := length of key (2 bytes) length of row (4 bytes) key row
manifest := {"format": 1, "backup": …, "parts": [{"name", "sha256", "items", "bytes"}, …],
             "is_sealed": …, "data_key": as in the table's record or null,
             "sha256": of the manifest without this member}

Numbers are little-endian; `sha256` of a part is of the file as it is. A backup needs nothing else:
its manifest holds the record of the table, and keys are the same on every server. What is read back
and is not what was written is a `BackupDamagedError`.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from typing import Any, Final, Protocol, TypeVar, final

import orjson

from hashrange.objects.backup_parts import (
    PURPOSE,
    BackupDamagedError,
    Cipher,
    Entry,
    PartOpener,
    PartPacker,
)
from hashrange.objects.base import NoSuchKeyError, ObjectStore, Upload, get_object, put_object
from hashrange.sealing import STREAM_MAGIC, SealError, open_stream, seal_stream

FORMAT: Final = 1
MANIFEST: Final = "manifest.json"
_PAGE_KEYS: Final = 1000
PACKED_BYTES: Final = 1 << 18
"""Of rows, that are packed and compressed at once."""

# Of a part, that are opened at once.
_OPENED_BYTES: Final = 1 << 16

Answer = TypeVar("Answer")


class Call(Protocol):
    """Does what takes long, in a thread if there is an event loop."""

    async def __call__(self, act: Callable[[], Answer]) -> Answer: ...


@final
class BackupFiles:
    """The backups of one bucket."""

    def __init__(
        self,
        store: ObjectStore,
        bucket: str,
        *,
        key: bytes | None = None,
        is_inline: bool = False,
    ) -> None:
        self._store = store
        self._bucket = bucket
        self._key = key  # of the server; None if it does not encrypt
        # Where there is no event loop, nothing runs in threads.
        self._is_inline = is_inline

    async def prepare(self) -> None:
        """Make the bucket, if the store is ours."""
        create = getattr(self._store, "create_bucket", None)
        if create is not None:
            await create(self._bucket, "")

    async def begin_part(self, id: str, number: int, cipher: Cipher | None = None) -> PartFile:
        """Begin to write a part, sealed by the cipher of the table if it has one."""
        name = f"part-{number:05}"
        upload = await self._store.begin(self._bucket, f"{id}/{name}")
        return PartFile(name, upload, PartPacker(f"{id}/{name}", self._key, cipher), self._call)

    async def complete(
        self,
        id: str,
        backup: dict[str, Any],
        parts: Sequence[dict[str, Any]],
        data_key: dict[str, str] | None = None,
    ) -> None:
        """Write the manifest, with which the backup is there."""
        manifest = {
            "format": FORMAT,
            "backup": backup,
            "parts": parts,
            "is_sealed": self._key is not None,
            "data_key": data_key,
        }
        subject = f"{id}/{MANIFEST}"
        content = self._seal(subject, pack_manifest(manifest))
        await put_object(self._store, self._bucket, subject, content)

    async def manifest(self, id: str) -> dict[str, Any]:
        """Return the manifest of a backup, checked."""
        try:
            content = await get_object(self._store, self._bucket, f"{id}/{MANIFEST}")
            if content.startswith(STREAM_MAGIC):
                content = self._open(f"{id}/{MANIFEST}", content)
        except NoSuchKeyError as error:
            raise BackupDamagedError(f"backup {id} has no manifest") from error
        return unpack_manifest(id, content, FORMAT)

    async def read_part(
        self, id: str, manifest: dict[str, Any], number: int, cipher: Cipher | None = None
    ) -> AsyncIterator[list[Entry]]:
        """Yield the items of a part in pieces; `cipher` is that of the manifest's data key.

        They are good only if the last piece is followed by no BackupDamagedError.
        """
        subject = f"{id}/{manifest['parts'][number]['name']}"
        if manifest.get("data_key") is not None and cipher is None:
            raise BackupDamagedError(f"{subject} is sealed with a KMS key")
        async for entries in self._read_part(subject, manifest, number, cipher):
            yield entries

    async def check_part(self, id: str, manifest: dict[str, Any], number: int) -> int:
        """Check a part as far as this server can read it; return the number of its items."""
        part = manifest["parts"][number]
        async for _ in self._read_part(f"{id}/{part['name']}", manifest, number, None):
            pass
        return int(part["items"])

    async def _read_part(
        self, subject: str, manifest: dict[str, Any], number: int, cipher: Cipher | None
    ) -> AsyncIterator[list[Entry]]:
        opener = PartOpener(subject, manifest, number, self._key, cipher)
        try:
            async for chunk in self._store.read(self._bucket, subject):
                for start in range(0, len(chunk), _OPENED_BYTES):
                    piece = chunk[start : start + _OPENED_BYTES]
                    yield await self._call(partial(opener.update, piece))
        except NoSuchKeyError as error:
            raise BackupDamagedError(f"{subject} is missing") from error
        yield await self._call(opener.finish)

    async def ids(self) -> AsyncIterator[str]:
        """Yield the ids of all backups in the bucket."""
        async for id in walk_ids(self._store, self._bucket):
            yield id

    async def delete(self, id: str) -> None:
        """Delete a backup, its manifest first; may be repeated."""
        await self._store.delete(self._bucket, f"{id}/{MANIFEST}")
        while True:
            page = await self._store.page(self._bucket, f"{id}/", keys_max=_PAGE_KEYS)
            for entry in page.objects:
                await self._store.delete(self._bucket, entry.key)
            if not page.is_truncated:
                return

    async def _call(self, act: Callable[[], Answer]) -> Answer:
        return act() if self._is_inline else await asyncio.to_thread(act)

    def _seal(self, subject: str, content: bytes) -> bytes:
        """Return content under the server's own seal, if it has a key."""
        if self._key is None:
            return content
        return b"".join(seal_stream(self._key, PURPOSE, subject, [content]))

    def _open(self, subject: str, content: bytes) -> bytes:
        """Return content below the server's own seal."""
        if self._key is None:
            raise BackupDamagedError(f"{subject} is encrypted, and this server has no key")
        try:
            return b"".join(open_stream(self._key, PURPOSE, subject, [content]))
        except SealError as error:
            raise BackupDamagedError(f"{subject} was encrypted with another key") from error


@final
class PartFile:
    """A part that is being written."""

    def __init__(self, name: str, upload: Upload, packer: PartPacker, call: Call) -> None:
        self._name = name
        self._upload = upload
        self._packer = packer
        self._call = call
        self._entries: list[Entry] = []
        self._waiting_bytes = 0

    async def add(
        self, entries: Sequence[Entry], size: int, packed_bytes: int = PACKED_BYTES
    ) -> None:
        """Append entries, whose rows have so many bytes; pack so many at once."""
        self._entries += entries
        self._waiting_bytes += size
        if self._waiting_bytes >= packed_bytes:
            await self._pack()

    async def complete(self) -> dict[str, Any]:
        """End the part; return its description for the manifest."""
        await self._pack()
        await self._upload.write(await self._call(self._packer.finish))
        await self._upload.complete()
        return {"name": self._name, **self._packer.facts()}

    async def abort(self) -> None:
        """Forget the part."""
        await self._upload.abort()

    async def _pack(self) -> None:
        entries, self._entries, self._waiting_bytes = self._entries, [], 0
        content = await self._call(partial(self._packer.add, entries))
        if content:
            await self._upload.write(content)


async def walk_ids(store: ObjectStore, bucket: str) -> AsyncIterator[str]:
    """Yield the ids of all backups in a bucket: of those that have a manifest."""
    after = ""
    while True:
        page = await store.page(bucket, "", after=after, keys_max=_PAGE_KEYS)
        for entry in page.objects:
            id, _, name = entry.key.partition("/")
            if name == MANIFEST:
                yield id
        if not page.is_truncated:
            return
        after = page.last


def pack_manifest(manifest: dict[str, Any]) -> bytes:
    """Return a manifest as a file, with its sum."""
    summed = manifest | {"sha256": _digest(manifest)}
    return orjson.dumps(summed, option=orjson.OPT_INDENT_2)


def unpack_manifest(id: str, content: bytes, format: int) -> dict[str, Any]:
    """Return a manifest from its file, checked."""
    try:
        manifest: dict[str, Any] = orjson.loads(content)
        digest = manifest.pop("sha256")
    except (orjson.JSONDecodeError, KeyError, AttributeError, TypeError) as error:
        raise BackupDamagedError(f"the manifest of backup {id} cannot be read") from error
    if manifest.get("format") != format:
        raise BackupDamagedError(f"backup {id} has format {manifest.get('format')!r}")
    if digest != _digest(manifest):
        raise BackupDamagedError(f"the manifest of backup {id} was changed")
    return manifest


def _digest(manifest: dict[str, Any]) -> str:
    return hashlib.sha256(orjson.dumps(manifest, option=orjson.OPT_SORT_KEYS)).hexdigest()
