"""What the operations of KMS share: errors, pages, and finding and changing keys."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from hashrange.keyring.records import Key
from hashrange.keyring.store import ALIAS_PREFIX, KeyStore, Place, Records, key_row, split_name
from hashrange.neighbours.service import Parameters, Result, Scope, ServiceError

SYMMETRIC: Final = "SYMMETRIC_DEFAULT"
_PAGE_ITEMS: Final = 100

Edit = Callable[[Key], None]
"""Changes a key in place, or raises what refuses it."""


def place_of(scope: Scope) -> Place:
    """Return the account and region of the caller."""
    return scope.account, scope.region


def moment(seconds: float) -> datetime:
    """Return a time as results have it."""
    return datetime.fromtimestamp(seconds, UTC)


def not_found(scope: Scope, name: str) -> ServiceError:
    """Return the error about a key or an alias that is not there."""
    if name.startswith("arn:"):
        arn = name
    else:
        kind = "" if name.startswith(ALIAS_PREFIX) else "key/"
        arn = f"arn:aws:kms:{scope.region}:{scope.account}:{kind}{name}"
    if f":{ALIAS_PREFIX}" in arn:
        return ServiceError("NotFoundException", f"Alias {arn} is not found.")
    return ServiceError("NotFoundException", f"Key '{arn}' does not exist")


def unsupported(message: str) -> ServiceError:
    """Return the error about something that this KMS does not do."""
    return ServiceError("UnsupportedOperationException", message)


def invalid(message: str) -> ServiceError:
    """Return the error about a parameter."""
    return ServiceError("ValidationException", message)


def check_usable(key: Key) -> None:
    """Refuse a key that is not enabled."""
    if key.state == "Disabled":
        raise ServiceError("DisabledException", f"{key.arn} is disabled.")
    check_not_pending(key)


def check_not_pending(key: Key) -> None:
    """Refuse a key whose deletion is scheduled."""
    if key.state == "PendingDeletion":
        raise ServiceError("KMSInvalidStateException", f"{key.arn} is pending deletion.")


def check_own(key: Key) -> None:
    """Refuse to change a key that AWS, here this server, manages."""
    if key.is_aws_managed:
        raise unsupported(f"{key.arn} is managed by AWS and cannot be changed.")


def end_dry_run(parameters: Parameters) -> None:
    """End a request that is only to tell whether it would succeed."""
    if parameters.get("DryRun"):
        raise ServiceError(
            "DryRunOperationException",
            "The request would have succeeded, but the DryRun option is set.",
        )


def show_key(key: Key) -> Result:
    """Return the metadata of a key."""
    shown: Result = {
        "AWSAccountId": key.account,
        "KeyId": key.id,
        "Arn": key.arn,
        "CreationDate": moment(key.created_at),
        "Enabled": key.state == "Enabled",
        "Description": key.description,
        "KeyUsage": "ENCRYPT_DECRYPT",
        "KeyState": key.state,
        "Origin": "AWS_KMS",
        "KeyManager": "AWS" if key.is_aws_managed else "CUSTOMER",
        "CustomerMasterKeySpec": SYMMETRIC,
        "KeySpec": SYMMETRIC,
        "EncryptionAlgorithms": [SYMMETRIC],
        "MultiRegion": False,
    }
    if key.state == "PendingDeletion":
        shown["DeletionDate"] = moment(key.deletion_at)
    return shown


def page(items: Sequence[Any], parameters: Parameters, member: str) -> Result:
    """Return a page of items as the member of a result, with what the next one needs."""
    start = 0
    marker = parameters.get("Marker")
    if marker is not None:
        try:
            start = max(0, int(base64.urlsafe_b64decode(marker.encode())))
        except (binascii.Error, ValueError):
            raise ServiceError("InvalidMarkerException", "Invalid marker") from None
    end = start + (parameters.get("Limit") or _PAGE_ITEMS)
    result: Result = {member: list(items[start:end]), "Truncated": end < len(items)}
    if result["Truncated"]:
        result["NextMarker"] = base64.urlsafe_b64encode(str(end).encode()).decode()
    return result


class KeyOperations:
    """The base of operations on the keys of a store."""

    def __init__(self, store: KeyStore) -> None:
        self.store = store

    async def find(self, scope: Scope, name: str) -> Key:
        """Return the key that a request names by id, alias or ARN."""
        if split_name(place_of(scope), name) is None:
            raise ServiceError("InvalidArnException", f"Invalid arn {name}")
        key = await self.store.find(place_of(scope), name, scope.clock.now())
        if key is None:
            raise not_found(scope, name)
        return key

    async def find_by_id(self, scope: Scope, name: str) -> Key:
        """Return the key that a request names by id or ARN; aliases do not do here."""
        if name.startswith(ALIAS_PREFIX) or f":{ALIAS_PREFIX}" in name:
            raise ServiceError("InvalidArnException", f"Invalid keyId '{name}'")
        return await self.find(scope, name)

    async def edit(self, key: Key, edit: Edit) -> None:
        """Change a key."""
        row = key_row((key.account, key.region), key.id)

        def change(records: Records) -> Records:
            found = records[row]
            if not isinstance(found, Key):
                raise ServiceError("NotFoundException", f"Key '{key.arn}' does not exist")
            edit(found)
            return {row: found}

        await self.store.change([row], change)
