"""Policy documents: JSON to compiled policies, refused with AWS's texts.

    policy     Version?, Id?, Statement (one or a list)
    statement  Sid?, Effect, Action | NotAction, Resource | NotResource, Condition?,
               and in policies of resources and roles Principal | NotPrincipal

Version 2012-10-17 has variables; in 2008-10-17, the default, `${` is ordinary text.
"""

from __future__ import annotations

import json
import re
from enum import Enum
from typing import Any, Final

from hashrange.limits import POLICY_STATEMENTS_MAX
from hashrange.policies.conditions import Test, read_operator
from hashrange.policies.patterns import Pattern, Syntax
from hashrange.policies.principals import PrincipalElement, root_arn
from hashrange.policies.statements import Elements, Policy, Statement

_VERSION: Final = "2012-10-17"
_VERSIONS: Final = (_VERSION, "2008-10-17")
_SYNTAX: Final = "Syntax errors in policy."
_SID: Final = re.compile(r"[0-9A-Za-z]*")
_FREE_SID: Final = re.compile(r"[0-9A-Za-z_ \-]*")
_ACCOUNT: Final = re.compile(r"[0-9]{12}")
_VENDOR: Final = re.compile(r"[a-z0-9-]+")
_PRINCIPAL_KINDS: Final = frozenset({"AWS", "Service", "Federated", "CanonicalUser"})
_POLICY_MEMBERS: Final = frozenset({"Version", "Id", "Statement"})
_STATEMENT_MEMBERS: Final = frozenset(
    {
        "Sid",
        "Effect",
        "Action",
        "NotAction",
        "Resource",
        "NotResource",
        "Principal",
        "NotPrincipal",
        "Condition",
    }
)


class MalformedPolicyError(Exception):
    """A document is not a policy; the message is AWS's."""


class Kind(Enum):
    """What a policy is attached to, and how messages call it."""

    IDENTITY = "identity-based policy"
    RESOURCE = "resource-based policy"
    BOUNDARY = "permissions boundary"
    SESSION = "session policy"
    TRUST = "role trust policy"

    @property
    def names_principals(self) -> bool:
        return self in (Kind.RESOURCE, Kind.TRUST)


def compile_policy(text: str, kind: Kind, name: str = "") -> Policy:
    """Return the compiled policy of a document, or raise MalformedPolicyError."""
    document = read_document(text)
    if not document.keys() <= _POLICY_MEMBERS or "Statement" not in document:
        raise MalformedPolicyError(_SYNTAX)
    version = document.get("Version", "2008-10-17")
    if version not in _VERSIONS:
        raise MalformedPolicyError("The policy must contain a valid version string")
    if kind in (Kind.IDENTITY, Kind.SESSION) and document.get("Version") != _VERSION:
        raise MalformedPolicyError("Policy document must be version 2012-10-17 or greater.")
    if not isinstance(document.get("Id", ""), str):
        raise MalformedPolicyError(_SYNTAX)
    given = document["Statement"]
    entries = given if isinstance(given, list) else [given]
    if not entries or len(entries) > POLICY_STATEMENTS_MAX:
        raise MalformedPolicyError(_SYNTAX)
    statements = [_statement(entry, kind, version == _VERSION) for entry in entries]
    sids = [statement.sid for statement in statements if statement.sid]
    if len(set(sids)) < len(sids):
        raise MalformedPolicyError("Statement IDs (SID) in a single policy must be unique.")
    return Policy(name, statements)


