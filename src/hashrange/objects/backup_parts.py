"""The parts of a backup as bytes: packed and opened piece by piece, so no step takes long.

The format stands in `backups`. Nothing here waits for a disk; everything may run in a thread. A
part that is not what was written is a `BackupDamagedError`, raised at its end at the latest:
entries that came before must not be used if it is raised.
"""

from __future__ import annotations

import hashlib
import os
import struct
import zlib
from collections.abc import Sequence
from typing import Any, Final, Protocol, final

from hashrange.quick_zlib import QUICKEST, compressobj
from hashrange.sealing import SealError, StreamOpener, StreamSealer

PURPOSE: Final = "table backups"
_ENTRY: Final = struct.Struct("<HI")
_NONCE_BYTES: Final = 12

Entry = tuple[bytes, bytes]
"""The key of an item and its row."""


class Cipher(Protocol):
    """AES-256-GCM with the data key of a table."""

    def encrypt(self, nonce: bytes, data: bytes, associated_data: bytes | None) -> bytes: ...

    def decrypt(self, nonce: bytes, data: bytes, associated_data: bytes | None) -> bytes: ...


class BackupDamagedError(Exception):
    """A backup is not what was written; the message says where, for people."""


@final
class PartPacker:
    """Packs one part: what `add` and then `finish` return, in order, is the file."""

    def __init__(self, subject: str, key: bytes | None, cipher: Cipher | None) -> None:
        self._subject = subject
        self._sealer = None if key is None else StreamSealer(key, PURPOSE, subject)
        self._cipher = cipher
        self._compressor = compressobj(QUICKEST)
        self._digest = hashlib.sha256()
        # With a cipher: all of the content, which is sealed as a whole.
        self._held: list[bytes] = []
        self._items = 0
        self._bytes = 0

    def add(self, entries: Sequence[Entry]) -> bytes:
        """Take the next entries; return the bytes of the file that are complete."""
        pieces: list[bytes] = []
        for key, row in entries:
            pieces += (_ENTRY.pack(len(key), len(row)), key, row)
        self._items += len(entries)
        content = self._compressor.compress(b"".join(pieces))
        if self._cipher is None:
            return self._seal(content)
        self._held.append(content)
        return b""

    def finish(self) -> bytes:
        """Return the end of the file."""
        content = self._compressor.flush()
        if self._cipher is not None:
            nonce = os.urandom(_NONCE_BYTES)
            whole = b"".join([*self._held, content])
            content = nonce + self._cipher.encrypt(nonce, whole, self._subject.encode())
        sealed = self._seal(content)
        return sealed if self._sealer is None else sealed + self._count(self._sealer.finish())

    def facts(self) -> dict[str, Any]:
        """Return what the manifest says of the part, besides its name."""
        return {"sha256": self._digest.hexdigest(), "items": self._items, "bytes": self._bytes}

    def _seal(self, content: bytes) -> bytes:
        return self._count(content if self._sealer is None else self._sealer.update(content))

    def _count(self, content: bytes) -> bytes:
        self._digest.update(content)
        self._bytes += len(content)
        return content


@final
class PartOpener:
    """Opens one part: what `update` and then `finish` return, in order, are its entries."""

    def __init__(
        self,
        subject: str,
        manifest: dict[str, Any],
        number: int,
        key: bytes | None,
        cipher: Cipher | None,
    ) -> None:
        """`cipher` is that of the manifest's data key; without it, the part is only checked."""
        if manifest["is_sealed"] and key is None:
            raise BackupDamagedError(f"{subject} is encrypted, and this server has no key")
        self._subject = subject
        self._facts = manifest["parts"][number]
        self._opener = None
        if manifest["is_sealed"] and key is not None:
            self._opener = StreamOpener(key, PURPOSE, subject)
        self._has_data_key = manifest.get("data_key") is not None
        self._cipher = cipher
        self._inflater = zlib.decompressobj()
        self._digest = hashlib.sha256()
        self._rest = b""
        self._items = 0
        # With a data key: all of the content, which is opened as a whole.
        self._held: list[bytes] = []
        # Why it cannot be opened. A damaged file is reported as such, so all of it is summed.
        self._failure: Exception | None = None

    def update(self, content: bytes) -> list[Entry]:
        """Take the next bytes of the file; return the entries that are complete."""
        self._digest.update(content)
        if self._failure is None:
            try:
                return self._open(content if self._opener is None else self._opener.update(content))
            except (SealError, zlib.error) as error:
                self._failure = error
        return []

    def finish(self) -> list[Entry]:
        """Return the last entries; raise BackupDamagedError unless all is what was written."""
        if self._digest.hexdigest() != self._facts["sha256"]:
            raise BackupDamagedError(f"{self._subject} is damaged")
        try:
            if self._failure is not None:
                raise self._failure
            entries = self._open(b"" if self._opener is None else self._opener.finish())
            if self._has_data_key and self._cipher is None:
                return []
            if self._cipher is not None:
                entries = self._decrypt(self._cipher)
        except SealError as error:
            text = f"{self._subject} was encrypted with another key"
            raise BackupDamagedError(text) from error
        except zlib.error as error:
            raise BackupDamagedError(f"{self._subject} cannot be decompressed") from error
        if self._items != self._facts["items"] or self._rest:
            text = f"{self._subject} holds {self._items} items, not {self._facts['items']}"
            raise BackupDamagedError(text)
        return entries

    def _decrypt(self, cipher: Cipher) -> list[Entry]:
        whole = b"".join(self._held)
        nonce, sealed = whole[:_NONCE_BYTES], whole[_NONCE_BYTES:]
        opened = cipher.decrypt(nonce, sealed, self._subject.encode())
        return self._unpack(self._inflater.decompress(opened))

    def _open(self, content: bytes) -> list[Entry]:
        if not self._has_data_key:
            return self._unpack(self._inflater.decompress(content))
        if self._cipher is not None:
            self._held.append(content)
        return []

    def _unpack(self, content: bytes) -> list[Entry]:
        raw = self._rest + content
        entries: list[Entry] = []
        position = 0
        while position + _ENTRY.size <= len(raw):
            key_bytes, row_bytes = _ENTRY.unpack_from(raw, position)
            key_end = position + _ENTRY.size + key_bytes
            end = key_end + row_bytes
            if end > len(raw):
                break
            entries.append((raw[key_end - key_bytes : key_end], raw[key_end:end]))
            position = end
        self._rest = raw[position:]
        self._items += len(entries)
        return entries
