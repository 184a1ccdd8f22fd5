"""KMS operations that encrypt and decrypt."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

from hashrange.keyring.ciphertexts import decrypt, encrypt, named_key
from hashrange.keyring.records import Key
from hashrange.keyring.store import split_name
from hashrange.neighbours.kms.answers import (
    SYMMETRIC,
    KeyOperations,
    check_usable,
    end_dry_run,
    invalid,
    not_found,
    place_of,
    unsupported,
)
from hashrange.neighbours.service import Handler, Parameters, Result, Scope, ServiceError
from hashrange.sealing import SealError

_SPEC_BYTES: Final = {"AES_256": 32, "AES_128": 16}
_DATA_KEY_BYTES_MAX: Final = 1024


class Encryption(KeyOperations):
    """Operations with the material of keys."""

    async def encrypt(self, scope: Scope, parameters: Parameters) -> Result:
        _check_algorithm(parameters.get("EncryptionAlgorithm"))
        key = await self._usable(scope, parameters["KeyId"])
        end_dry_run(parameters)
        context = parameters.get("EncryptionContext") or {}
        blob = encrypt(self.store.vault, key, parameters["Plaintext"], context)
        return {"CiphertextBlob": blob, "KeyId": key.arn, "EncryptionAlgorithm": SYMMETRIC}

    async def decrypt(self, scope: Scope, parameters: Parameters) -> Result:
        _check_algorithm(parameters.get("EncryptionAlgorithm"))
        _check_recipient(parameters)
        blob = parameters.get("CiphertextBlob") or b""
        context = parameters.get("EncryptionContext") or {}
        key, plaintext = await self._open(scope, blob, context, parameters.get("KeyId"))
        end_dry_run(parameters)
        return {"KeyId": key.arn, "Plaintext": plaintext, "EncryptionAlgorithm": SYMMETRIC}

    async def re_encrypt(self, scope: Scope, parameters: Parameters) -> Result:
        for side in ("Source", "Destination"):
            _check_algorithm(parameters.get(f"{side}EncryptionAlgorithm"))
        source, plaintext = await self._open(
            scope,
            parameters.get("CiphertextBlob") or b"",
            parameters.get("SourceEncryptionContext") or {},
            parameters.get("SourceKeyId"),
        )
        key = await self._usable(scope, parameters["DestinationKeyId"])
        end_dry_run(parameters)
        context = parameters.get("DestinationEncryptionContext") or {}
        return {
            "CiphertextBlob": encrypt(self.store.vault, key, plaintext, context),
            "SourceKeyId": source.arn,
            "KeyId": key.arn,
            "SourceEncryptionAlgorithm": SYMMETRIC,
            "DestinationEncryptionAlgorithm": SYMMETRIC,
        }

    async def generate_data_key(self, scope: Scope, parameters: Parameters) -> Result:
        _check_recipient(parameters)
        spec, size = parameters.get("KeySpec"), parameters.get("NumberOfBytes")
        if (spec is None) == (size is None):
            raise invalid("Please specify either number of bytes or key spec.")
        key = await self._usable(scope, parameters["KeyId"])
        end_dry_run(parameters)
        plaintext = os.urandom(_SPEC_BYTES[spec] if spec is not None else int(size or 0))
        context = parameters.get("EncryptionContext") or {}
        blob = encrypt(self.store.vault, key, plaintext, context)
        return {"CiphertextBlob": blob, "Plaintext": plaintext, "KeyId": key.arn}

    async def generate_sealed_data_key(self, scope: Scope, parameters: Parameters) -> Result:
        if parameters.get("KeySpec") is None and parameters.get("NumberOfBytes") is None:
            parameters = {**parameters, "KeySpec": "AES_256"}
        result = await self.generate_data_key(scope, parameters)
        del result["Plaintext"]
        return result

    async def generate_random(self, scope: Scope, parameters: Parameters) -> Result:
        _check_recipient(parameters)
        if parameters.get("CustomKeyStoreId"):
            raise unsupported("There are no custom key stores.")
        size = parameters.get("NumberOfBytes")
        if not size:
            raise invalid("NumberOfBytes is required.")
        return {"Plaintext": os.urandom(min(size, _DATA_KEY_BYTES_MAX))}

    async def _usable(self, scope: Scope, name: str) -> Key:
        key = await self.find(scope, name)
        check_usable(key)
        return key

    async def _open(
        self, scope: Scope, blob: bytes, context: Mapping[str, str], name: str | None
    ) -> tuple[Key, bytes]:
        """Return the key of a ciphertext and what is in it."""
        id = named_key(blob)
        if id is None:
            raise ServiceError("InvalidCiphertextException")
        if name is not None:
            expected = await self.find(scope, name)
            if expected.id != id:
                raise ServiceError(
                    "IncorrectKeyException",
                    "The key ID in the request does not identify a CMK that can perform this "
                    "operation.",
                )
            key: Key | None = expected
        else:
            place = split_name(place_of(scope), id)
            assert place is not None
            key = await self.store.find(place[0], id, scope.clock.now())
        if key is None:
            raise not_found(scope, id)
        check_usable(key)
        try:
            return key, decrypt(self.store.vault, key, blob, context)
        except SealError:
            raise ServiceError("InvalidCiphertextException") from None

    def operations(self) -> Mapping[str, Handler]:
        return {
            "Decrypt": self.decrypt,
            "Encrypt": self.encrypt,
            "GenerateDataKey": self.generate_data_key,
            "GenerateDataKeyWithoutPlaintext": self.generate_sealed_data_key,
            "GenerateRandom": self.generate_random,
            "ReEncrypt": self.re_encrypt,
        }


def _check_algorithm(name: str | None) -> None:
    if name not in (None, SYMMETRIC):
        raise ServiceError(
            "InvalidKeyUsageException", f"Algorithm {name} is incompatible with a symmetric key."
        )


def _check_recipient(parameters: Parameters) -> None:
    if parameters.get("Recipient"):
        raise unsupported("Recipient is for AWS Nitro Enclaves, which are not here.")
