"""How the files of a folder of buckets are stored: as they are, or sealed under the server's key.

sealed file  := "hashrange:object" (16 bytes) sealed stream (see `sealing`)
sealed facts := the secret (see `sealing`) of a JSON object
label        := the MD5 of a part in hexadecimal, or the secret of its bytes

Each is bound to its subject: bucket and key of an object, or bucket, upload and number of a part.
What was changed, cut short, or moved from another place raises `SealError` before a wrong byte is
read, and the end of a file is checked first. An older file of the same object is not noticed.

A folder holds files of one kind. One of the other kind is refused, because somebody who can write
to the disk, but has no key, could put it there.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, BinaryIO, Final, Protocol, final

import orjson

from hashrange.objects.base import ObjectStoreError
from hashrange.sealing import (
    CHUNK_BYTES,
    SEALED_CHUNK_BYTES,
    STREAM_HEADER_BYTES,
    ChunkOpener,
    SealError,
    StreamSealer,
    Vault,
    content_bytes,
    count_chunks,
)

MAGIC: Final = b"hashrange:object"
UNREADABLE: Final = "InvalidObjectState"
"""The code of objects whose content cannot be read."""

FilePath = str | os.PathLike[str]

_PURPOSE: Final = "objects"
_FACTS_PURPOSE: Final = "object facts"
_START_BYTES: Final = len(MAGIC) + STREAM_HEADER_BYTES


def object_subject(bucket: str, key: str) -> str:
    """Return what the files of an object are bound to."""
    return f"object {bucket}/{key}"


def upload_subject(bucket: str, id: str) -> str:
    """Return what the facts of an upload in parts are bound to."""
    return f"upload {bucket}/{id}"


def part_subject(bucket: str, id: str, number: int) -> str:
    """Return what a part of an upload is bound to."""
    return f"part {bucket}/{id}/{number}"


class Writer(Protocol):
    """Turns content into what is written to the file, in order."""

    def update(self, content: bytes) -> bytes: ...

    def finish(self) -> bytes: ...


class Content(Protocol):
    """The content of an open file; `size` is its length."""

    @property
    def size(self) -> int: ...

    def read(self, start: int, bytes_max: int) -> bytes:
        """Return content from a position on, at least a byte before the end."""

    def close(self) -> None: ...


class Seal(Protocol):
    """The way in which the files of a folder are stored."""

    def writer(self, subject: str) -> Writer:
        """Begin to write a file."""

    def open(self, path: FilePath, subject: str) -> Content:
        """Open a file, or raise what is wrong with it."""

    def content_bytes(self, path: FilePath, file_bytes: int, expected: object) -> int:
        """Return the length of the content of a file, quicker if it is what is expected."""

    def pack_facts(self, subject: str, facts: Mapping[str, Any]) -> bytes:
        """Return a small file that holds facts."""

    def unpack_facts(self, subject: str, content: bytes) -> dict[str, Any]:
        """Return the facts of a small file; none if they are not from here."""

    def label(self, subject: str, etag: str) -> str:
        """Return a part of a file name that tells an ETag."""

    def etag(self, subject: str, label: str) -> str | None:
        """Return the ETag that a label tells; None if it is not from here."""


@final
class PlainSeal:
    """Files as they are."""

    def writer(self, subject: str) -> Writer:
        return _PlainWriter()

    def open(self, path: FilePath, subject: str) -> Content:
        return _opened(path, _PlainContent)

    def content_bytes(self, path: FilePath, file_bytes: int, expected: object) -> int:
        return file_bytes

    def pack_facts(self, subject: str, facts: Mapping[str, Any]) -> bytes:
        return orjson.dumps(facts)

    def unpack_facts(self, subject: str, content: bytes) -> dict[str, Any]:
        try:
            facts = orjson.loads(content)
        except orjson.JSONDecodeError:
            return {}
        return facts if isinstance(facts, dict) else {}

    def label(self, subject: str, etag: str) -> str:
        return etag

    def etag(self, subject: str, label: str) -> str | None:
        return label if len(label) == _MD5_CHARACTERS else None


_MD5_CHARACTERS: Final = 32
PLAIN: Final = PlainSeal()


@final
class KeySeal:
    """Files that are sealed with the first of some keys, and opened with any of them."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        self._keys = keys
        self._vaults = [_vault(key) for key in keys]

    def writer(self, subject: str) -> Writer:
        return _SealedWriter(self._keys[0], subject)

    def open(self, path: FilePath, subject: str) -> Content:
        return _opened(path, lambda file: _SealedContent(file, self._keys, subject))

    def content_bytes(self, path: FilePath, file_bytes: int, expected: object) -> int:
        size = content_bytes(file_bytes - len(MAGIC))
        return size if size == expected or _is_sealed(path) else file_bytes

    def pack_facts(self, subject: str, facts: Mapping[str, Any]) -> bytes:
        return self._vaults[0].seal(_FACTS_PURPOSE, subject, orjson.dumps(facts)).encode()

    def unpack_facts(self, subject: str, content: bytes) -> dict[str, Any]:
        opened = self._open_secret(subject, content.decode(errors="replace"))
        if opened is None:
            return {}
        facts: dict[str, Any] = orjson.loads(opened)
        return facts

    def label(self, subject: str, etag: str) -> str:
        return self._vaults[0].seal(_FACTS_PURPOSE, subject, bytes.fromhex(etag))

    def etag(self, subject: str, label: str) -> str | None:
        opened = self._open_secret(subject, label)
        return None if opened is None else opened.hex()

    def _open_secret(self, subject: str, sealed: str) -> bytes | None:
        for vault in self._vaults:
            try:
                return vault.open(_FACTS_PURPOSE, subject, sealed)
            except SealError:
                continue
        return None


