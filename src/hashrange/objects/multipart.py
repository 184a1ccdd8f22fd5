"""Uploads in parts to a folder of buckets: parts are files until they are joined to an object.

    root/BUCKET/.hashrange/u/ID/upload.json     the key, and what else belongs to the object
    root/BUCKET/.hashrange/u/ID/NUMBER-MD5      a part, with the hexadecimal MD5 of its content

The ETag of the object is that of S3: the MD5 of the MD5s, a dash, and the number of parts.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final

import orjson

from hashrange.objects.base import ObjectEntry, ObjectStoreError
from hashrange.objects.folder import FolderStore, open_private, write_all
from hashrange.objects.names import key_parts

PARTS_MAX: Final = 10_000
_FACTS: Final = "upload.json"
_is_id: Final = re.compile(r"[0-9a-f]{32}").fullmatch
_COPY_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class PartEntry:
    """A part of an upload; `etag` is without quotes."""

    number: int
    etag: str
    size: int
    modified_at: float


@final
class MultipartUploads:
    """The uploads in parts of a folder of buckets."""

    def __init__(self, store: FolderStore) -> None:
        self._store = store

    async def begin(
        self, bucket: str, key: str, content_type: str, headers: Mapping[str, str]
    ) -> str:
        """Begin an upload; return its id."""
        facts = {"key": key, "content_type": content_type, "headers": dict(headers)}
        return await self._store.call(self._begin, bucket, facts)

    async def put_part(self, bucket: str, key: str, id: str, number: int, content: bytes) -> str:
        """Keep a part, in place of one with the same number; return its ETag."""
        return await self._store.call(self._put_part, bucket, key, id, number, content)

    async def parts(self, bucket: str, key: str, id: str) -> list[PartEntry]:
        """Return the parts of an upload in their order."""
        return await self._store.call(self._parts, bucket, key, id)

    async def complete(
        self, bucket: str, key: str, id: str, chosen: Sequence[tuple[int, str]]
    ) -> ObjectEntry:
        """Join the chosen parts, by number and ETag, to an object."""
        return await self._store.call(self._complete, bucket, key, id, chosen)

    async def abort(self, bucket: str, key: str, id: str) -> None:
        """Forget an upload."""
        await self._store.call(lambda: shutil.rmtree(self._folder(bucket, key, id)))

    def _begin(self, bucket: str, facts: dict[str, Any]) -> str:
        key_parts(facts["key"])
        id = secrets.token_hex(16)
        folder = self._store.uploads_of(bucket) / id
        folder.mkdir(0o700)
        with open_private(folder / _FACTS) as file:
            write_all(file, orjson.dumps(facts | {"begun_at": time.time()}))
        return id

    def _folder(self, bucket: str, key: str, id: str) -> Path:
        folder = self._store.uploads_of(bucket) / id
        if _is_id(id) is None or self._facts(folder).get("key") != key:
            raise ObjectStoreError(
                "NoSuchUpload",
                "The specified upload does not exist. The upload ID may be invalid, or the upload "
                "may have been aborted or completed.",
            )
        return folder

    def _facts(self, folder: Path) -> dict[str, Any]:
        try:
            facts: dict[str, Any] = orjson.loads((folder / _FACTS).read_bytes())
        except (OSError, orjson.JSONDecodeError):
            return {}
        return facts

    def _put_part(self, bucket: str, key: str, id: str, number: int, content: bytes) -> str:
        folder = self._folder(bucket, key, id)
        if not 1 <= number <= PARTS_MAX:
            raise ObjectStoreError(
                "InvalidArgument", "Part number must be an integer between 1 and 10000, inclusive"
            )
        etag = hashlib.md5(content, usedforsecurity=False).hexdigest()
        temporary = folder / f".{secrets.token_hex(8)}"
        with open_private(temporary) as file:
            write_all(file, content)
            os.fsync(file.fileno())
        before = [part for part in _list(folder) if part.number == number]
        temporary.replace(folder / _name(number, etag))
        for part in before:
            if part.etag != etag:
                (folder / _name(number, part.etag)).unlink(missing_ok=True)
        return etag

    def _parts(self, bucket: str, key: str, id: str) -> list[PartEntry]:
        return _list(self._folder(bucket, key, id))

    def _complete(
        self, bucket: str, key: str, id: str, chosen: Sequence[tuple[int, str]]
    ) -> ObjectEntry:
        folder = self._folder(bucket, key, id)
        numbers = [number for number, _ in chosen]
        if not chosen or numbers != sorted(set(numbers)):
            raise ObjectStoreError(
                "InvalidPartOrder",
                "The list of parts was not in ascending order. The parts list must be specified in "
                "order by part number.",
            )
        known = {(part.number, part.etag) for part in _list(folder)}
        if any(part not in known for part in chosen):
            raise ObjectStoreError(
                "InvalidPart",
                "One or more of the specified parts could not be found. The part may not have been "
                "uploaded, or the specified entity tag may not match the part's entity tag.",
            )
        joined = folder / f".{secrets.token_hex(8)}"
        with open_private(joined) as file:
            for number, etag in chosen:
                with open(folder / _name(number, etag), "rb", buffering=0) as part:
                    while content := part.read(_COPY_BYTES):
                        write_all(file, content)
            os.fsync(file.fileno())
        digests = b"".join(bytes.fromhex(etag) for _, etag in chosen)
        etag = f"{hashlib.md5(digests, usedforsecurity=False).hexdigest()}-{len(chosen)}"
        facts = self._facts(folder)
        kept = {name: facts[name] for name in ("content_type", "headers")}
        entry = self._store.adopt(bucket, key, joined, etag, kept)
        shutil.rmtree(folder, ignore_errors=True)
        return entry


def _name(number: int, etag: str) -> str:
    return f"{number:05}-{etag}"


def _list(folder: Path) -> list[PartEntry]:
    found: list[PartEntry] = []
    for path in folder.glob("[0-9]*-*"):
        number, _, etag = path.name.partition("-")
        with contextlib.suppress(FileNotFoundError):
            status = path.stat()
            found.append(PartEntry(int(number), etag, status.st_size, status.st_mtime))
    return sorted(found, key=lambda part: part.number)
