"""KMS operations on the policies of keys. A key has one policy, whose name is `default`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from hashrange.keyring.records import Key
from hashrange.neighbours.kms.answers import KeyOperations, check_not_pending, check_own, page
from hashrange.neighbours.service import Handler, Parameters, Result, Scope, ServiceError
from hashrange.policies.documents import Kind, MalformedPolicyError, compile_policy
from hashrange.policies.principals import Naming

_NAME: Final = "default"


def check_policy(scope: Scope, text: str, *, is_checked: bool) -> None:
    """Refuse a document that is no policy, or that would lock its author out."""
    try:
        policy = compile_policy(text, Kind.RESOURCE)
    except MalformedPolicyError as error:
        raise ServiceError("MalformedPolicyDocumentException", str(error)) from error
    if scope.grants is None or not is_checked:
        return
    principal = scope.grants.principal
    if all(
        statement.is_deny or statement.naming(principal) is Naming.NONE
        for statement in policy.statements
    ):
        raise ServiceError(
            "MalformedPolicyDocumentException",
            "The new key policy will not allow you to update the key policy in the future.",
        )


def _check_name(parameters: Parameters) -> None:
    if (parameters.get("PolicyName") or _NAME) != _NAME:
        raise ServiceError("NotFoundException", "No such policy exists")


class Policies(KeyOperations):
    """Operations on policies."""

    async def get(self, scope: Scope, parameters: Parameters) -> Result:
        _check_name(parameters)
        key = await self.find_by_id(scope, parameters["KeyId"])
        return {"Policy": key.policy, "PolicyName": _NAME}

    async def put(self, scope: Scope, parameters: Parameters) -> Result:
        _check_name(parameters)
        text = parameters["Policy"]
        check_policy(scope, text, is_checked=not parameters.get("BypassPolicyLockoutSafetyCheck"))

        def edit(key: Key) -> None:
            check_not_pending(key)
            key.policy = text

        key = await self.find_by_id(scope, parameters["KeyId"])
        check_own(key)
        await self.edit(key, edit)
        return {}

    async def list_names(self, scope: Scope, parameters: Parameters) -> Result:
        await self.find_by_id(scope, parameters["KeyId"])
        return page([_NAME], parameters, "PolicyNames")

    def operations(self) -> Mapping[str, Handler]:
        return {
            "GetKeyPolicy": self.get,
            "ListKeyPolicies": self.list_names,
            "PutKeyPolicy": self.put,
        }
