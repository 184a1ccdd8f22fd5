"""Data keys of tables: made with a KMS key, and opened as long as that key can be used.

What a data key is sealed with is the KMS key and, as the encryption context, the table's name and
account, as on AWS. An opened one is kept in memory; whether its KMS key may be used is looked up
again each time it is asked for.
"""

from __future__ import annotations

import base64
import os
import uuid
from typing import TYPE_CHECKING, Final, final

from hashrange.clock import Clock
from hashrange.errors import AccessDeniedException, ValidationException
from hashrange.keyring.ciphertexts import decrypt, encrypt, make_material
from hashrange.keyring.records import Alias, Key
from hashrange.keyring.store import KeyStore, Place, Records, alias_row, key_row, split_name
from hashrange.sealing import SealError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

DEFAULT_ALIAS: Final = "alias/aws/dynamodb"
MARKER_BYTES: Final = 8
_DATA_KEY_BYTES: Final = 32
_OPENED_MAX: Final = 10_000
_REASONS: Final = {"Disabled": "is disabled.", "PendingDeletion": "is pending deletion."}

Sealed = tuple[str, str, str]
"""The marker of a data key, the data key sealed, and the ARN of the KMS key."""


@final
class TableKeys:
    """Makes and opens the data keys of tables; one per process."""

    def __init__(self, store: KeyStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._opened: dict[str, AESGCM] = {}

    async def make(self, place: Place, table: str, key_id: str | None) -> Sealed:
        """Return a new data key for a table, sealed with a KMS key (None: the default one)."""
        if key_id == DEFAULT_ALIAS:
            raise ValidationException(
                "One or more parameter values were invalid: KMSMasterKeyId should not be specified "
                f"for the default key {DEFAULT_ALIAS}"
            )
        key = await self._default(place) if key_id is None else await self._chosen(place, key_id)
        if key.state != "Enabled":
            raise ValidationException(f"KMS validation error: {key.arn} {_REASONS[key.state]}")
        text = os.urandom(_DATA_KEY_BYTES)
        blob = encrypt(self._store.vault, key, text, encryption_context(place[0], table))
        marker = os.urandom(MARKER_BYTES)
        return marker.hex(), base64.b64encode(blob).decode(), key.arn

    async def open(self, sealed: Sealed, account: str, table: str) -> AESGCM:
        """Return the cipher of a data key; raise if its KMS key may not be used now."""
        _, blob, arn = sealed
        key = await self.usable(arn)
        cipher = self._opened.get(blob)
        if cipher is None:
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM

            try:
                text = decrypt(
                    self._store.vault,
                    key,
                    base64.b64decode(blob),
                    encryption_context(account, table),
                )
            except SealError:
                raise denied(f"the data key of table {table} does not open") from None
            if len(self._opened) >= _OPENED_MAX:
                self._opened.clear()
            cipher = self._opened[blob] = AESGCM(text)
        return cipher

    async def usable(self, arn: str) -> Key:
        """Return the KMS key with an ARN, or raise what users of its tables are told."""
        found = split_name(("", ""), arn)
        key = None if found is None else await self._store.key(*found)
        if key is None or key.is_gone(self._clock.now()):
            raise denied(f"Key '{arn}' does not exist")
        if key.state != "Enabled":
            raise denied(f"{arn} {_REASONS[key.state]}")
        return key

    async def closed_since(self, arn: str) -> float | None:
        """Return since when the tables of a KMS key cannot be used; None if they can.

        It is 0 for keys that were closed before that was written down.
        """
        found = split_name(("", ""), arn)
        if found is None:
            return 0.0
        key = await self._store.key(*found)
        if key is None:
            grave = await self._store.grave(*found)
            return 0.0 if grave is None else grave.closed_at
        return None if key.state == "Enabled" else key.closed_at

    async def _chosen(self, place: Place, key_id: str) -> Key:
        key = await self._store.find(place, key_id, self._clock.now())
        if key is None:
            raise ValidationException(f"KMS validation error: Key '{key_id}' does not exist")
        return key

    async def _default(self, place: Place) -> Key:
        """Return the key that is managed for the account, making it if it is not there."""
        alias = await self._store.alias(place, DEFAULT_ALIAS)
        if alias is None:
            alias = await self._make_default(place)
        key = await self._store.key(place, alias.key_id)
        assert key is not None, "nobody can delete it"
        return key

    async def _make_default(self, place: Place) -> Alias:
        id, now = str(uuid.uuid4()), self._clock.now()
        description = "Default key that protects my DynamoDB data when no other key is defined"
        key = Key(id, *place, now, _MANAGED_POLICY, [make_material(self._store.vault, id, now)])
        key.is_aws_managed, key.description = True, description
        alias = Alias(DEFAULT_ALIAS, *place, id, now, now)
        key_at, alias_at = key_row(place, id), alias_row(place, DEFAULT_ALIAS)

        def make(records: Records) -> Records:
            # Another process may have been quicker.
            return {} if records[alias_at] is not None else {key_at: key, alias_at: alias}

        await self._store.change([key_at, alias_at], make)
        found = await self._store.alias(place, DEFAULT_ALIAS)
        assert found is not None
        return found


# Nobody but the service uses it, which needs no permission.
_MANAGED_POLICY: Final = '{"Version":"2012-10-17","Id":"auto-dynamodb-1","Statement":[]}'


def denied(reason: str) -> AccessDeniedException:
    """Return what users of a table are told whose KMS key cannot be used."""
    return AccessDeniedException(f"KMS key access denied error: {reason}")


def encryption_context(account: str, table: str) -> dict[str, str]:
    """Return what a data key is bound to beside its KMS key."""
    return {"aws:dynamodb:subscriberId": account, "aws:dynamodb:tableName": table}
