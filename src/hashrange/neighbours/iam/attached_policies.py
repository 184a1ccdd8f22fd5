"""IAM operations that attach managed policies to users, groups and roles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from hashrange.identities.records import Identity, Kind
from hashrange.identities.store import IdentityStore
from hashrange.neighbours.iam.answers import TITLES, limit_exceeded, name_member, page
from hashrange.neighbours.iam.entities import Entities
from hashrange.neighbours.service import Handler, Parameters, Result, Scope, ServiceError

_ATTACHED_MAX: Final = 10


class AttachedPolicies(Entities):
    """Operations on the managed policies of one kind of identity."""

    def __init__(self, store: IdentityStore, kind: Kind) -> None:
        super().__init__(store)
        self._kind = kind
        self._member = name_member(kind)

    async def attach(self, scope: Scope, parameters: Parameters) -> Result:
        arn = parameters["PolicyArn"]
        await self.check_attachable(arn)

        def edit(identity: Identity) -> None:
            if arn not in identity.attached:
                if len(identity.attached) >= _ATTACHED_MAX:
                    raise limit_exceeded(
                        f"Cannot exceed quota for PoliciesPer{TITLES[self._kind]}: {_ATTACHED_MAX}"
                    )
                identity.attached.append(arn)

        await self.edit(self._kind, scope, parameters[self._member], edit)
        return {}

    async def detach(self, scope: Scope, parameters: Parameters) -> Result:
        arn = parameters["PolicyArn"]

        def edit(identity: Identity) -> None:
            if arn not in identity.attached:
                raise ServiceError("NoSuchEntityException", f"Policy {arn} was not found.")
            identity.attached.remove(arn)

        await self.edit(self._kind, scope, parameters[self._member], edit)
        return {}

    async def list_attached(self, scope: Scope, parameters: Parameters) -> Result:
        identity = await self.find(self._kind, scope, parameters[self._member])
        directory = await self.directory()
        prefix = parameters.get("PathPrefix") or "/"
        found = [directory.policy(arn) for arn in identity.attached]
        shown = [
            {"PolicyName": policy.name, "PolicyArn": policy.arn}
            for policy in found
            if policy is not None and policy.path.startswith(prefix)
        ]
        return page(shown, parameters, "AttachedPolicies")

    def operations(self) -> Mapping[str, Handler]:
        title = TITLES[self._kind]
        return {
            f"Attach{title}Policy": self.attach,
            f"Detach{title}Policy": self.detach,
            f"ListAttached{title}Policies": self.list_attached,
        }
