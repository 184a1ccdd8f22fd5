"""All identities as one process sees them, with compiled policies; immutable once it is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, final

from hashrange.identities.managed import AWS_MANAGED
from hashrange.identities.records import AccessKey, Identity, Kind, ManagedPolicy, Record
from hashrange.policies.documents import Kind as PolicyKind
from hashrange.policies.documents import MalformedPolicyError, compile_policy
from hashrange.policies.evaluation import Grants
from hashrange.policies.principals import Principal
from hashrange.policies.statements import Policy

_NOTHING_ALLOWED: Final = Policy("", [])


@final
class Directory:
    """Users, groups, roles, policies and access keys by their names."""

    __slots__ = ("_compiled", "_grants", "_identities", "_keys", "_policies", "version")

    def __init__(self, version: int) -> None:
        self.version = version
        self._identities: dict[tuple[str, str, str], Identity] = {}
        self._policies: dict[str, ManagedPolicy] = dict(AWS_MANAGED)
        self._keys: dict[str, AccessKey] = {}
        self._grants: dict[tuple[str, str], Grants] = {}
        self._compiled: dict[tuple[str, str], Policy] = {}

    def add(self, record: Record) -> None:
        """Add a record, while the directory is being read."""
        if isinstance(record, AccessKey):
            self._keys[record.id] = record
        elif isinstance(record, ManagedPolicy):
            self._policies[record.arn] = record
        else:
            self._identities[(record.kind, record.account, record.name.lower())] = record

    def identity(self, kind: Kind, account: str, name: str) -> Identity | None:
        """Return a user, group or role; the case of letters counts, although it is not free."""
        found = self._identities.get((kind, account, name.lower()))
        return found if found is not None and found.name == name else None

    def with_path(self, arn: str) -> str:
        """Return the ARN of a user, group or role completed with the path it was made with."""
        start, _, name = arn.rpartition("/")
        parts = start.split(":")
        if len(parts) == 6 and parts[2] == "iam":
            found = self._identities.get((parts[5].partition("/")[0], parts[4], name.lower()))
            if found is not None and found.name == name:
                return found.arn
        return arn

    def identities(self, kind: Kind, account: str) -> list[Identity]:
        """Return all of a kind in an account, in the order of their names."""
        found = [
            identity
            for (its_kind, its_account, _), identity in self._identities.items()
            if its_kind == kind and its_account == account
        ]
        return sorted(found, key=lambda identity: identity.name)

    def by_arn(self, arn: str) -> Identity | None:
        """Return the user, group or role of an ARN."""
        parts = arn.split(":", 5)
        if len(parts) != 6 or parts[2] != "iam":
            return None
        kind, _, rest = parts[5].partition("/")
        found = self._identities.get((kind, parts[4], rest.rpartition("/")[2].lower()))
        return found if found is not None and found.arn == arn else None

    def policy(self, arn: str) -> ManagedPolicy | None:
        """Return a managed policy."""
        return self._policies.get(arn)

    def policies(self, account: str) -> list[ManagedPolicy]:
        """Return the managed policies of an account (or of AWS) in the order of their names."""
        found = [policy for policy in self._policies.values() if policy.account == account]
        return sorted(found, key=lambda policy: policy.name)

    def access_key(self, id: str) -> AccessKey | None:
        """Return an access key."""
        return self._keys.get(id)

    def access_keys(self, account: str, user: str) -> list[AccessKey]:
        """Return the access keys of a user, oldest first."""
        found = [key for key in self._keys.values() if key.account == account and key.user == user]
        return sorted(found, key=lambda key: (key.created_at, key.id))

    def members(self, group: Identity) -> list[Identity]:
        """Return the users of a group."""
        return [
            user for user in self.identities("user", group.account) if group.name in user.groups
        ]

    def attached_to(self, arn: str) -> list[Identity]:
        """Return the identities that a managed policy is attached to."""
        return [identity for identity in self._identities.values() if arn in identity.attached]

    def bounded_by(self, arn: str) -> list[Identity]:
        """Return the identities that a managed policy is the boundary of."""
        return [identity for identity in self._identities.values() if identity.boundary == arn]

    def user_grants(self, user: Identity) -> Grants:
        """Return a user as a principal with its policies."""
        grants = self._grants.get((user.account, user.id))
        if grants is None:
            keys = {
                "aws:username": user.name,
                "aws:userid": user.id,
                "aws:principalarn": user.arn,
                "aws:principaltype": "User",
                "aws:principalaccount": user.account,
                **tag_keys(user.tags),
            }
            principal = Principal(user.arn, user.account, keys=keys)
            grants = Grants(principal, self.policies_of(user), self.boundary_of(user))
            self._grants[(user.account, user.id)] = grants
        return grants

    def policies_of(self, identity: Identity) -> list[Policy]:
        """Return the compiled policies of an identity, those of a user's groups included."""
        found = [
            self.compiled(document, f"{identity.kind}_{identity.name}_{name}")
            for name, document in identity.inline.items()
        ]
        found.extend(self.attached_policy(arn) for arn in identity.attached)
        for name in identity.groups:
            group = self.identity("group", identity.account, name)
            if group is not None:
                found.extend(self.policies_of(group))
        return found

    def boundary_of(self, identity: Identity) -> list[Policy] | None:
        """Return the compiled boundary of an identity, None if it has none."""
        return None if identity.boundary is None else [self.attached_policy(identity.boundary)]

    def attached_policy(self, arn: str) -> Policy:
        """Return a managed policy, compiled; one that is gone allows nothing."""
        policy = self._policies.get(arn)
        return _NOTHING_ALLOWED if policy is None else self.compiled(policy.document, policy.name)

    def compiled(self, document: str, name: str) -> Policy:
        """Return a compiled document; one that cannot be read allows nothing."""
        found = self._compiled.get((document, name))
        if found is None:
            try:
                found = compile_policy(document, PolicyKind.IDENTITY, name)
            except MalformedPolicyError:
                found = _NOTHING_ALLOWED
            self._compiled[(document, name)] = found
        return found


def tag_keys(tags: Mapping[str, str]) -> dict[str, str]:
    """Return the condition keys of a principal's tags."""
    return {f"aws:principaltag/{name.lower()}": value for name, value in tags.items()}
