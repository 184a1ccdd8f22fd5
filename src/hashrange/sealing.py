"""Seals under the server's key: secrets in rows, and streams of bytes that leave the database.

A sealed secret opens for the purpose and the subject it was sealed for, such as the id of an access
key, and for nothing else; each purpose has a key of its own.

secret := base64url(nonce (12 random bytes), AES-256-GCM of the content with its tag)

Nobody without the key can read a sealed stream. With it, nobody opens one that was changed, cut
short, put in another order or sealed for something else: `SealError` comes before the first byte
that is wrong, and at the end if the end is missing.

stream := magic (4 bytes) salt (16 bytes) chunk* last chunk
chunk  := AES-256-GCM of 65,536 bytes, with its tag (16 bytes); the last one has 0 to 65,536 bytes
nonce  := number of the chunk (11 bytes), 1 for the last chunk and 0 for the others (1 byte)

The key of a stream is HMAC-SHA-256 of purpose and salt under the server's key, so a nonce never
meets the same key twice. The subject, such as a file name, is the associated data of every chunk.
Chunks have a fixed size, so one in the middle opens without those before it (`ChunkOpener`).
"""

from __future__ import annotations

import base64
import binascii
import hmac
import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Final, final

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

STREAM_MAGIC: Final = b"HRS1"
KEY_BYTES: Final = 32
_SALT_BYTES: Final = 16
STREAM_HEADER_BYTES: Final = len(STREAM_MAGIC) + _SALT_BYTES
CHUNK_BYTES: Final = 1 << 16
"""The content of every chunk of a stream but the last."""
_TAG_BYTES: Final = 16
SEALED_CHUNK_BYTES: Final = CHUNK_BYTES + _TAG_BYTES
_NUMBER_BYTES: Final = 11
_NONCE_BYTES: Final = 12


class SealError(Exception):
    """What was to be opened was not sealed with this key, or for something else, or is damaged."""


@final
class Vault:
    """Seals and opens secrets; the server's key is asked for when it is first needed."""

    def __init__(self, load_key: Callable[[], bytes]) -> None:
        self._load_key = load_key
        self._ciphers: dict[str, AESGCM] = {}

    def seal(self, purpose: str, subject: str, content: bytes) -> str:
        """Return content sealed for a purpose and a subject, such as an access key id."""
        nonce = os.urandom(_NONCE_BYTES)
        sealed = self._cipher(purpose).encrypt(nonce, content, subject.encode())
        return base64.urlsafe_b64encode(nonce + sealed).decode()

    def open(self, purpose: str, subject: str, sealed: str) -> bytes:
        """Return the content of a seal, or raise SealError."""
        from cryptography.exceptions import InvalidTag

        try:
            raw = base64.urlsafe_b64decode(sealed.encode())
            if len(raw) <= _NONCE_BYTES:
                raise SealError
            return self._cipher(purpose).decrypt(
                raw[:_NONCE_BYTES], raw[_NONCE_BYTES:], subject.encode()
            )
        except (InvalidTag, binascii.Error, ValueError):
            raise SealError from None

    def _cipher(self, purpose: str) -> AESGCM:
        cipher = self._ciphers.get(purpose)
        if cipher is None:
            # Slow to import, and an open server may never need it.
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM

            cipher = AESGCM(derive_key(self._load_key(), purpose))
            self._ciphers[purpose] = cipher
        return cipher


@final
class StreamSealer:
    """Seals one stream: what `update` and then `finish` return, in order, is the sealed stream."""

    def __init__(self, key: bytes, purpose: str, subject: str) -> None:
        salt = os.urandom(_SALT_BYTES)
        self._cipher = _cipher(key, purpose, salt)
        self._subject = subject.encode()
        self._number = 0
        self._held = bytearray()
        self._header = STREAM_MAGIC + salt

    def update(self, content: bytes) -> bytes:
        """Take the next bytes; return those of the sealed stream that are complete."""
        self._held += content
        sealed = [self._take_header()]
        # The last chunk is marked, so a full one is kept until more has come.
        while len(self._held) > CHUNK_BYTES:
            sealed.append(self._seal(bytes(self._held[:CHUNK_BYTES]), is_last=False))
            del self._held[:CHUNK_BYTES]
        return b"".join(sealed)

    def finish(self) -> bytes:
        """Return the end of the sealed stream."""
        return self._take_header() + self._seal(bytes(self._held), is_last=True)

    def _take_header(self) -> bytes:
        header, self._header = self._header, b""
        return header

    def _seal(self, chunk: bytes, *, is_last: bool) -> bytes:
        nonce = _nonce(self._number, is_last=is_last)
        self._number += 1
        return self._cipher.encrypt(nonce, chunk, self._subject)


