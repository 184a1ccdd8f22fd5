"""SimulateCustomPolicy and SimulatePrincipalPolicy: what the evaluator would decide."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, final

from hashrange.identities.directory import Directory
from hashrange.identities.records import AWS_ACCOUNT, Identity
from hashrange.neighbours.iam.answers import invalid, page
from hashrange.neighbours.iam.entities import Entities
from hashrange.neighbours.service import Handler, Parameters, Result, Scope, ServiceError
from hashrange.policies.documents import Kind, MalformedPolicyError, compile_policy
from hashrange.policies.evaluation import Decision, Grants, evaluate
from hashrange.policies.principals import Principal
from hashrange.policies.statements import Policy


@final
class _GivenContext:
    """The context entries of a request; notes which keys were asked for in vain."""

    def __init__(self, principal: Principal, entries: list[dict[str, Any]]) -> None:
        self._values: dict[str, str | list[str]] = dict(principal.keys)
        self.missing: dict[str, None] = {}
        for entry in entries:
            values = [str(value) for value in entry.get("ContextKeyValues") or ()]
            is_list = str(entry.get("ContextKeyType") or "").endswith("List")
            name = str(entry.get("ContextKeyName") or "").lower()
            self._values[name] = values if is_list or len(values) != 1 else values[0]

    def find(self, key: str) -> str | list[str] | None:
        value = self._values.get(key)
        if value is None:
            self.missing[key] = None
        return value


def _compile(texts: list[str], kind: Kind, name: str) -> list[Policy]:
    try:
        return [compile_policy(text, kind, f"{name}.{n}") for n, text in enumerate(texts, 1)]
    except MalformedPolicyError as error:
        raise ServiceError("InvalidInputException", str(error)) from error


class Simulation(Entities):
    """Operations that ask what would be allowed."""

    async def custom(self, scope: Scope, parameters: Parameters) -> Result:
        policies = _compile(parameters["PolicyInputList"], Kind.IDENTITY, "PolicyInputList")
        arn = parameters.get("CallerArn") or scope.principal_arn
        principal = Principal(arn, arn.split(":")[4] if arn.count(":") > 4 else scope.account)
        grants = Grants(principal, policies, _boundary(parameters, None))
        return _simulate(await self.directory(), grants, parameters)

    async def principal(self, scope: Scope, parameters: Parameters) -> Result:
        arn = parameters["PolicySourceArn"]
        directory = await self.directory()
        identity = directory.by_arn(arn)
        if identity is None or identity.account != scope.account:
            raise ServiceError("NoSuchEntityException", f"The entity {arn} cannot be found.")
        policies = directory.policies_of(identity)
        given = parameters.get("PolicyInputList") or []
        policies = policies + _compile(given, Kind.IDENTITY, "PolicyInputList")
        principal = _principal_of(directory, identity)
        boundary = _boundary(parameters, directory.boundary_of(identity))
        return _simulate(directory, Grants(principal, policies, boundary), parameters)

    def operations(self) -> Mapping[str, Handler]:
        return {"SimulateCustomPolicy": self.custom, "SimulatePrincipalPolicy": self.principal}


def _principal_of(directory: Directory, identity: Identity) -> Principal:
    if identity.kind == "user":
        return directory.user_grants(identity).principal
    return Principal(identity.arn, identity.account)


def _boundary(parameters: Parameters, otherwise: list[Policy] | None) -> list[Policy] | None:
    given = parameters.get("PermissionsBoundaryPolicyInputList")
    return otherwise if not given else _compile(given, Kind.BOUNDARY, "PermissionsBoundary")


def _simulate(directory: Directory, grants: Grants, parameters: Parameters) -> Result:
    on: Policy | None = None
    if parameters.get("ResourcePolicy"):
        on = _compile([parameters["ResourcePolicy"]], Kind.RESOURCE, "ResourcePolicy")[0]
    owner = parameters.get("ResourceOwner") or ""
    account = owner.split(":")[4] if owner.count(":") > 4 else owner
    resources = parameters.get("ResourceArns") or ["*"]
    results = []
    for action in parameters["ActionNames"]:
        if ":" not in action:
            raise invalid(f"ActionName {action} is invalid.")
        for resource in resources:
            context = _GivenContext(grants.principal, parameters.get("ContextEntries") or [])
            decision = evaluate(grants, action, resource, context, on, account)
            shown = _show(directory, decision, action, resource)
            shown["MissingContextValues"] = list(context.missing)
            if grants.boundary is not None:
                denied = not decision.is_allowed and decision.kind is Kind.BOUNDARY
                shown["PermissionsBoundaryDecisionDetail"] = {
                    "AllowedByPermissionsBoundary": not denied
                }
            results.append(shown)
    return page(results, parameters, "EvaluationResults")


def _show(directory: Directory, decision: Decision, action: str, resource: str) -> Result:
    if decision.is_allowed:
        outcome = "allowed"
    else:
        outcome = "explicitDeny" if decision.is_explicit else "implicitDeny"
    return {
        "EvalActionName": action,
        "EvalResourceName": resource,
        "EvalDecision": outcome,
        "MatchedStatements": [
            {
                "SourcePolicyId": policy.name,
                "SourcePolicyType": _type_of(directory, policy.name),
            }
            for policy, _ in decision.matched
        ],
    }


def _type_of(directory: Directory, name: str) -> str:
    if name.startswith("ResourcePolicy."):
        return "resource"
    for prefix in ("user", "group", "role"):
        if name.startswith(f"{prefix}_"):
            return prefix
    if any(policy.name == name for policy in directory.policies(AWS_ACCOUNT)):
        return "aws-managed"
    return "none" if "." in name else "user-managed"
