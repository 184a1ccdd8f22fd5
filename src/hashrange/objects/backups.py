"""Backups of tables in files: parts that hold items, and a manifest that makes them a backup.

    BUCKET/ID/part-00000       items in key order, compressed, sealed if the server has a key
    BUCKET/ID/manifest.json    written last; without it there is no backup

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
import os
import struct
import zlib
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, Final, Protocol, TypeVar, final

import orjson

from hashrange.objects.base import NoSuchKeyError, ObjectStore, get_object, put_object
from hashrange.sealing import SealError, open_stream, seal_stream

FORMAT: Final = 1
MANIFEST: Final = "manifest.json"
_ENTRY: Final = struct.Struct("<HI")
_LEVEL: Final = 1
_PURPOSE: Final = "table backups"
_PAGE_KEYS: Final = 1000

Entry = tuple[bytes, bytes]
"""The key of an item and its row."""

Answer = TypeVar("Answer")

_NONCE_BYTES: Final = 12


class Cipher(Protocol):
    """AES-256-GCM with the data key of a table."""

    def encrypt(self, nonce: bytes, data: bytes, associated_data: bytes | None) -> bytes: ...

    def decrypt(self, nonce: bytes, data: bytes, associated_data: bytes | None) -> bytes: ...


class BackupDamagedError(Exception):
    """A backup is not what was written; the message says where, for people."""


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

    async def write_part(
        self, id: str, number: int, entries: Sequence[Entry], cipher: Cipher | None = None
    ) -> dict[str, Any]:
        """Write a part, sealed by the cipher of the table if it has one; return its description."""
        name = f"part-{number:05}"
        content = await self._call(lambda: self._pack(f"{id}/{name}", entries, cipher))
        digest = await self._call(lambda: hashlib.sha256(content).hexdigest())
        await put_object(self._store, self._bucket, f"{id}/{name}", content)
        return {"name": name, "sha256": digest, "items": len(entries), "bytes": len(content)}

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
        manifest["sha256"] = _digest(manifest)
        content = orjson.dumps(manifest, option=orjson.OPT_INDENT_2)
        await put_object(self._store, self._bucket, f"{id}/{MANIFEST}", content)

    async def manifest(self, id: str) -> dict[str, Any]:
        """Return the manifest of a backup, checked."""
        try:
            content = await get_object(self._store, self._bucket, f"{id}/{MANIFEST}")
            manifest: dict[str, Any] = orjson.loads(content)
            digest = manifest.pop("sha256")
        except NoSuchKeyError as error:
            raise BackupDamagedError(f"backup {id} has no manifest") from error
        except (orjson.JSONDecodeError, KeyError, AttributeError, TypeError) as error:
            raise BackupDamagedError(f"the manifest of backup {id} cannot be read") from error
        if manifest.get("format") != FORMAT:
            raise BackupDamagedError(f"backup {id} has format {manifest.get('format')!r}")
        if digest != _digest(manifest):
            raise BackupDamagedError(f"the manifest of backup {id} was changed")
        return manifest

    async def read_part(
        self, id: str, manifest: dict[str, Any], number: int, cipher: Cipher | None = None
    ) -> list[Entry]:
        """Return the items of a part, checked; `cipher` is that of the manifest's data key."""
        part = manifest["parts"][number]
        subject = f"{id}/{part['name']}"
        try:
            content = await get_object(self._store, self._bucket, subject)
        except NoSuchKeyError as error:
            raise BackupDamagedError(f"{subject} is missing") from error
        unsealed = await self._call(lambda: self._unseal(subject, part, content, manifest))
        if manifest.get("data_key") is not None:
            if cipher is None:
                raise BackupDamagedError(f"{subject} is sealed with a KMS key")
            nonce, sealed = unsealed[:_NONCE_BYTES], unsealed[_NONCE_BYTES:]
            unsealed = cipher.decrypt(nonce, sealed, subject.encode())
        return await self._call(lambda: _unpack(subject, part, unsealed))

    async def check_part(self, id: str, manifest: dict[str, Any], number: int) -> int:
        """Check a part as far as this server can read it; return the number of its items."""
        if manifest.get("data_key") is None:
            return len(await self.read_part(id, manifest, number))
        part = manifest["parts"][number]
        subject = f"{id}/{part['name']}"
        try:
            content = await get_object(self._store, self._bucket, subject)
        except NoSuchKeyError as error:
            raise BackupDamagedError(f"{subject} is missing") from error
        await self._call(lambda: self._unseal(subject, part, content, manifest))
        return int(part["items"])

    async def ids(self) -> AsyncIterator[str]:
        """Yield the ids of all backups in the bucket."""
        after = ""
        while True:
            page = await self._store.page(self._bucket, "", after=after, keys_max=_PAGE_KEYS)
            for entry in page.objects:
                id, _, name = entry.key.partition("/")
                if name == MANIFEST:
                    yield id
            if not page.is_truncated:
                return
            after = page.last

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

    def _pack(self, subject: str, entries: Sequence[Entry], cipher: Cipher | None) -> bytes:
        pieces: list[bytes] = []
        for key, row in entries:
            pieces += (_ENTRY.pack(len(key), len(row)), key, row)
        content = zlib.compress(b"".join(pieces), _LEVEL)
        if cipher is not None:
            nonce = os.urandom(_NONCE_BYTES)
            content = nonce + cipher.encrypt(nonce, content, subject.encode())
        if self._key is None:
            return content
        return b"".join(seal_stream(self._key, _PURPOSE, subject, [content]))

    def _unseal(
        self, subject: str, part: dict[str, Any], content: bytes, manifest: dict[str, Any]
    ) -> bytes:
        """Return the content of a file below the server's own seal, checked."""
        if hashlib.sha256(content).hexdigest() != part["sha256"]:
            raise BackupDamagedError(f"{subject} is damaged")
        if manifest["is_sealed"]:
            if self._key is None:
                raise BackupDamagedError(f"{subject} is encrypted, and this server has no key")
            try:
                content = b"".join(open_stream(self._key, _PURPOSE, subject, [content]))
            except SealError as error:
                raise BackupDamagedError(f"{subject} was encrypted with another key") from error
        return content


def _unpack(subject: str, part: dict[str, Any], content: bytes) -> list[Entry]:
    raw = zlib.decompress(content)
    entries: list[Entry] = []
    position = 0
    while position < len(raw):
        key_bytes, row_bytes = _ENTRY.unpack_from(raw, position)
        key_end = position + _ENTRY.size + key_bytes
        entries.append((raw[key_end - key_bytes : key_end], raw[key_end : key_end + row_bytes]))
        position = key_end + row_bytes
    if len(entries) != part["items"]:
        raise BackupDamagedError(f"{subject} holds {len(entries)} items, not {part['items']}")
    return entries


def _digest(manifest: dict[str, Any]) -> str:
    return hashlib.sha256(orjson.dumps(manifest, option=orjson.OPT_SORT_KEYS)).hexdigest()
