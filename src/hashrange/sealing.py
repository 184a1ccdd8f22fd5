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
"""

from __future__ import annotations

import base64
import binascii
import hmac
import os
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Final, final

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

STREAM_MAGIC: Final = b"HRS1"
KEY_BYTES: Final = 32
_SALT_BYTES: Final = 16
_HEADER_BYTES: Final = len(STREAM_MAGIC) + _SALT_BYTES
_CHUNK_BYTES: Final = 1 << 16
_TAG_BYTES: Final = 16
_SEALED_CHUNK_BYTES: Final = _CHUNK_BYTES + _TAG_BYTES
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
        while len(self._held) > _CHUNK_BYTES:
            sealed.append(self._seal(bytes(self._held[:_CHUNK_BYTES]), is_last=False))
            del self._held[:_CHUNK_BYTES]
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
        self._key = key
        self._purpose = purpose
        self._subject = subject.encode()
        self._opening: AESGCM | None = None
        self._number = 0
        self._held = bytearray()

    def update(self, sealed: bytes) -> bytes:
        """Take the next sealed bytes; return the content of the chunks that are complete."""
        self._held += sealed
        if self._opening is None:
            if len(self._held) < _HEADER_BYTES:
                return b""
            self._opening = self._read_header()
        content = []
        while len(self._held) > _SEALED_CHUNK_BYTES:
            chunk = bytes(self._held[:_SEALED_CHUNK_BYTES])
            content.append(self._open(self._opening, chunk, is_last=False))
            del self._held[:_SEALED_CHUNK_BYTES]
        return b"".join(content)

    def finish(self) -> bytes:
        """Return the rest of the content; raise if the sealed stream does not end here."""
        if self._opening is None:
            raise SealError("the sealed stream is cut short")
        return self._open(self._opening, bytes(self._held), is_last=True)

    def _read_header(self) -> AESGCM:
        header = bytes(self._held[:_HEADER_BYTES])
        if not header.startswith(STREAM_MAGIC):
            raise SealError("this is not a sealed stream")
        del self._held[:_HEADER_BYTES]
        return _cipher(self._key, self._purpose, header[len(STREAM_MAGIC) :])

    def _open(self, cipher: AESGCM, chunk: bytes, *, is_last: bool) -> bytes:
        from cryptography.exceptions import InvalidTag

        nonce = _nonce(self._number, is_last=is_last)
        self._number += 1
        try:
            return cipher.decrypt(nonce, chunk, self._subject)
        except (InvalidTag, ValueError):
            raise SealError(
                "the sealed stream is damaged, cut short, or sealed with another key"
            ) from None


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
