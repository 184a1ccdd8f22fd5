"""IAM operations on users and roles, and on the account."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from hashrange.identities.records import Identity, Kind
from hashrange.identities.sessions import new_unique_id
from hashrange.identities.store import Rows, access_key_key, identity_key
from hashrange.limits import TRUST_POLICY_CHARACTERS_MAX
from hashrange.neighbours.iam.answers import (
    already_exists,
    check_document,
    delete_conflict,
    limit_exceeded,
    moment,
    name_member,
    no_such,
    own_name,
    page,
    read_name,
    read_path,
    read_tags,
    show_identity,
    show_tags,
)
from hashrange.neighbours.iam.entities import Entities
from hashrange.neighbours.service import Handler, Parameters, Result, Scope
from hashrange.policies.documents import Kind as PolicyKind
from hashrange.policies.documents import characters_without_space

_SESSION_SECONDS: Final = 3600


def check_trust(text: str) -> None:
    """Refuse what is no trust policy."""
    if characters_without_space(text) > TRUST_POLICY_CHARACTERS_MAX:
        raise limit_exceeded(
            f"Cannot exceed quota for ACLSizePerRole: {TRUST_POLICY_CHARACTERS_MAX}"
        )
    check_document(text, PolicyKind.TRUST)


def check_unused(identity: Identity) -> None:
    """Refuse to delete an identity that has policies."""
    if identity.attached:
        raise delete_conflict("detach all policies")
    if identity.inline:
        raise delete_conflict("delete policies")


class _People(Entities):
    """What users and roles have in common: boundaries, tags, lists."""

    kind: Kind

    async def tag(self, scope: Scope, parameters: Parameters) -> Result:
        def edit(identity: Identity) -> None:
            identity.tags = read_tags(parameters, identity.tags)

        await self.edit(self.kind, scope, parameters[name_member(self.kind)], edit)
        return {}

    async def untag(self, scope: Scope, parameters: Parameters) -> Result:
        gone = {key.lower() for key in parameters["TagKeys"]}

        def edit(identity: Identity) -> None:
            identity.tags = {
                name: value for name, value in identity.tags.items() if name.lower() not in gone
            }

        await self.edit(self.kind, scope, parameters[name_member(self.kind)], edit)
        return {}

    async def list_tags(self, scope: Scope, parameters: Parameters) -> Result:
        identity = await self.find(self.kind, scope, parameters[name_member(self.kind)])
        return page(show_tags(identity.tags), parameters, "Tags")

    async def put_boundary(self, scope: Scope, parameters: Parameters) -> Result:
        arn = parameters["PermissionsBoundary"]
        await self.check_attachable(arn)

        def edit(identity: Identity) -> None:
            identity.boundary = arn

        await self.edit(self.kind, scope, parameters[name_member(self.kind)], edit)
        return {}

    async def delete_boundary(self, scope: Scope, parameters: Parameters) -> Result:
        def edit(identity: Identity) -> None:
            identity.boundary = None

        await self.edit(self.kind, scope, parameters[name_member(self.kind)], edit)
        return {}

    async def listed(self, scope: Scope, parameters: Parameters, member: str) -> Result:
        prefix = parameters.get("PathPrefix") or "/"
        found = (await self.directory()).identities(self.kind, scope.account)
        shown = [show_identity(i, is_listed=True) for i in found if i.path.startswith(prefix)]
        return page(shown, parameters, member)


class Users(_People):
    """Operations on users."""

    kind: Kind = "user"

    async def create_user(self, scope: Scope, parameters: Parameters) -> Result:
        boundary = parameters.get("PermissionsBoundary")
        if boundary is not None:
            await self.check_attachable(boundary)
        user = Identity(
            "user",
            scope.account,
            read_name(parameters, "UserName"),
            read_path(parameters),
            new_unique_id("AIDA"),
            scope.clock.now(),
            boundary=boundary,
            tags=read_tags(parameters),
        )
        await self.create(user)
        return {"User": show_identity(user)}

    async def get_user(self, scope: Scope, parameters: Parameters) -> Result:
        if parameters.get("UserName") is None and scope.principal_arn.endswith(":root"):
            root = {"UserId": scope.account, "Arn": scope.principal_arn, "Path": "/"}
            return {"User": {**root, "UserName": "root", "CreateDate": moment(0)}}
        return {"User": show_identity(await self.find("user", scope, own_name(scope, parameters)))}

    async def list_users(self, scope: Scope, parameters: Parameters) -> Result:
        return await self.listed(scope, parameters, "Users")

    async def update_user(self, scope: Scope, parameters: Parameters) -> Result:
        """Rename or move a user; its access keys go with it."""
        old = parameters["UserName"]
        new = parameters.get("NewUserName") or old
        if new != old:
            read_name(parameters, "NewUserName")
        old_key = identity_key("user", scope.account, old)
        new_key = identity_key("user", scope.account, new)
        keys = (await self.directory()).access_keys(scope.account, old)
        key_rows = [access_key_key(key.id) for key in keys]

        def change(rows: Rows) -> Rows:
            user = rows[old_key]
            if not isinstance(user, Identity) or user.name != old:
                raise no_such("user", old)
            if new_key != old_key and rows[new_key] is not None:
                raise already_exists("user", new)
            user.name = new
            user.path = parameters.get("NewPath") or user.path
            changed: Rows = {old_key: None, new_key: user}
            for row_key, key in zip(key_rows, keys, strict=True):
                if rows[row_key] is not None:
                    key.user = new
                    changed[row_key] = key
            return changed

        await self.store.change(list(dict.fromkeys((old_key, new_key, *key_rows))), change)
        return {}

    async def delete_user(self, scope: Scope, parameters: Parameters) -> Result:
        name = parameters["UserName"]
        if (await self.directory()).access_keys(scope.account, name):
            raise delete_conflict("delete access keys")

        def check(user: Identity) -> None:
            if user.groups:
                raise delete_conflict("remove users from group")
            check_unused(user)

        await self.delete("user", scope, name, check)
        return {}

    def operations(self) -> Mapping[str, Handler]:
        return {
            "CreateUser": self.create_user,
            "DeleteUser": self.delete_user,
            "DeleteUserPermissionsBoundary": self.delete_boundary,
            "GetUser": self.get_user,
            "ListUserTags": self.list_tags,
            "ListUsers": self.list_users,
            "PutUserPermissionsBoundary": self.put_boundary,
            "TagUser": self.tag,
            "UntagUser": self.untag,
            "UpdateUser": self.update_user,
        }


class Roles(_People):
    """Operations on roles."""

    kind: Kind = "role"

    async def create_role(self, scope: Scope, parameters: Parameters) -> Result:
        trust = parameters["AssumeRolePolicyDocument"]
        check_trust(trust)
        boundary = parameters.get("PermissionsBoundary")
        if boundary is not None:
            await self.check_attachable(boundary)
        role = Identity(
            "role",
            scope.account,
            read_name(parameters, "RoleName"),
            read_path(parameters),
            new_unique_id("AROA"),
            scope.clock.now(),
            boundary=boundary,
            tags=read_tags(parameters),
            trust=trust,
            description=parameters.get("Description") or "",
            session_seconds_max=parameters.get("MaxSessionDuration") or _SESSION_SECONDS,
        )
        await self.create(role)
        return {"Role": show_identity(role)}

    async def get_role(self, scope: Scope, parameters: Parameters) -> Result:
        return {"Role": show_identity(await self.find("role", scope, parameters["RoleName"]))}

    async def list_roles(self, scope: Scope, parameters: Parameters) -> Result:
        return await self.listed(scope, parameters, "Roles")

    async def update_role(self, scope: Scope, parameters: Parameters) -> Result:
        def edit(role: Identity) -> None:
            if parameters.get("Description") is not None:
                role.description = parameters["Description"]
            if parameters.get("MaxSessionDuration") is not None:
                role.session_seconds_max = parameters["MaxSessionDuration"]

        await self.edit("role", scope, parameters["RoleName"], edit)
        return {}

    async def update_trust(self, scope: Scope, parameters: Parameters) -> Result:
        check_trust(parameters["PolicyDocument"])

        def edit(role: Identity) -> None:
            role.trust = parameters["PolicyDocument"]

        await self.edit("role", scope, parameters["RoleName"], edit)
        return {}

    async def delete_role(self, scope: Scope, parameters: Parameters) -> Result:
        await self.delete("role", scope, parameters["RoleName"], check_unused)
        return {}

    def operations(self) -> Mapping[str, Handler]:
        return {
            "CreateRole": self.create_role,
            "DeleteRole": self.delete_role,
            "DeleteRolePermissionsBoundary": self.delete_boundary,
            "GetRole": self.get_role,
            "ListRoleTags": self.list_tags,
            "ListRoles": self.list_roles,
            "PutRolePermissionsBoundary": self.put_boundary,
            "TagRole": self.tag,
            "UntagRole": self.untag,
            "UpdateAssumeRolePolicy": self.update_trust,
            "UpdateRole": self.update_role,
        }


class Accounts(Entities):
    """Operations on the account."""

    async def summary(self, scope: Scope, parameters: Parameters) -> Result:
        directory = await self.directory()
        return {
            "SummaryMap": {
                "Users": len(directory.identities("user", scope.account)),
                "Groups": len(directory.identities("group", scope.account)),
                "Roles": len(directory.identities("role", scope.account)),
                "Policies": len(directory.policies(scope.account)),
                "AccessKeysPerUserQuota": 2,
                "VersionsPerPolicyQuota": 5,
            }
        }

    async def aliases(self, scope: Scope, parameters: Parameters) -> Result:
        return page([], parameters, "AccountAliases")

    def operations(self) -> Mapping[str, Handler]:
        return {"GetAccountSummary": self.summary, "ListAccountAliases": self.aliases}
