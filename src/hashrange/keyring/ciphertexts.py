"""What KMS keys encrypt: ciphertexts that name their key, bound to an encryption context.

ciphertext := version (1 byte, 1) key id (16 bytes) number of the material (2 bytes)
              nonce (12 bytes) AES-256-GCM of the plaintext with its tag

The associated data are all bytes before the nonce and the encryption context as JSON, its names in
order. Materials are only added, so a ciphertext opens as long as its key is there.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import orjson

from hashrange.keyring.records import Key, Material
from hashrange.sealing import SealError, Vault

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

MATERIAL_BYTES: Final = 32
_PURPOSE: Final = "kms keys"
_VERSION: Final = b"\x01"
_ID_BYTES: Final = 16
_NUMBER_BYTES: Final = 2
_HEAD_BYTES: Final = 1 + _ID_BYTES + _NUMBER_BYTES
_NONCE_BYTES: Final = 12


def make_material(vault: Vault, key_id: str, now: float, *, is_on_demand: bool = False) -> Material:
    """Return new random material for a key."""
    sealed = vault.seal(_PURPOSE, key_id, os.urandom(MATERIAL_BYTES))
    return Material(sealed, now, is_on_demand)


def named_key(ciphertext: bytes) -> str | None:
    """Return the id of the key that made a ciphertext; None if it is no ciphertext."""
    if ciphertext[:1] != _VERSION or len(ciphertext) <= _HEAD_BYTES + _NONCE_BYTES:
        return None
    return str(uuid.UUID(bytes=ciphertext[1 : 1 + _ID_BYTES]))


def encrypt(vault: Vault, key: Key, plaintext: bytes, context: Mapping[str, str]) -> bytes:
    """Return the ciphertext of a text under the newest material of a key."""
    number = len(key.materials) - 1
    head = _VERSION + uuid.UUID(key.id).bytes + number.to_bytes(_NUMBER_BYTES, "big")
    nonce = os.urandom(_NONCE_BYTES)
    sealed = _cipher(vault, key, number).encrypt(nonce, plaintext, head + _canonical(context))
    return head + nonce + sealed


def decrypt(vault: Vault, key: Key, ciphertext: bytes, context: Mapping[str, str]) -> bytes:
    """Return the text of a ciphertext, or raise SealError."""
    from cryptography.exceptions import InvalidTag

    head, rest = ciphertext[:_HEAD_BYTES], ciphertext[_HEAD_BYTES:]
    number = int.from_bytes(head[1 + _ID_BYTES :], "big")
    if named_key(ciphertext) != key.id or number >= len(key.materials):
        raise SealError
    try:
        return _cipher(vault, key, number).decrypt(
            rest[:_NONCE_BYTES], rest[_NONCE_BYTES:], head + _canonical(context)
        )
    except InvalidTag:
        raise SealError from None


def _cipher(vault: Vault, key: Key, number: int) -> AESGCM:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    return AESGCM(vault.open(_PURPOSE, key.id, key.materials[number].sealed))


def _canonical(context: Mapping[str, str]) -> bytes:
    return orjson.dumps(dict(context), option=orjson.OPT_SORT_KEYS)
