"""Rows of tables that are encrypted with a KMS key: sealed one by one, with the table's data key.

sealed row := magic (4 bytes) marker of the data key (8 bytes) kind (1 byte)
              nonce (12 bytes) AES-256-GCM of the row with its tag (16 bytes)

The associated data are the name of the store, which no other table ever has, and the key of the
row: a sealed row opens in its own place only. The engine completes the keys of appended rows with a
number, so those are bound to the key without it (kind 1). No row begins with the magic by itself:
rows of items begin with their size, and it stands for more than an item can have.

A nonce is random and never used for another row.
"""

from __future__ import annotations

from os import urandom
from typing import TYPE_CHECKING, Final, final

from hashrange.engine.base import SEQUENCE_BYTES
from hashrange.errors import CorruptionError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

MAGIC: Final = b"\xffHRK"
MARKER_BYTES: Final = 8
_NONCE_BYTES: Final = 12
_MARKER_END: Final = len(MAGIC) + MARKER_BYTES
_NONCE_START: Final = _MARKER_END + 1
_TEXT_START: Final = _NONCE_START + _NONCE_BYTES
_WHOLE_KEY: Final = b"\x00"
_WITHOUT_NUMBER: Final = b"\x01"


@final
class RowCipher:
    """Seals and opens rows with one data key."""

    __slots__ = ("_decrypt", "_encrypt", "_start", "_start_appended")

    def __init__(self, marker: bytes, cipher: AESGCM) -> None:
        self._start = MAGIC + marker + _WHOLE_KEY
        self._start_appended = MAGIC + marker + _WITHOUT_NUMBER
        self._encrypt = cipher.encrypt
        self._decrypt = cipher.decrypt

    def seal(self, store: str, key: bytes, row: bytes) -> bytes:
        """Return a row sealed for its key."""
        start = self._start + urandom(_NONCE_BYTES)
        return start + self._encrypt(start[_NONCE_START:], row, store.encode() + b"\x00" + key)

    def seal_appended(self, store: str, prefix: bytes, row: bytes) -> bytes:
        """Return a row sealed for the key that the engine will complete."""
        start = self._start_appended + urandom(_NONCE_BYTES)
        return start + self._encrypt(start[_NONCE_START:], row, store.encode() + b"\x00" + prefix)

    def open(self, store: str, key: bytes, sealed: bytes) -> bytes:
        """Return the row that was sealed for a key."""
        if sealed.startswith(_WITHOUT_NUMBER, _MARKER_END):
            key = key[:-SEQUENCE_BYTES]
        try:
            return self._decrypt(
                sealed[_NONCE_START:_TEXT_START],
                sealed[_TEXT_START:],
                store.encode() + b"\x00" + key,
            )
        except _invalid_tag():
            raise CorruptionError(f"a sealed row of store {store} is damaged") from None


def _invalid_tag() -> type[Exception]:
    """Return the class of an error; called only when there is one."""
    from cryptography.exceptions import InvalidTag

    return InvalidTag


def marker_of(row: bytes) -> bytes | None:
    """Return the marker of the data key that a row is sealed with; None if it is plain."""
    return row[len(MAGIC) : _MARKER_END] if row.startswith(MAGIC) else None


@final
class SpaceKeys:
    """The data keys of the space of a table or of one of its global indexes.

    `current` seals what is written, None if that is to be plain. `refusal` is raised instead of
    using any of them: the KMS key cannot be used now.
    """

    __slots__ = ("ciphers", "current", "refusal")

    def __init__(
        self,
        ciphers: dict[bytes, RowCipher],
        current: RowCipher | None,
        refusal: Exception | None = None,
    ) -> None:
        self.ciphers = ciphers
        self.current = current
        self.refusal = refusal

    def open(self, store: str, key: bytes, row: bytes) -> bytes:
        """Return a row as it was before it was sealed."""
        marker = marker_of(row)
        if marker is None:
            return row
        if self.refusal is not None:
            raise self.refusal
        cipher = self.ciphers.get(marker)
        if cipher is None:
            raise CorruptionError(f"a row of store {store} is sealed with an unknown key")
        return cipher.open(store, key, row)