def read_document(text: str) -> dict[str, Any]:
    """Return the JSON object of a document; repeated members are refused."""
    try:
        document = json.loads(text, object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        raise MalformedPolicyError(_SYNTAX) from error
    if not isinstance(document, dict):
        raise MalformedPolicyError(_SYNTAX)
    return document


def characters_without_space(text: str) -> int:
    """Return the size of a document as IAM counts it."""
    return sum(1 for character in text if not character.isspace())


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise MalformedPolicyError(_SYNTAX)
    return members


def _statement(entry: object, kind: Kind, has_variables: bool) -> Statement:
    if not isinstance(entry, dict) or not entry.keys() <= _STATEMENT_MEMBERS:
        raise MalformedPolicyError(_SYNTAX)
    effect = entry.get("Effect")
    if effect not in ("Allow", "Deny"):
        raise MalformedPolicyError(
            "Missing required field Effect" if effect is None else f"Invalid effect: {effect}"
        )
    is_deny = effect == "Deny"
    for name in ("Action", "Resource", "Principal"):
        if name in entry and f"Not{name}" in entry:
            raise MalformedPolicyError(_SYNTAX)
    principal, is_principal_negated = _principal(entry, kind, is_deny=is_deny)
    return Statement(
        _sid(entry, kind),
        is_deny=is_deny,
        actions=_actions(entry),
        resources=_resources(entry, kind, has_variables),
        tests=_tests(entry.get("Condition", {}), is_deny=is_deny, has_variables=has_variables),
        principal=principal,
        is_principal_negated=is_principal_negated,
    )


def _sid(entry: dict[str, Any], kind: Kind) -> str:
    sid = entry.get("Sid", "")
    if not isinstance(sid, str):
        raise MalformedPolicyError(_SYNTAX)
    # Resource policies take spaces and dashes as well.
    if not (_FREE_SID if kind is Kind.RESOURCE else _SID).fullmatch(sid):
        raise MalformedPolicyError(
            "Statement IDs (SID) must be alpha-numeric. Check that your input satisfies the "
            "regular expression [0-9A-Za-z]*"
        )
    return sid


def _texts(value: object) -> list[str]:
    """Return the texts of a member that may be a single text or a list."""
    texts = []
    for text in value if isinstance(value, list) else [value]:
        if not isinstance(text, str):
            raise MalformedPolicyError(_SYNTAX)
        texts.append(text)
    return texts


def _actions(entry: dict[str, Any]) -> Elements:
    is_negated = "NotAction" in entry
    texts = _texts(entry.get("NotAction", entry.get("Action", [])))
    if not texts:
        raise MalformedPolicyError("Policy statement must contain actions.")
    for text in texts:
        vendor, colon, _ = text.partition(":")
        if text in ("*", "*:*"):
            continue
        if not colon:
            raise MalformedPolicyError(
                "Actions/Conditions must be prefaced by a vendor, e.g., iam, sdb, ec2, etc."
            )
        if text.count(":") > 1:
            raise MalformedPolicyError("Actions/Condition can contain only one colon.")
        if not _VENDOR.fullmatch(vendor.lower()):
            raise MalformedPolicyError(f"Vendor {vendor} is not valid")
    return Elements([Pattern(text, Syntax.ACTION) for text in texts], is_negated=is_negated)


def _resources(entry: dict[str, Any], kind: Kind, has_variables: bool) -> Elements:
    is_negated = "NotResource" in entry
    if kind is Kind.TRUST:
        for name in ("Resource", "NotResource"):
            if name in entry:
                raise MalformedPolicyError(f"Has prohibited field {name}")
        return Elements([Pattern("*", Syntax.TEXT)], is_negated=False)
    texts = _texts(entry.get("NotResource", entry.get("Resource", [])))
    if not texts:
        raise MalformedPolicyError("Policy statement must contain resources.")
    for text in texts:
        if text != "*" and not text.startswith("arn:") and not text.startswith("*"):
            raise MalformedPolicyError(f'Resource {text} must be in ARN format or "*".')
        if text.startswith("arn:") and "*" not in text and text.count(":") < 5:
            raise MalformedPolicyError(f'Resource {text} must be in ARN format or "*".')
    return Elements(
        [Pattern(text, Syntax.ARN, has_variables=has_variables) for text in texts],
        is_negated=is_negated,
    )


def _principal(
    entry: dict[str, Any], kind: Kind, *, is_deny: bool
) -> tuple[PrincipalElement | None, bool]:
    is_negated = "NotPrincipal" in entry
    value = entry.get("NotPrincipal", entry.get("Principal"))
    if not kind.names_principals:
        if value is not None or is_negated:
            raise MalformedPolicyError("Policy document should not specify a principal.")
        return None, False
    if value is None:
        raise MalformedPolicyError("Missing required field Principal")
    if is_negated and (not is_deny or kind is Kind.TRUST):
        raise MalformedPolicyError("Has prohibited field NotPrincipal")
    return _principal_element(value), is_negated


def _principal_element(value: object) -> PrincipalElement:
    if value == "*":
        return PrincipalElement(frozenset(), frozenset(), is_everybody=True)
    if not isinstance(value, dict) or not value or not value.keys() <= _PRINCIPAL_KINDS:
        raise MalformedPolicyError("Invalid principal in policy")
    names = _texts(value.get("AWS", []))
    arns = set()
    for name in names:
        if _ACCOUNT.fullmatch(name):
            arns.add(root_arn(name))
        elif re.fullmatch(r"arn:aws:(iam|sts)::[0-9]{12}:[!-~]+", name) and "*" not in name:
            arns.add(name)
        elif name != "*":
            raise MalformedPolicyError(f'Invalid principal in policy: "AWS":"{name}"')
    services = frozenset(_texts(value.get("Service", [])))
    return PrincipalElement(frozenset(arns), services, is_everybody="*" in names)


def _tests(block: object, *, is_deny: bool, has_variables: bool) -> list[Test]:
    if not isinstance(block, dict):
        raise MalformedPolicyError(_SYNTAX)
    tests = []
    for operator, keys in block.items():
        name = read_operator(operator)
        if name is None:
            raise MalformedPolicyError(f"Invalid Condition type : {operator}.")
        if not isinstance(keys, dict):
            raise MalformedPolicyError(_SYNTAX)
        for key, values in keys.items():
            if ":" not in key:
                raise MalformedPolicyError(
                    "Actions/Conditions must be prefaced by a vendor, e.g., iam, sdb, ec2, etc."
                )
            texts = _scalars(values)
            tests.append(Test(key, name, texts, is_deny=is_deny, has_variables=has_variables))
    return tests


def _scalars(values: object) -> list[str]:
    """Return condition values as texts; JSON's numbers and booleans may stand for theirs."""
    texts = []
    for value in values if isinstance(values, list) else [values]:
        if isinstance(value, bool):
            texts.append("true" if value else "false")
        elif isinstance(value, str | int | float):
            texts.append(str(value))
        else:
            raise MalformedPolicyError(_SYNTAX)
    return texts
