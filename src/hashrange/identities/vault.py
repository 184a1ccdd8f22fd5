"""Secrets at rest: access key secrets and session tokens, sealed under the server's key.

AES-256-GCM with a random nonce; a subkey for each purpose, so that one kind of seal cannot stand
for another. The access key id is bound to the seal: a secret or a token opens for its own key only.

sealed := base64url(nonce (12 bytes), ciphertext and tag)
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, final

from hashrange.sealing import SealError, derive_key

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

_NONCE_BYTES: Final = 12

SECRETS: Final = "access keys"
"""The purpose that secrets of access keys are sealed for."""


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
