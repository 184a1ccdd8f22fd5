"""Rows of the authorisation table for IAM and STS."""

from __future__ import annotations

from typing import Final

from hashrange.api.access.demands import ANY, Demand, PlainKeys, Row
from hashrange.api.access.table_rows import tag_keys
from hashrange.api.operation import Request
from hashrange.api.scope import RequestScope

FREE: Final = frozenset({("sts", "GetCallerIdentity"), ("sts", "GetSessionToken")})
"""Operations that need no permission, as on AWS."""

# Member that names the resource, by the kind of resource.
_MEMBERS: Final = {"user": "UserName", "group": "GroupName", "role": "RoleName"}

_BY_KIND: Final = {
    "user": (
        *("AttachUserPolicy", "CreateAccessKey", "CreateUser"),
        *("DeleteAccessKey", "DeleteUser", "DeleteUserPermissionsBoundary", "DeleteUserPolicy"),
        *("DetachUserPolicy", "GetUser", "GetUserPolicy", "ListAccessKeys"),
        *("ListAttachedUserPolicies", "ListGroupsForUser", "ListUserPolicies", "ListUserTags"),
        *("PutUserPermissionsBoundary", "PutUserPolicy", "TagUser", "UntagUser"),
        *("UpdateAccessKey", "UpdateUser"),
    ),
    "group": (
        *("AddUserToGroup", "AttachGroupPolicy", "CreateGroup", "DeleteGroup"),
        *("DeleteGroupPolicy", "DetachGroupPolicy", "GetGroup", "GetGroupPolicy"),
        *(
            "ListAttachedGroupPolicies",
            "ListGroupPolicies",
            "PutGroupPolicy",
            "RemoveUserFromGroup",
            "UpdateGroup",
        ),
    ),
    "role": (
        *("AttachRolePolicy", "CreateRole", "DeleteRole", "DeleteRolePermissionsBoundary"),
        *("DeleteRolePolicy", "DetachRolePolicy", "GetRole", "GetRolePolicy"),
        *("ListAttachedRolePolicies", "ListRolePolicies", "ListRoleTags"),
        *("PutRolePermissionsBoundary", "PutRolePolicy", "TagRole", "UntagRole"),
        *("UpdateAssumeRolePolicy", "UpdateRole"),
    ),
}
_BY_POLICY_ARN: Final = (
    *("CreatePolicyVersion", "DeletePolicy", "DeletePolicyVersion", "GetPolicy"),
    *("GetPolicyVersion", "ListEntitiesForPolicy", "ListPolicyVersions"),
    *("SetDefaultPolicyVersion", "TagPolicy", "UntagPolicy", "ListPolicyTags"),
)


def named_row(operation: str, kind: str) -> Row:
    """Return the row of an operation on a user, group or role; without a name, the caller."""
    action = f"iam:{operation}"
    member = _MEMBERS[kind]

    def demands(scope: RequestScope, request: Request) -> list[Demand]:
        name = request.get(member)
        caller = scope.caller
        if name is None:
            return [Demand(action, caller.arn)]
        path = (request.get("Path") or "/") if operation.startswith("Create") else "/"
        resource = f"arn:aws:iam::{caller.account}:{kind}{path}{name}"
        found = Demand(action, resource, None, _keys(request))
        if operation.startswith("Create") and request.get("Tags"):
            tagging = f"iam:Tag{kind.capitalize()}"
            return [found, Demand(tagging, resource, None, _keys(request))]
        return [found]

    return demands


def _keys(request: Request) -> PlainKeys:
    values: dict[str, str | list[str]] = {}
    if request.get("PolicyArn"):
        values["iam:policyarn"] = request["PolicyArn"]
    if request.get("PermissionsBoundary"):
        values["iam:permissionsboundary"] = request["PermissionsBoundary"]
    tags = request.get("Tags") or ()
    if tags:
        values["aws:tagkeys"] = [tag["Key"] for tag in tags]
    for tag in tags:
        values[f"aws:requesttag/{tag['Key'].lower()}"] = tag.get("Value") or ""
    return PlainKeys(values)


def policy_row(operation: str) -> Row:
    """Return the row of an operation on a managed policy."""

    def demands(scope: RequestScope, request: Request) -> list[Demand]:
        return [Demand(f"iam:{operation}", request["PolicyArn"])]

    return demands


def create_policy_row(scope: RequestScope, request: Request) -> list[Demand]:
    """Demand CreatePolicy on the policy to be made."""
    account = scope.caller.account
    name = f"{request.get('Path') or '/'}{request['PolicyName']}"
    keys = tag_keys(request.get("Tags"))
    return [Demand("iam:CreatePolicy", f"arn:aws:iam::{account}:policy{name}", None, keys)]


def simulate_row(scope: RequestScope, request: Request) -> list[Demand]:
    """Demand SimulatePrincipalPolicy on the principal asked about."""
    return [Demand("iam:SimulatePrincipalPolicy", request["PolicySourceArn"])]


def assume_role_row(scope: RequestScope, request: Request) -> list[Demand]:
    """Demand nothing here: AssumeRole weighs the caller's policies with the role's trust policy."""
    return []


def federation_row(scope: RequestScope, request: Request) -> list[Demand]:
    """Demand GetFederationToken on the federated user to be."""
    resource = f"arn:aws:sts::{scope.caller.account}:federated-user/{request['Name']}"
    return [Demand("sts:GetFederationToken", resource)]


def key_info_row(scope: RequestScope, request: Request) -> list[Demand]:
    """Demand GetAccessKeyInfo."""
    return [Demand("sts:GetAccessKeyInfo", ANY)]


IAM_ROWS: Final[dict[str, Row]] = {
    **{
        operation: named_row(operation, kind)
        for kind, operations in _BY_KIND.items()
        for operation in operations
    },
    **{operation: policy_row(operation) for operation in _BY_POLICY_ARN},
    "CreatePolicy": create_policy_row,
    "SimulatePrincipalPolicy": simulate_row,
}

STS_ROWS: Final[dict[str, Row]] = {
    "AssumeRole": assume_role_row,
    "GetAccessKeyInfo": key_info_row,
    "GetFederationToken": federation_row,
}
