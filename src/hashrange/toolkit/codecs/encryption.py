"""Encrypts attributes on the client with AES-256-GCM; needs the package `cryptography`.

Format of the stored binary: `HRe1`, one byte with the length of the key's id, the id, the nonce of
12 bytes, the ciphertext with its tag. The table, the item's key and the attribute's name are
authenticated with it, so that a value cannot be moved to another item or attribute. Values are
decrypted with the key they name, and encrypted with the current one: to rotate keys, add one, make
it current, and write the items again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, final

from hashrange.toolkit.client.plans import Plan
from hashrange.toolkit.codecs.payloads import from_payload, to_payload
from hashrange.toolkit.errors import ConversionError, DesignError
from hashrange.toolkit.values import Item

_MAGIC: Final = b"HRe1"
_NONCE_BYTES: Final = 12


@final
class Encryption:
    """Encrypts the named attributes. `keys` maps key ids to keys of 32 bytes."""

    def __init__(
        self,
        attributes: Collection[str],
        keys: Mapping[str, bytes],
        *,
        current: str,
        key_names: Sequence[str],
    ) -> None:
        if current not in keys:
            raise DesignError(f"there is no encryption key {current!r}")
        if any(len(key) != 32 for key in keys.values()):
            raise DesignError("an encryption key has 32 bytes")
        self._attributes = frozenset(attributes) - frozenset(key_names)
        self._ciphers = {name: _cipher(key) for name, key in keys.items()}
        self._current = current
        self._key_names = tuple(key_names)

    def encode(self, item: Item, table: str) -> Plan[Item]:
        """Return the item with its attributes encrypted."""
        yield from ()
        encoded = dict(item)
        key_id = self._current.encode()
        for name in self._attributes & item.keys():
            payload = to_payload(item[name])
            if payload is None:
                payload = b"J" + json.dumps(item[name]).encode()
            nonce = os.urandom(_NONCE_BYTES)
            place = self._place(item, table, name)
            sealed = self._ciphers[self._current].encrypt(nonce, payload, place)
            head = _MAGIC + bytes([len(key_id)]) + key_id
            encoded[name] = {"B": head + nonce + sealed}
        return encoded

    def decode(self, item: Item, table: str) -> Plan[Item]:
        """Return the item with its attributes decrypted; ConversionError if one was changed."""
        yield from ()
        decoded = dict(item)
        for name in self._attributes & item.keys():
            content = item[name].get("B")
            if content is not None and bytes(content).startswith(_MAGIC):
                place = self._place(item, table, name)
                decoded[name] = from_payload(self._opened(bytes(content), place, name))
        return decoded

    def _opened(self, content: bytes, place: bytes, name: str) -> bytes:
        start = len(_MAGIC) + 1
        end = start + content[len(_MAGIC)]
        key_id = content[start:end].decode()
        if key_id not in self._ciphers:
            raise ConversionError(
                f"{name} is encrypted with the key {key_id!r}, which is not known"
            )
        nonce, sealed = content[end : end + _NONCE_BYTES], content[end + _NONCE_BYTES :]
        try:
            opened: bytes = self._ciphers[key_id].decrypt(nonce, sealed, place)
        except Exception as error:
            if type(error).__name__ != "InvalidTag":
                raise
            raise ConversionError(f"{name} was not encrypted for this item, or changed") from error
        return opened

    def _place(self, item: Item, table: str, name: str) -> bytes:
        missing = [key for key in self._key_names if key not in item]
        if missing:
            raise ConversionError(f"decryption needs the key attributes {', '.join(missing)}")
        key = [item[each] for each in self._key_names]
        return json.dumps([table, key, name], default=bytes.hex).encode()


def _cipher(key: bytes) -> Any:
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ImportError as error:
        raise DesignError("client-side encryption needs the package cryptography") from error
    return AESGCM(key)
