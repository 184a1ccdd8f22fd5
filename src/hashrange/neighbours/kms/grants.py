"""KMS operations on grants, which count from the moment they are made: a token adds nothing."""

from __future__ import annotations

import base64
import os
import uuid
from collections.abc import Mapping
from typing import Any, Final

from hashrange.keyring.records import Grant, Key
from hashrange.neighbours.kms.answers import (
    KeyOperations,
    check_usable,
    end_dry_run,
    invalid,
    moment,
    page,
    place_of,
    unsupported,
)
from hashrange.neighbours.service import Handler, Parameters, Result, Scope, ServiceError
from hashrange.policies.principals import root_arn

_GRANTS_MAX: Final = 50_000
_TOKEN_BYTES: Final = 32
_SIGNING: Final = frozenset(
    {"Sign", "Verify", "GetPublicKey", "GenerateMac", "VerifyMac", "DeriveSharedSecret"}
    | {"GenerateDataKeyPair", "GenerateDataKeyPairWithoutPlaintext"}
)


def _show(key: Key, grant: Grant) -> Result:
    shown: Result = {
        "KeyId": key.arn,
        "GrantId": grant.id,
        "Name": grant.name,
        "CreationDate": moment(grant.created_at),
        "GranteePrincipal": grant.grantee,
        "IssuingAccount": grant.issuer,
        "Operations": grant.operations,
    }
    if grant.retiring:
        shown["RetiringPrincipal"] = grant.retiring
    constraints: dict[str, Any] = {}
    if grant.context_equals is not None:
        constraints["EncryptionContextEquals"] = grant.context_equals
    if grant.context_subset is not None:
        constraints["EncryptionContextSubset"] = grant.context_subset
    if constraints:
        shown["Constraints"] = constraints
    return shown


class Grants(KeyOperations):
    """Operations on grants."""

    async def create(self, scope: Scope, parameters: Parameters) -> Result:
        for member in ("GranteeServicePrincipal", "RetiringServicePrincipal"):
            if parameters.get(member):
                raise unsupported(f"{member} is not supported: grants are for users and roles.")
        grantee = parameters.get("GranteePrincipal")
        if not grantee:
            raise invalid("GranteePrincipal is required.")
        refused = _SIGNING.intersection(parameters["Operations"])
        if refused:
            raise invalid(f"Grant operation {min(refused)} is not for a symmetric key.")
        constraints = parameters.get("Constraints") or {}
        if "SourceArn" in constraints:
            raise unsupported("SourceArn is for services of AWS.")
        key = await self.find_by_id(scope, parameters["KeyId"])
        check_usable(key)
        end_dry_run(parameters)
        grant = Grant(
            uuid.uuid4().hex + uuid.uuid4().hex,
            base64.urlsafe_b64encode(os.urandom(_TOKEN_BYTES)).decode(),
            grantee,
            list(parameters["Operations"]),
            scope.clock.now(),
            root_arn(scope.account),
            parameters.get("Name") or "",
            parameters.get("RetiringPrincipal") or "",
            constraints.get("EncryptionContextEquals"),
            constraints.get("EncryptionContextSubset"),
        )
        kept = await self._keep(key, grant)
        return {"GrantToken": kept.token, "GrantId": kept.id}

    async def _keep(self, key: Key, grant: Grant) -> Grant:
        """Keep a grant; one with a name that is the same in all else stays as it is."""
        kept = [grant]

        def edit(found: Key) -> None:
            check_usable(found)
            for other in found.grants:
                if grant.name and _essence(other) == _essence(grant):
                    kept[0] = other
                    return
            if len(found.grants) >= _GRANTS_MAX:
                raise ServiceError(
                    "LimitExceededException", f"A key can have {_GRANTS_MAX} grants."
                )
            found.grants.append(grant)
            kept[0] = grant

        await self.edit(key, edit)
        return kept[0]

    async def list_grants(self, scope: Scope, parameters: Parameters) -> Result:
        key = await self.find_by_id(scope, parameters["KeyId"])
        grants = key.grants
        if parameters.get("GrantId"):
            grants = [grant for grant in grants if grant.id == parameters["GrantId"]]
        if parameters.get("GranteePrincipal"):
            grants = [grant for grant in grants if grant.grantee == parameters["GranteePrincipal"]]
        return page([_show(key, grant) for grant in grants], parameters, "Grants")

    async def list_retirable(self, scope: Scope, parameters: Parameters) -> Result:
        principal = parameters["RetiringPrincipal"]
        shown = [
            _show(key, grant)
            for key in await self.store.keys(place_of(scope))
            for grant in key.grants
            if grant.retiring == principal
        ]
        return page(shown, parameters, "Grants")

    async def revoke(self, scope: Scope, parameters: Parameters) -> Result:
        key = await self.find_by_id(scope, parameters["KeyId"])
        return await self._remove(key, parameters, "id", parameters["GrantId"])

    async def retire(self, scope: Scope, parameters: Parameters) -> Result:
        token = parameters.get("GrantToken")
        if token is not None:
            for key in await self.store.keys(place_of(scope)):
                if any(grant.token == token for grant in key.grants):
                    return await self._remove(key, parameters, "token", token)
            raise ServiceError("InvalidGrantTokenException", "Invalid grant token.")
        if not parameters.get("KeyId") or not parameters.get("GrantId"):
            raise invalid("Give a grant token, or a key and the id of a grant.")
        key = await self.find_by_id(scope, parameters["KeyId"])
        return await self._remove(key, parameters, "id", parameters["GrantId"])

    async def _remove(self, key: Key, parameters: Parameters, member: str, value: str) -> Result:
        end_dry_run(parameters)

        def edit(found: Key) -> None:
            kept = [grant for grant in found.grants if getattr(grant, member) != value]
            if len(kept) == len(found.grants):
                raise ServiceError("InvalidGrantIdException", f"Grant {value} is not there.")
            found.grants = kept

        await self.edit(key, edit)
        return {}

    def operations(self) -> Mapping[str, Handler]:
        return {
            "CreateGrant": self.create,
            "ListGrants": self.list_grants,
            "ListRetirableGrants": self.list_retirable,
            "RetireGrant": self.retire,
            "RevokeGrant": self.revoke,
        }


def _essence(grant: Grant) -> tuple[object, ...]:
    return (
        grant.name,
        grant.grantee,
        grant.retiring,
        tuple(grant.operations),
        tuple(sorted((grant.context_equals or {}).items())),
        tuple(sorted((grant.context_subset or {}).items())),
    )
