"""IAM operations on the access keys of users; a secret is shown once, when it is made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from hashrange.identities.records import SECRETS, AccessKey
from hashrange.identities.sessions import new_access_key_id, new_secret
from hashrange.identities.store import Rows, access_key_key, identity_key
from hashrange.neighbours.iam.answers import limit_exceeded, moment, no_such, own_name, page
from hashrange.neighbours.iam.entities import Entities
from hashrange.neighbours.service import Handler, Parameters, Result, Scope, ServiceError

_KEYS_PER_USER_MAX: Final = 2


def _no_such_key(id: str) -> ServiceError:
    return ServiceError("NoSuchEntityException", f"The Access Key with id {id} cannot be found.")


def _show(key: AccessKey) -> Result:
    return {
        "UserName": key.user,
        "AccessKeyId": key.id,
        "Status": "Active" if key.is_active else "Inactive",
        "CreateDate": moment(key.created_at),
    }


class AccessKeys(Entities):
    """Operations on access keys."""

    async def create_key(self, scope: Scope, parameters: Parameters) -> Result:
        user = await self.find("user", scope, own_name(scope, parameters))
        others = (await self.directory()).access_keys(scope.account, user.name)
        if len(others) >= _KEYS_PER_USER_MAX:
            raise limit_exceeded(f"Cannot exceed quota for AccessKeysPerUser: {_KEYS_PER_USER_MAX}")
        id, secret = new_access_key_id("AKIA"), new_secret()
        sealed = self.store.vault.seal(SECRETS, id, secret.encode())
        key = AccessKey(id, scope.account, user.name, scope.clock.now(), sealed)
        user_row = identity_key("user", scope.account, user.name)

        def make(rows: Rows) -> Rows:
            if rows[user_row] is None:
                raise no_such("user", user.name)
            return {access_key_key(id): key}

        await self.store.change([user_row], make)
        return {"AccessKey": {**_show(key), "SecretAccessKey": secret}}

    async def list_keys(self, scope: Scope, parameters: Parameters) -> Result:
        user = await self.find("user", scope, own_name(scope, parameters))
        found = (await self.directory()).access_keys(scope.account, user.name)
        return page([_show(key) for key in found], parameters, "AccessKeyMetadata")

    async def update_key(self, scope: Scope, parameters: Parameters) -> Result:
        is_active = parameters["Status"] == "Active"
        await self._change(scope, parameters, is_active=is_active)
        return {}

    async def delete_key(self, scope: Scope, parameters: Parameters) -> Result:
        await self._change(scope, parameters, is_active=None)
        return {}

    async def _change(
        self, scope: Scope, parameters: Parameters, *, is_active: bool | None
    ) -> None:
        """Set the status of a key of the user named, or delete it."""
        name = own_name(scope, parameters)
        id = parameters["AccessKeyId"]
        row_key = access_key_key(id)

        def change(rows: Rows) -> Rows:
            key = rows[row_key]
            if not isinstance(key, AccessKey) or key.account != scope.account or key.user != name:
                raise _no_such_key(id)
            if is_active is None:
                return {row_key: None}
            key.is_active = is_active
            return {row_key: key}

        await self.store.change([row_key], change)

    def operations(self) -> Mapping[str, Handler]:
        return {
            "CreateAccessKey": self.create_key,
            "DeleteAccessKey": self.delete_key,
            "ListAccessKeys": self.list_keys,
            "UpdateAccessKey": self.update_key,
        }
