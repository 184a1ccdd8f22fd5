"""KMS operations on keys: making them, their states, and their deletion."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from typing import Any, Final

from hashrange.keyring.ciphertexts import make_material
from hashrange.keyring.records import DAY_SECONDS, Key
from hashrange.keyring.store import Records, key_row
from hashrange.neighbours.kms.answers import (
    SYMMETRIC,
    KeyOperations,
    check_not_pending,
    check_own,
    invalid,
    moment,
    page,
    place_of,
    show_key,
    unsupported,
)
from hashrange.neighbours.kms.policies import check_policy
from hashrange.neighbours.kms.tags import read_tags
from hashrange.neighbours.service import Handler, Parameters, Result, Scope, ServiceError
from hashrange.policies.principals import root_arn

_WINDOW_DAYS_MIN: Final = 7
_WINDOW_DAYS_MAX: Final = 30
# What a key can be told to be, besides what it is; anything else is refused.
_ONLY: Final = {
    "KeyUsage": "ENCRYPT_DECRYPT",
    "KeySpec": SYMMETRIC,
    "CustomerMasterKeySpec": SYMMETRIC,
    "Origin": "AWS_KMS",
    "MultiRegion": False,
    "CustomKeyStoreId": None,
    "XksKeyId": None,
}


def default_policy(account: str) -> str:
    """Return the policy of a key that was made without one: the policies of the account decide."""
    statement = {
        "Sid": "Enable IAM User Permissions",
        "Effect": "Allow",
        "Principal": {"AWS": root_arn(account)},
        "Action": "kms:*",
        "Resource": "*",
    }
    document = {"Version": "2012-10-17", "Id": "key-default-1", "Statement": [statement]}
    return json.dumps(document, indent=2)


class Keys(KeyOperations):
    """Operations on keys."""

    async def create(self, scope: Scope, parameters: Parameters) -> Result:
        for member, only in _ONLY.items():
            given: Any = parameters.get(member)
            if given is not None and given != only:
                raise unsupported(f"{member} {given} is not supported: keys are symmetric.")
        policy = parameters.get("Policy") or default_policy(scope.account)
        check_policy(scope, policy, is_checked=not parameters.get("BypassPolicyLockoutSafetyCheck"))
        id, now = str(uuid.uuid4()), scope.clock.now()
        key = Key(
            id,
            *place_of(scope),
            created_at=now,
            policy=policy,
            materials=[make_material(self.store.vault, id, now)],
            description=parameters.get("Description") or "",
            tags=read_tags(parameters, {}),
        )
        row = key_row(place_of(scope), id)

        def make(_records: Records) -> Records:
            return {row: key}

        await self.store.change([row], make)
        return {"KeyMetadata": show_key(key)}

    async def describe(self, scope: Scope, parameters: Parameters) -> Result:
        return {"KeyMetadata": show_key(await self.find(scope, parameters["KeyId"]))}

    async def list_keys(self, scope: Scope, parameters: Parameters) -> Result:
        now = scope.clock.now()
        keys = await self.store.keys(place_of(scope))
        shown = [{"KeyId": key.id, "KeyArn": key.arn} for key in keys if not key.is_gone(now)]
        return page(shown, parameters, "Keys")

    async def update_description(self, scope: Scope, parameters: Parameters) -> Result:
        def edit(key: Key) -> None:
            check_not_pending(key)
            key.description = parameters["Description"]

        return await self._change(scope, parameters, edit)

    async def enable(self, scope: Scope, parameters: Parameters) -> Result:
        def edit(key: Key) -> None:
            check_not_pending(key)
            key.reopen()

        return await self._change(scope, parameters, edit)

    async def disable(self, scope: Scope, parameters: Parameters) -> Result:
        now = scope.clock.now()

        def edit(key: Key) -> None:
            check_not_pending(key)
            key.close("Disabled", now)

        return await self._change(scope, parameters, edit)

    async def schedule_deletion(self, scope: Scope, parameters: Parameters) -> Result:
        days = parameters.get("PendingWindowInDays") or _WINDOW_DAYS_MAX
        if not _WINDOW_DAYS_MIN <= days <= _WINDOW_DAYS_MAX:
            raise invalid(
                f"PendingWindowInDays must be between {_WINDOW_DAYS_MIN} and {_WINDOW_DAYS_MAX}"
            )
        now = scope.clock.now()
        deletion_at = now + days * DAY_SECONDS

        def edit(key: Key) -> None:
            check_not_pending(key)
            key.close("PendingDeletion", now)
            key.deletion_at = deletion_at

        key = await self._find_own(scope, parameters)
        await self.edit(key, edit)
        return {
            "KeyId": key.arn,
            "DeletionDate": moment(deletion_at),
            "KeyState": "PendingDeletion",
            "PendingWindowInDays": days,
        }

    async def cancel_deletion(self, scope: Scope, parameters: Parameters) -> Result:
        def edit(key: Key) -> None:
            if key.state != "PendingDeletion":
                raise ServiceError(
                    "KMSInvalidStateException", f"{key.arn} is not pending deletion."
                )
            key.state = "Disabled"
            key.deletion_at = 0.0

        key = await self._find_own(scope, parameters)
        await self.edit(key, edit)
        return {"KeyId": key.arn}

    async def _find_own(self, scope: Scope, parameters: Parameters) -> Key:
        key = await self.find_by_id(scope, parameters["KeyId"])
        check_own(key)
        return key

    async def _change(self, scope: Scope, parameters: Parameters, edit: Any) -> Result:
        await self.edit(await self._find_own(scope, parameters), edit)
        return {}

    def operations(self) -> Mapping[str, Handler]:
        return {
            "CancelKeyDeletion": self.cancel_deletion,
            "CreateKey": self.create,
            "DescribeKey": self.describe,
            "DisableKey": self.disable,
            "EnableKey": self.enable,
            "ListKeys": self.list_keys,
            "ScheduleKeyDeletion": self.schedule_deletion,
            "UpdateKeyDescription": self.update_description,
        }