def _opened(path: FilePath, read: Callable[[BinaryIO], Content]) -> Content:
    with contextlib.ExitStack() as stack:
        content = read(stack.enter_context(open(path, "rb", buffering=0)))
        stack.pop_all()  # the content closes the file from here on
        return content


def _vault(key: bytes) -> Vault:
    return Vault(lambda: key)


def _is_sealed(path: FilePath) -> bool:
    with open(path, "rb", buffering=0) as file:
        return _read_at(file, 0, len(MAGIC)) == MAGIC


@final
class _PlainWriter:
    def update(self, content: bytes) -> bytes:
        return content

    def finish(self) -> bytes:
        return b""


@final
class _SealedWriter:
    def __init__(self, key: bytes, subject: str) -> None:
        self._sealer = StreamSealer(key, _PURPOSE, subject)
        self._magic = MAGIC

    def update(self, content: bytes) -> bytes:
        return self._take_magic() + self._sealer.update(content)

    def finish(self) -> bytes:
        return self._take_magic() + self._sealer.finish()

    def _take_magic(self) -> bytes:
        magic, self._magic = self._magic, b""
        return magic


@final
class _PlainContent:
    def __init__(self, file: BinaryIO) -> None:
        if _read_at(file, 0, len(MAGIC)) == MAGIC:
            raise ObjectStoreError(
                UNREADABLE, "The object is encrypted, and this server reads its folder unencrypted."
            )
        self._file = file
        self.size = os.fstat(file.fileno()).st_size

    def read(self, start: int, bytes_max: int) -> bytes:
        return _read_at(self._file, start, bytes_max)

    def close(self) -> None:
        self._file.close()


@final
class _SealedContent:
    """Opens the chunks that are asked for; the last one is opened first, and kept."""

    def __init__(self, file: BinaryIO, keys: Sequence[bytes], subject: str) -> None:
        self._file = file
        start = _read_at(file, 0, _START_BYTES)
        if not start.startswith(MAGIC):
            raise ObjectStoreError(
                UNREADABLE,
                "The object is a plain file in an encrypted folder. Write it through S3, or stop "
                "the server and run `hashrange encrypt`.",
            )
        stream_bytes = os.fstat(file.fileno()).st_size - len(MAGIC)
        self.size = content_bytes(stream_bytes)
        self._last_number = count_chunks(stream_bytes) - 1
        sealed = self._sealed(self._last_number)
        for position, key in enumerate(keys):
            self._opener = ChunkOpener(key, _PURPOSE, subject, start[len(MAGIC) :])
            try:
                self._last = self._opener.open(self._last_number, sealed, is_last=True)
                return
            except SealError:
                if position == len(keys) - 1:
                    raise

    def read(self, start: int, bytes_max: int) -> bytes:
        number, skipped = divmod(start, CHUNK_BYTES)
        pieces: list[bytes] = []
        held = -skipped
        while held < bytes_max and number <= self._last_number:
            pieces.append(self._chunk(number))
            held += len(pieces[-1])
            number += 1
        return b"".join(pieces)[skipped : skipped + bytes_max]

    def _chunk(self, number: int) -> bytes:
        if number == self._last_number:
            return self._last
        return self._opener.open(number, self._sealed(number), is_last=False)

    def _sealed(self, number: int) -> bytes:
        return _read_at(self._file, _START_BYTES + number * SEALED_CHUNK_BYTES, SEALED_CHUNK_BYTES)

    def close(self) -> None:
        self._file.close()


def _read_at(file: BinaryIO, position: int, size: int) -> bytes:
    """Return bytes of a file without a buffer, fewer only at its end."""
    file.seek(position)
    pieces: list[bytes] = []
    while size and (piece := file.read(size)):
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)
