"""Resource policies of tables and streams: what is accepted, and the form in which it is kept.

A policy is kept in one form, so that two documents that say the same are the same: no white space,
members in a fixed order, lists of one as their element, accounts as the ARN of their root.
"""

from __future__ import annotations

import re
from typing import Any, Final

import orjson

from hashrange.api.scope import RequestScope
from hashrange.errors import ValidationException
from hashrange.limits import RESOURCE_POLICY_BYTES_MAX
from hashrange.model.records import ResourcePolicy
from hashrange.policies.documents import (
    Kind,
    MalformedPolicyError,
    compile_policy,
    read_document,
)
from hashrange.policies.evaluation import evaluate_resource_deny
from hashrange.policies.patterns import Pattern, Syntax
from hashrange.policies.principals import root_arn
from hashrange.policies.statements import NO_CONTEXT, Policy

_INVALID: Final = "Invalid policy document: "
_ACCOUNT: Final = re.compile(r"[0-9]{12}")
_ORDER: Final = (
    *("Sid", "Effect", "Principal", "NotPrincipal", "Action", "NotAction"),
    *("Resource", "NotResource", "Condition"),
)
# Keys that tell callers apart; a condition on one of them keeps the public out.
_RESTRICTING: Final = frozenset(
    {
        *("aws:principalaccount", "aws:principalarn", "aws:principalorgid", "aws:sourceaccount"),
        *("aws:sourcearn", "aws:sourceip", "aws:sourcevpc", "aws:sourcevpce", "aws:userid"),
        "aws:username",
    }
)
_OWN: Final = ("dynamodb:PutResourcePolicy", "dynamodb:DeleteResourcePolicy")


def make_policy(resource: str, text: str, now: float) -> ResourcePolicy:
    """Check a policy for a table or stream and return it in the form in which it is kept."""
    if len(text.encode()) > RESOURCE_POLICY_BYTES_MAX:
        raise ValidationException(
            f"{_INVALID}the size limit of {RESOURCE_POLICY_BYTES_MAX} bytes is exceeded"
        )
    try:
        compile_policy(text, Kind.RESOURCE)
        document = _canonical(read_document(text))
    except MalformedPolicyError as error:
        raise ValidationException(f"{_INVALID}{error}") from None
    for statement in document["Statement"]:
        _check_statement(statement, resource)
    return ResourcePolicy(orjson.dumps(document).decode(), str(int(now * 1000)))


def check_own_access(scope: RequestScope, resource: str, policy: Policy) -> None:
    """Refuse a policy that would keep the caller from changing it again."""
    if scope.caller.grants is None:
        return
    principal = scope.caller.grants.principal
    for action in _OWN:
        if evaluate_resource_deny(policy, principal, action, resource, NO_CONTEXT):
            raise ValidationException(
                "The resource-based policy would deny the caller access to "
                f"{action}. To confirm, set ConfirmRemoveSelfResourceAccess to true."
            )


def _check_statement(statement: dict[str, Any], resource: str) -> None:
    for member in ("Resource", "NotResource"):
        for text in _listed(statement.get(member, [])):
            if text != "*" and not _names(text, resource):
                raise ValidationException(f"{_INVALID}Resource {text} is not {resource}")
    if statement["Effect"] == "Allow" and _is_public(statement):
        raise ValidationException(
            f"{_INVALID}the policy grants unbounded access to everybody; name principals, or add a "
            "condition that restricts them"
        )


def _names(text: str, resource: str) -> bool:
    """Tell whether a pattern is about a resource or about something that belongs to it."""
    if text == resource or text.startswith(f"{resource}/"):
        return True
    return bool(Pattern(text, Syntax.ARN).matches(resource, NO_CONTEXT))


def _is_public(statement: dict[str, Any]) -> bool:
    principal = statement.get("Principal")
    names = _listed(principal.get("AWS", [])) if isinstance(principal, dict) else [principal]
    if "*" not in names:
        return False
    for operator, keys in (statement.get("Condition") or {}).items():
        is_loose = "Not" in operator or operator.endswith("IfExists") or "ForAllValues" in operator
        if not is_loose and operator != "Null":
            for key, values in keys.items():
                if key.lower() in _RESTRICTING and "*" not in _listed(values):
                    return False
    return True


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _canonical(document: dict[str, Any]) -> dict[str, Any]:
    canonical: dict[str, Any] = {"Version": document.get("Version", "2008-10-17")}
    if "Id" in document:
        canonical["Id"] = document["Id"]
    canonical["Statement"] = [
        {name: _plain(name, statement[name]) for name in _ORDER if name in statement}
        for statement in _listed(document["Statement"])
    ]
    return canonical


def _plain(name: str, value: Any) -> Any:
    if name in ("Principal", "NotPrincipal") and isinstance(value, dict):
        return {kind: _plain("", _principals(names)) for kind, names in value.items()}
    if name == "Condition":
        return {
            operator: {key: _plain("", values) for key, values in keys.items()}
            for operator, keys in value.items()
        }
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _principals(names: Any) -> list[Any]:
    return [root_arn(name) if _ACCOUNT.fullmatch(name) else name for name in _listed(names)]
