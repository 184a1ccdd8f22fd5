"""IAM operations on managed policies and their versions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from hashrange.errors import AccessDeniedException
from hashrange.identities.records import AWS_ACCOUNT, ManagedPolicy, PolicyVersion
from hashrange.identities.sessions import new_unique_id
from hashrange.identities.store import Rows, policy_key
from hashrange.limits import MANAGED_POLICY_CHARACTERS_MAX
from hashrange.neighbours.iam.answers import (
    check_document,
    encode_document,
    limit_exceeded,
    moment,
    page,
    read_name,
    read_path,
    read_tags,
    show_tags,
)
from hashrange.neighbours.iam.entities import Entities
from hashrange.neighbours.service import Handler, Parameters, Result, Scope, ServiceError
from hashrange.policies.documents import Kind as PolicyKind
from hashrange.policies.documents import characters_without_space

_VERSIONS_MAX: Final = 5

PolicyEdit = Callable[[ManagedPolicy], ManagedPolicy | None]
"""Returns what becomes of a policy; None deletes it."""


def _no_such(arn: str) -> ServiceError:
    return ServiceError("NoSuchEntityException", f"Policy {arn} was not found.")


def _no_such_version(arn: str, version: str) -> ServiceError:
    return ServiceError(
        "NoSuchEntityException",
        f"Policy {arn} version {version} does not exist or is not attachable.",
    )


def _check(document: str) -> None:
    if characters_without_space(document) > MANAGED_POLICY_CHARACTERS_MAX:
        raise limit_exceeded(f"Cannot exceed quota for PolicySize: {MANAGED_POLICY_CHARACTERS_MAX}")
    check_document(document, PolicyKind.IDENTITY)


def _show_version(policy: ManagedPolicy, version: str, *, has_document: bool = False) -> Result:
    found = policy.versions[version]
    shown: Result = {
        "VersionId": version,
        "IsDefaultVersion": version == policy.default,
        "CreateDate": moment(found.created_at),
    }
    if has_document:
        shown["Document"] = encode_document(found.document)
    return shown


class ManagedPolicies(Entities):
    """Operations on managed policies; those of AWS cannot be changed."""

    async def _find(self, scope: Scope, arn: str) -> ManagedPolicy:
        policy = (await self.directory()).policy(arn)
        if policy is None or policy.account not in (AWS_ACCOUNT, scope.account):
            raise _no_such(arn)
        return policy

    async def _edit(self, scope: Scope, arn: str, edit: PolicyEdit) -> None:
        found = await self._find(scope, arn)
        if found.account == AWS_ACCOUNT:
            raise AccessDeniedException("Policies of AWS cannot be changed.")
        key = policy_key(scope.account, found.name)

        def change(rows: Rows) -> Rows:
            policy = rows[key]
            if not isinstance(policy, ManagedPolicy) or policy.arn != arn:
                raise _no_such(arn)
            return {key: edit(policy)}

        await self.store.change([key], change)

    async def _show(self, policy: ManagedPolicy, *, is_listed: bool = False) -> Result:
        directory = await self.directory()
        shown: Result = {
            "PolicyName": policy.name,
            "PolicyId": policy.id,
            "Arn": policy.arn,
            "Path": policy.path,
            "DefaultVersionId": policy.default,
            "AttachmentCount": len(directory.attached_to(policy.arn)),
            "PermissionsBoundaryUsageCount": len(directory.bounded_by(policy.arn)),
            "IsAttachable": True,
            "CreateDate": moment(policy.created_at),
            "UpdateDate": moment(policy.updated_at),
        }
        if not is_listed:
            if policy.description:
                shown["Description"] = policy.description
            if policy.tags:
                shown["Tags"] = show_tags(policy.tags)
        return shown

    async def create_policy(self, scope: Scope, parameters: Parameters) -> Result:
        document = parameters["PolicyDocument"]
        _check(document)
        now = scope.clock.now()
        policy = ManagedPolicy(
            scope.account,
            read_name(parameters, "PolicyName"),
            read_path(parameters),
            new_unique_id("ANPA"),
            now,
            now,
            {"v1": PolicyVersion(document, now)},
            "v1",
            description=parameters.get("Description") or "",
            tags=read_tags(parameters),
        )
        key = policy_key(scope.account, policy.name)

        def make(rows: Rows) -> Rows:
            if rows[key] is not None:
                raise ServiceError(
                    "EntityAlreadyExistsException",
                    f"A policy called {policy.name} already exists. Duplicate names are not "
                    "allowed.",
                )
            return {key: policy}

        await self.store.change([key], make)
        return {"Policy": await self._show(policy)}

    async def get_policy(self, scope: Scope, parameters: Parameters) -> Result:
        return {"Policy": await self._show(await self._find(scope, parameters["PolicyArn"]))}

    async def list_policies(self, scope: Scope, parameters: Parameters) -> Result:
        directory = await self.directory()
        wanted = parameters.get("Scope") or "All"
        prefix = parameters.get("PathPrefix") or "/"
        found: list[ManagedPolicy] = []
        if wanted in ("All", "Local"):
            found += directory.policies(scope.account)
        if wanted in ("All", "AWS"):
            found += directory.policies(AWS_ACCOUNT)
        if parameters.get("OnlyAttached"):
            found = [policy for policy in found if directory.attached_to(policy.arn)]
        shown = [
            await self._show(policy, is_listed=True)
            for policy in found
            if policy.path.startswith(prefix)
        ]
        return page(shown, parameters, "Policies")

    async def delete_policy(self, scope: Scope, parameters: Parameters) -> Result:
        arn = parameters["PolicyArn"]
        directory = await self.directory()
        if directory.attached_to(arn) or directory.bounded_by(arn):
            raise ServiceError(
                "DeleteConflictException", "Cannot delete a policy attached to entities."
            )

        def edit(policy: ManagedPolicy) -> None:
            if len(policy.versions) > 1:
                raise ServiceError(
                    "DeleteConflictException",
                    "This policy has more than one version. Before you delete a policy, you must "
                    "delete the policy's versions. The default version is deleted with the policy.",
                )

        await self._edit(scope, arn, edit)
        return {}

    async def create_version(self, scope: Scope, parameters: Parameters) -> Result:
        document = parameters["PolicyDocument"]
        _check(document)
        now = scope.clock.now()
        made: list[Result] = []

        def edit(policy: ManagedPolicy) -> ManagedPolicy:
            if len(policy.versions) >= _VERSIONS_MAX:
                raise limit_exceeded(
                    f"A managed policy can have up to {_VERSIONS_MAX} versions. Before you create "
                    "a new version, you must delete an existing version."
                )
            name = f"v{policy.next_version}"
            policy.next_version += 1
            policy.versions[name] = PolicyVersion(document, now)
            policy.updated_at = now
            if parameters.get("SetAsDefault"):
                policy.default = name
            made[:] = [_show_version(policy, name)]
            return policy

        await self._edit(scope, parameters["PolicyArn"], edit)
        return {"PolicyVersion": made[0]}

    async def get_version(self, scope: Scope, parameters: Parameters) -> Result:
        policy = await self._find(scope, parameters["PolicyArn"])
        version = parameters["VersionId"]
        if version not in policy.versions:
            raise _no_such_version(policy.arn, version)
        return {"PolicyVersion": _show_version(policy, version, has_document=True)}

    async def list_versions(self, scope: Scope, parameters: Parameters) -> Result:
        policy = await self._find(scope, parameters["PolicyArn"])
        newest_first = [_show_version(policy, version) for version in reversed(policy.versions)]
        return page(newest_first, parameters, "Versions")

    async def delete_version(self, scope: Scope, parameters: Parameters) -> Result:
        version = parameters["VersionId"]

        def edit(policy: ManagedPolicy) -> ManagedPolicy:
            if version not in policy.versions:
                raise _no_such_version(policy.arn, version)
            if version == policy.default:
                raise ServiceError(
                    "DeleteConflictException", "Cannot delete the default version of a policy."
                )
            del policy.versions[version]
            return policy

        await self._edit(scope, parameters["PolicyArn"], edit)
        return {}

    async def set_default(self, scope: Scope, parameters: Parameters) -> Result:
        version = parameters["VersionId"]
        now = scope.clock.now()

        def edit(policy: ManagedPolicy) -> ManagedPolicy:
            if version not in policy.versions:
                raise _no_such_version(policy.arn, version)
            policy.default = version
            policy.updated_at = now
            return policy

        await self._edit(scope, parameters["PolicyArn"], edit)
        return {}

    async def list_entities(self, scope: Scope, parameters: Parameters) -> Result:
        policy = await self._find(scope, parameters["PolicyArn"])
        found = (await self.directory()).attached_to(policy.arn)
        result: Result = {"IsTruncated": False}
        for kind, title in (("user", "User"), ("group", "Group"), ("role", "Role")):
            result[f"Policy{title}s"] = [
                {f"{title}Name": identity.name, f"{title}Id": identity.id}
                for identity in found
                if identity.kind == kind and identity.account == scope.account
            ]
        return result

    def operations(self) -> Mapping[str, Handler]:
        return {
            "CreatePolicy": self.create_policy,
            "CreatePolicyVersion": self.create_version,
            "DeletePolicy": self.delete_policy,
            "DeletePolicyVersion": self.delete_version,
            "GetPolicy": self.get_policy,
            "GetPolicyVersion": self.get_version,
            "ListEntitiesForPolicy": self.list_entities,
            "ListPolicies": self.list_policies,
            "ListPolicyVersions": self.list_versions,
            "SetDefaultPolicyVersion": self.set_default,
        }
