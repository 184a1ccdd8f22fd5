"""Uploads in parts to a folder of buckets: parts are files until they are joined to an object.

    root/BUCKET/.hashrange/u/ID/upload.json     the key, and what else belongs to the object
    root/BUCKET/.hashrange/u/ID/NUMBER-LABEL    a part, with the MD5 of its content

In a folder that is sealed, all of them are, the label included (see seals). The ETag of the object
is that of S3: the MD5 of the MD5s, a dash, and the number of parts.
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
from typing import Any, BinaryIO, Final, final

from hashrange.objects.base import ObjectEntry, ObjectStoreError
from hashrange.objects.files import open_private, write_all
from hashrange.objects.folder import FolderStore
from hashrange.objects.names import key_parts
from hashrange.objects.seals import (
    Content,
    Seal,
    Writer,
    object_subject,
    part_subject,
    upload_subject,
)

PARTS_MAX: Final = 10_000
UPLOAD_FACTS: Final = "upload.json"
_is_id: Final = re.compile(r"[0-9a-f]{32}").fullmatch
_COPY_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class PartEntry:
    """A part of an upload; `etag` is without quotes."""

    number: int
    etag: str
    size: int
    modified_at: float
    path: Path


@dataclass(frozen=True, slots=True)
class UploadEntry:
    """An upload that is neither complete nor aborted."""

    key: str
    id: str
    begun_at: float


@final
class MultipartUploads:
    """The uploads in parts of a folder of buckets."""

    def __init__(self, store: FolderStore) -> None:
        self._store = store
        self._seal = store.seal

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

    async def uploads(self, bucket: str, prefix: str) -> list[UploadEntry]:
        """Return the uploads to keys that begin with a prefix, by key and time."""
        return await self._store.call(self._uploads, bucket, prefix)

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
        sealed = self._seal.pack_facts(
            upload_subject(bucket, id), facts | {"begun_at": time.time()}
        )
        with open_private(folder / UPLOAD_FACTS) as file:
            write_all(file, sealed)
        return id

    def _uploads(self, bucket: str, prefix: str) -> list[UploadEntry]:
        found = [
            UploadEntry(facts["key"], path.name, facts["begun_at"])
            for path in self._store.uploads_of(bucket).iterdir()
            if (facts := self._facts(bucket, path)) and facts["key"].startswith(prefix)
        ]
        return sorted(found, key=lambda entry: (entry.key.encode(), entry.begun_at, entry.id))

    def _folder(self, bucket: str, key: str, id: str) -> Path:
        folder = self._store.uploads_of(bucket) / id
        if _is_id(id) is None or self._facts(bucket, folder).get("key") != key:
            raise ObjectStoreError(
                "NoSuchUpload",
                "The specified upload does not exist. The upload ID may be invalid, or the upload "
                "may have been aborted or completed.",
            )
        return folder

    def _facts(self, bucket: str, folder: Path) -> dict[str, Any]:
        try:
            content = (folder / UPLOAD_FACTS).read_bytes()
        except OSError:
            return {}
        return self._seal.unpack_facts(upload_subject(bucket, folder.name), content)

    def _put_part(self, bucket: str, key: str, id: str, number: int, content: bytes) -> str:
        folder = self._folder(bucket, key, id)
        if not 1 <= number <= PARTS_MAX:
            raise ObjectStoreError(
                "InvalidArgument", "Part number must be an integer between 1 and 10000, inclusive"
            )
        etag = hashlib.md5(content, usedforsecurity=False).hexdigest()
        subject = part_subject(bucket, id, number)
        writer = self._seal.writer(subject)
        temporary = folder / f".{secrets.token_hex(8)}"
        with open_private(temporary) as file:
            write_all(file, writer.update(content))
            write_all(file, writer.finish())
            os.fsync(file.fileno())
        before = [part for part in self._list(bucket, folder) if part.number == number]
        path = temporary.replace(folder / part_name(number, self._seal.label(subject, etag)))
        for part in before:
            if part.path != path:
                part.path.unlink(missing_ok=True)
        return etag

    def _list(self, bucket: str, folder: Path) -> list[PartEntry]:
        return list_parts(folder, bucket, self._seal)

    def _parts(self, bucket: str, key: str, id: str) -> list[PartEntry]:
        return self._list(bucket, self._folder(bucket, key, id))

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
        known = {(part.number, part.etag): part for part in self._list(bucket, folder)}
        if any(part not in known for part in chosen):
            raise ObjectStoreError(
                "InvalidPart",
                "One or more of the specified parts could not be found. The part may not have been "
                "uploaded, or the specified entity tag may not match the part's entity tag.",
            )
        joined = folder / f".{secrets.token_hex(8)}"
        writer = self._seal.writer(object_subject(bucket, key))
        with open_private(joined) as file:
            for part in chosen:
                subject = part_subject(bucket, id, part[0])
                with contextlib.closing(self._seal.open(known[part].path, subject)) as content:
                    copy_content(content, file, writer)
            write_all(file, writer.finish())
            os.fsync(file.fileno())
        digests = b"".join(bytes.fromhex(etag) for _, etag in chosen)
        etag = f"{hashlib.md5(digests, usedforsecurity=False).hexdigest()}-{len(chosen)}"
        facts = self._facts(bucket, folder)
        kept = {name: facts[name] for name in ("content_type", "headers")}
        entry = self._store.adopt(bucket, key, joined, etag, kept)
        shutil.rmtree(folder, ignore_errors=True)
        return entry


def part_name(number: int, label: str) -> str:
    """Return the name of the file of a part."""
    return f"{number:05}-{label}"


def list_parts(folder: Path, bucket: str, seal: Seal) -> list[PartEntry]:
    """Return the parts of an upload that a seal is good for, in their order."""
    found: dict[tuple[int, str], PartEntry] = {}
    for path in folder.glob("[0-9]*-*"):
        number, _, label = path.name.partition("-")
        subject = part_subject(bucket, folder.name, int(number))
        etag = seal.etag(subject, label)
        with contextlib.suppress(FileNotFoundError):
            if etag is not None:
                status = path.stat()
                size = seal.content_bytes(path, status.st_size, None)
                entry = PartEntry(int(number), etag, size, status.st_mtime, path)
                found[entry.number, entry.etag] = entry
    return sorted(found.values(), key=lambda part: part.number)


def copy_content(content: Content, file: BinaryIO, writer: Writer) -> None:
    """Append content to a file, as a writer writes it."""
    position = 0
    while chunk := content.read(position, _COPY_BYTES):
        write_all(file, writer.update(chunk))
        position += len(chunk)