@final
class StreamOpener:
    """Opens one stream: what `update` and then `finish` return, in order, is what was sealed."""

    def __init__(self, key: bytes, purpose: str, subject: str) -> None:
        self._make_opener = partial(ChunkOpener, key, purpose, subject)
        self._opener: ChunkOpener | None = None
        self._number = 0
        self._held = bytearray()

    def update(self, sealed: bytes) -> bytes:
        """Take the next sealed bytes; return the content of the chunks that are complete."""
        self._held += sealed
        if self._opener is None:
            if len(self._held) < STREAM_HEADER_BYTES:
                return b""
            self._opener = self._make_opener(bytes(self._held[:STREAM_HEADER_BYTES]))
            del self._held[:STREAM_HEADER_BYTES]
        content = []
        while len(self._held) > SEALED_CHUNK_BYTES:
            chunk = bytes(self._held[:SEALED_CHUNK_BYTES])
            content.append(self._opener.open(self._number, chunk, is_last=False))
            self._number += 1
            del self._held[:SEALED_CHUNK_BYTES]
        return b"".join(content)

    def finish(self) -> bytes:
        """Return the rest of the content; raise if the sealed stream does not end here."""
        if self._opener is None:
            raise SealError("the sealed stream is cut short")
        return self._opener.open(self._number, bytes(self._held), is_last=True)


@final
class ChunkOpener:
    """Opens single chunks of one stream, in any order."""

    def __init__(self, key: bytes, purpose: str, subject: str, header: bytes) -> None:
        if len(header) != STREAM_HEADER_BYTES or not header.startswith(STREAM_MAGIC):
            raise SealError("this is not a sealed stream")
        self._cipher = _cipher(key, purpose, header[len(STREAM_MAGIC) :])
        self._subject = subject.encode()

    def open(self, number: int, sealed: bytes, *, is_last: bool) -> bytes:
        """Return the content of a chunk; raise unless it has this number and is the last or not."""
        from cryptography.exceptions import InvalidTag

        try:
            return self._cipher.decrypt(_nonce(number, is_last=is_last), sealed, self._subject)
        except (InvalidTag, ValueError):
            raise SealError(
                "the sealed stream is damaged, cut short, or sealed with another key"
            ) from None


def count_chunks(sealed_bytes: int) -> int:
    """Return the number of chunks of a sealed stream of this length."""
    return max(1, -(-(sealed_bytes - STREAM_HEADER_BYTES) // SEALED_CHUNK_BYTES))


def content_bytes(sealed_bytes: int) -> int:
    """Return the length of the content of a sealed stream of this length, 0 if it is too short."""
    overhead = STREAM_HEADER_BYTES + count_chunks(sealed_bytes) * _TAG_BYTES
    return max(0, sealed_bytes - overhead)


def seal_stream(
    key: bytes, purpose: str, subject: str, content: Iterable[bytes]
) -> Iterator[bytes]:
    """Yield the sealed form of a stream."""
    sealer = StreamSealer(key, purpose, subject)
    for piece in content:
        if sealed := sealer.update(piece):
            yield sealed
    yield sealer.finish()


def open_stream(key: bytes, purpose: str, subject: str, sealed: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the content of a sealed stream; the last piece comes only if the end is there."""
    opener = StreamOpener(key, purpose, subject)
    for piece in sealed:
        if content := opener.update(piece):
            yield content
    if content := opener.finish():
        yield content


def derive_key(key: bytes, purpose: str, salt: bytes = b"") -> bytes:
    """Return the key for one purpose; keys of different purposes tell nothing of each other."""
    assert len(key) == KEY_BYTES
    label = f"hashrange {purpose}".encode()
    return hmac.digest(key, label + b"\0" + salt if salt else label, "sha256")


def _cipher(key: bytes, purpose: str, salt: bytes) -> AESGCM:
    # Slow to import, and most servers never need it.
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    return AESGCM(derive_key(key, f"stream of {purpose}", salt))


def _nonce(number: int, *, is_last: bool) -> bytes:
    return number.to_bytes(_NUMBER_BYTES, "big") + bytes([is_last])
