"""KMS operations on aliases."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from hashrange.keyring.records import Alias, Key
from hashrange.keyring.store import ALIAS_PREFIX, Records, alias_row, key_row
from hashrange.neighbours.kms.answers import (
    KeyOperations,
    check_not_pending,
    invalid,
    moment,
    not_found,
    page,
    place_of,
)
from hashrange.neighbours.service import Handler, Parameters, Result, Scope, ServiceError

RESERVED_PREFIX: Final = "alias/aws/"
_NAME: Final = re.compile(r"alias/[a-zA-Z0-9/_-]+")


def read_name(parameters: Parameters) -> str:
    """Return the name of an alias after checking it."""
    name = str(parameters["AliasName"])
    if not name.startswith(ALIAS_PREFIX):
        raise invalid("Invalid identifier: alias names begin with alias/")
    if not _NAME.fullmatch(name):
        raise ServiceError(
            "InvalidAliasNameException", f"{name} contains invalid characters for an alias"
        )
    if name.startswith(RESERVED_PREFIX):
        raise ServiceError("NotAuthorizedException", "Aliases of AWS cannot be made or changed.")
    return name


class Aliases(KeyOperations):
    """Operations on aliases."""

    async def create(self, scope: Scope, parameters: Parameters) -> Result:
        name = read_name(parameters)
        key = await self.find_by_id(scope, parameters["TargetKeyId"])
        place, now = place_of(scope), scope.clock.now()
        row, target = alias_row(place, name), key_row(place, key.id)
        alias = Alias(name, *place, key_id=key.id, created_at=now, updated_at=now)

        def make(records: Records) -> Records:
            if records[row] is not None:
                message = f"An alias with the name {alias.arn} already exists"
                raise ServiceError("AlreadyExistsException", message)
            _check_target(scope, key.id, records[target])
            return {row: alias}

        await self.store.change([row, target], make)
        return {}

    async def update(self, scope: Scope, parameters: Parameters) -> Result:
        name = read_name(parameters)
        key = await self.find_by_id(scope, parameters["TargetKeyId"])
        place, now = place_of(scope), scope.clock.now()
        row, target = alias_row(place, name), key_row(place, key.id)

        def change(records: Records) -> Records:
            alias = records[row]
            if not isinstance(alias, Alias):
                raise not_found(scope, name)
            _check_target(scope, key.id, records[target])
            alias.key_id, alias.updated_at = key.id, now
            return {row: alias}

        await self.store.change([row, target], change)
        return {}

    async def delete(self, scope: Scope, parameters: Parameters) -> Result:
        name = read_name(parameters)
        row = alias_row(place_of(scope), name)

        def remove(records: Records) -> Records:
            if records[row] is None:
                raise not_found(scope, name)
            return {row: None}

        await self.store.change([row], remove)
        return {}

    async def list_aliases(self, scope: Scope, parameters: Parameters) -> Result:
        aliases = await self.store.aliases(place_of(scope))
        if parameters.get("KeyId"):
            key = await self.find_by_id(scope, parameters["KeyId"])
            aliases = [alias for alias in aliases if alias.key_id == key.id]
        shown = [
            {
                "AliasName": alias.name,
                "AliasArn": alias.arn,
                "TargetKeyId": alias.key_id,
                "CreationDate": moment(alias.created_at),
                "LastUpdatedDate": moment(alias.updated_at),
            }
            for alias in aliases
        ]
        return page(shown, parameters, "Aliases")

    def operations(self) -> Mapping[str, Handler]:
        return {
            "CreateAlias": self.create,
            "DeleteAlias": self.delete,
            "ListAliases": self.list_aliases,
            "UpdateAlias": self.update,
        }


def _check_target(scope: Scope, id: str, found: object) -> None:
    if not isinstance(found, Key):
        raise not_found(scope, id)
    check_not_pending(found)
