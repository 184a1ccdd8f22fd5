"""Changes of users, groups and roles: the base of IAM's operations."""

from __future__ import annotations

from collections.abc import Callable

from hashrange.identities.directory import Directory
from hashrange.identities.records import Identity, Kind
from hashrange.identities.store import IdentityStore, Rows, identity_key
from hashrange.neighbours.iam.answers import already_exists, no_such
from hashrange.neighbours.service import Scope, ServiceError

Edit = Callable[[Identity], None]
"""Changes a user, group or role in place, or raises what refuses it."""


class Entities:
    """Operations on the identities of a store."""

    def __init__(self, store: IdentityStore) -> None:
        self.store = store

    async def directory(self) -> Directory:
        """Return all identities as they are now."""
        return await self.store.refresh()

    async def find(self, kind: Kind, scope: Scope, name: str) -> Identity:
        """Return a user, group or role of the caller's account."""
        found = (await self.directory()).identity(kind, scope.account, name)
        if found is None:
            raise no_such(kind, name)
        return found

    async def create(self, identity: Identity) -> None:
        """Keep a new user, group or role."""
        key = identity_key(identity.kind, identity.account, identity.name)

        def make(rows: Rows) -> Rows:
            if rows[key] is not None:
                raise already_exists(identity.kind, identity.name)
            return {key: identity}

        await self.store.change([key], make)

    async def edit(self, kind: Kind, scope: Scope, name: str, edit: Edit) -> None:
        """Change a user, group or role."""
        key = identity_key(kind, scope.account, name)

        def change(rows: Rows) -> Rows:
            found = rows[key]
            if not isinstance(found, Identity) or found.name != name:
                raise no_such(kind, name)
            edit(found)
            return {key: found}

        await self.store.change([key], change)

    async def delete(self, kind: Kind, scope: Scope, name: str, check: Edit) -> None:
        """Delete a user, group or role that passes a check."""
        key = identity_key(kind, scope.account, name)

        def remove(rows: Rows) -> Rows:
            found = rows[key]
            if not isinstance(found, Identity) or found.name != name:
                raise no_such(kind, name)
            check(found)
            return {key: None}

        await self.store.change([key], remove)

    async def check_attachable(self, arn: str) -> None:
        """Refuse a policy that is not there."""
        if (await self.directory()).policy(arn) is None:
            raise ServiceError(
                "NoSuchEntityException", f"Policy {arn} does not exist or is not attachable."
            )
