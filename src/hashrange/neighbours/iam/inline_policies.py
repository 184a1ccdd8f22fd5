"""IAM operations on the inline policies of users, groups and roles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from hashrange.identities.records import Identity, Kind
from hashrange.identities.store import IdentityStore
from hashrange.limits import (
    GROUP_POLICIES_CHARACTERS_MAX,
    ROLE_POLICIES_CHARACTERS_MAX,
    USER_POLICIES_CHARACTERS_MAX,
)
from hashrange.neighbours.iam.answers import (
    TITLES,
    check_document,
    encode_document,
    limit_exceeded,
    name_member,
    page,
    read_name,
)
from hashrange.neighbours.iam.entities import Entities
from hashrange.neighbours.service import Handler, Parameters, Result, Scope, ServiceError
from hashrange.policies.documents import Kind as PolicyKind
from hashrange.policies.documents import characters_without_space

_CHARACTERS_MAX: Final = {
    "user": USER_POLICIES_CHARACTERS_MAX,
    "group": GROUP_POLICIES_CHARACTERS_MAX,
    "role": ROLE_POLICIES_CHARACTERS_MAX,
}


class InlinePolicies(Entities):
    """Operations on the inline policies of one kind of identity."""

    def __init__(self, store: IdentityStore, kind: Kind) -> None:
        super().__init__(store)
        self._kind = kind
        self._member = name_member(kind)

    async def put(self, scope: Scope, parameters: Parameters) -> Result:
        name = read_name(parameters, "PolicyName")
        document = parameters["PolicyDocument"]
        check_document(document, PolicyKind.IDENTITY)
        maximum = _CHARACTERS_MAX[self._kind]

        def edit(identity: Identity) -> None:
            identity.inline[name] = document
            if sum(map(characters_without_space, identity.inline.values())) > maximum:
                raise limit_exceeded(
                    f"Maximum policy size of {maximum} bytes exceeded for {self._kind} "
                    f"{identity.name}"
                )

        await self.edit(self._kind, scope, parameters[self._member], edit)
        return {}

    async def get(self, scope: Scope, parameters: Parameters) -> Result:
        identity = await self.find(self._kind, scope, parameters[self._member])
        name = parameters["PolicyName"]
        if name not in identity.inline:
            raise self._no_such_policy(name)
        return {
            self._member: identity.name,
            "PolicyName": name,
            "PolicyDocument": encode_document(identity.inline[name]),
        }

    async def delete_policy(self, scope: Scope, parameters: Parameters) -> Result:
        name = parameters["PolicyName"]

        def edit(identity: Identity) -> None:
            if identity.inline.pop(name, None) is None:
                raise self._no_such_policy(name)

        await self.edit(self._kind, scope, parameters[self._member], edit)
        return {}

    async def list_policies(self, scope: Scope, parameters: Parameters) -> Result:
        identity = await self.find(self._kind, scope, parameters[self._member])
        return page(sorted(identity.inline), parameters, "PolicyNames")

    def _no_such_policy(self, name: str) -> ServiceError:
        return ServiceError(
            "NoSuchEntityException", f"The {self._kind} policy with name {name} cannot be found."
        )

    def operations(self) -> Mapping[str, Handler]:
        title = TITLES[self._kind]
        return {
            f"Delete{title}Policy": self.delete_policy,
            f"Get{title}Policy": self.get,
            f"List{title}Policies": self.list_policies,
            f"Put{title}Policy": self.put,
        }
