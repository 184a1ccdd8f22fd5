"""A second evaluator of policies: slow, plain, and independent of the server's.

It works on JSON documents as they are and shares no code with `hashrange.policies`. Each function
is one rule of AWS's documentation.
"""

from __future__ import annotations

import base64
import datetime
import ipaddress
import re
from decimal import Decimal
from typing import Any

MISSING = object()
NEGATED = {
    "StringNotEquals": "StringEquals",
    "StringNotEqualsIgnoreCase": "StringEqualsIgnoreCase",
    "StringNotLike": "StringLike",
    "NumericNotEquals": "NumericEquals",
    "DateNotEquals": "DateEquals",
    "NotIpAddress": "IpAddress",
    "ArnNotEquals": "ArnLike",
    "ArnNotLike": "ArnLike",
}


def glob(pattern, text):
    """Match a list of (character, is_literal) against a text, by dynamic programming."""
    reachable = {0}
    for character, is_literal in pattern:
        if character == "*" and not is_literal:
            reachable = set(range(min(reachable), len(text) + 1)) if reachable else set()
        elif character == "?" and not is_literal:
            reachable = {at + 1 for at in reachable if at < len(text)}
        else:
            reachable = {at + 1 for at in reachable if at < len(text) and text[at] == character}
    return len(text) in reachable


def expand(text, context, has_variables):
    """Return (character, is_literal) pairs with variables filled in, MISSING without a value."""
    if not has_variables:
        return [(character, False) for character in text]
    pairs = []
    while text:
        found = re.match(r"\$\{([^{}]*)\}", text)
        if not found:
            pairs.append((text[0], False))
            text = text[1:]
            continue
        text = text[found.end() :]
        name = found.group(1).strip()
        if name in ("*", "?", "$"):
            pairs.append((name, True))
            continue
        name, comma, default = name.partition(",")
        value = context.get(name.strip().lower())
        if not isinstance(value, str):
            if not comma:
                return MISSING
            value = default.strip().strip("'")
        pairs.extend((character, True) for character in value)
    return pairs


def split_arn(pairs):
    """Split pairs at the first five colons."""
    parts: list[Any] = [[]]
    for pair in pairs:
        if pair[0] == ":" and len(parts) < 6:
            parts.append([])
        else:
            parts[-1].append(pair)
    return parts


def arn_like(pairs, text):
    parts = split_arn(pairs)
    texts = text.split(":", 5)
    if len(parts) < 6:
        return glob(pairs, text)
    return len(texts) == 6 and all(
        glob(part, piece) for part, piece in zip(parts, texts, strict=True)
    )


def listed(value):
    return value if isinstance(value, list) else [value]


def covers(statement, member, text, context, has_variables):
    is_negated = f"Not{member}" in statement
    patterns = listed(statement[f"Not{member}" if is_negated else member])
    hit = False
    for pattern in patterns:
        if member == "Action":
            hit |= glob([(c, False) for c in pattern.lower()], text.lower())
            continue
        pairs = expand(pattern, context, has_variables)
        if pairs is MISSING:
            if is_negated and statement["Effect"] == "Allow":
                return False
            continue
        hit |= arn_like(pairs, text)
    return hit != is_negated


def moment(text):
    if re.fullmatch(r"-?\d{1,15}(\.\d+)?", text):
        return float(text)
    parsed = datetime.datetime.fromisoformat(text)
    if parsed.tzinfo is None:
        parsed = parsed.replace(tzinfo=datetime.UTC)
    return parsed.timestamp()


def compare(suffix, left, right):
    return {
        "Equals": left == right,
        "LessThan": left < right,
        "LessThanEquals": left <= right,
        "GreaterThan": left > right,
        "GreaterThanEquals": left >= right,
    }[suffix]


def one_matches(operator, actual, expected, context, has_variables):
    """Hold one value of a request against one of a policy; MISSING if a variable has no value."""
    if operator.startswith(("String", "Arn")):
        pairs = expand(expected, context, has_variables)
        if operator.startswith("Arn") and (
            not actual.startswith("arn:") or len(actual.split(":")) < 6
        ):
            return False
        if pairs is MISSING:
            return MISSING
        plain = "".join(character for character, _ in pairs)
        if operator == "StringEquals":
            return plain == actual
        if operator == "StringEqualsIgnoreCase":
            return plain.lower() == actual.lower()
        return glob(pairs, actual) if operator == "StringLike" else arn_like(pairs, actual)
    try:
        if operator.startswith("Numeric"):
            return compare(operator[7:], Decimal(actual), Decimal(expected))
        if operator.startswith("Date"):
            return compare(operator[4:], moment(actual), moment(expected))
        if operator == "IpAddress":
            return ipaddress.ip_address(actual) in ipaddress.ip_network(expected, strict=False)
        if operator == "BinaryEquals":
            return base64.b64decode(actual, validate=True) == base64.b64decode(
                expected, validate=True
            )
    except (ValueError, ArithmeticError):
        return False
    assert operator == "Bool"
    return expected.lower() in ("true", "false") and actual.lower() == expected.lower()


def value_holds(operator, actual, values, statement, context, has_variables):
    is_negated = operator in NEGATED
    base = NEGATED.get(operator, operator)
    outcomes = [one_matches(base, actual, value, context, has_variables) for value in values]
    if not is_negated:
        return any(outcome is True for outcome in outcomes)
    if any(outcome is True for outcome in outcomes):
        return False
    return statement["Effect"] == "Deny" or all(outcome is not MISSING for outcome in outcomes)


def test_holds(name, key, values, statement, context, has_variables):
    prefix, _, operator = name.rpartition(":")
    actual = context.get(key.lower())
    if actual == []:
        actual = None
    if operator == "Null":
        return ("true" if actual is None else "false") in [value.lower() for value in values]
    if_exists = operator.endswith("IfExists")
    operator = operator.removesuffix("IfExists")
    if actual is None:
        if prefix == "ForAnyValue":
            return if_exists
        return if_exists or prefix == "ForAllValues" or operator in NEGATED

    def holds(value):
        return value_holds(operator, value, values, statement, context, has_variables)

    if isinstance(actual, str):
        return holds(actual)
    if prefix == "ForAllValues":
        return all(map(holds, actual))
    if prefix == "ForAnyValue":
        return any(map(holds, actual))
    if operator not in NEGATED:
        return False
    return any(map(holds, actual)) if statement["Effect"] == "Deny" else all(map(holds, actual))


def naming(statement, caller):
    """Return 3 for a direct mention, 2 for the role, 1 for the account, 0 for none."""
    is_negated = "NotPrincipal" in statement
    value = statement.get("NotPrincipal", statement.get("Principal"))
    names = ["*"] if value == "*" else listed(value["AWS"])
    root = f"arn:aws:iam::{caller['account']}:root"
    direct = "*" in names or caller["arn"] in names
    direct = direct or (caller["arn"] == root and caller["account"] in names)
    issuer = bool(caller["issuer"]) and caller["issuer"] in names
    if is_negated:
        return 0 if direct or issuer else 3
    if direct:
        return 3
    if issuer:
        return 2
    return 1 if root in names or caller["account"] in names else 0


def applies(statement, action, resource, context, has_variables):
    return (
        covers(statement, "Action", action, context, has_variables)
        and covers(statement, "Resource", resource, context, has_variables)
        and all(
            test_holds(name, key, listed(values), statement, context, has_variables)
            for name, keys in statement.get("Condition", {}).items()
            for key, values in keys.items()
        )
    )


def applying(documents, effect, action, resource, context):
    """Return the statements of an effect that apply to a request."""
    return [
        statement
        for document in documents
        for statement in listed(document["Statement"])
        if statement["Effect"] == effect
        and applies(statement, action, resource, context, document.get("Version") == "2012-10-17")
    ]


def decide(caller, policies, action, resource, context, resource_account):
    """Return "allow", or ("explicit" | "implicit", kind of policy).

    `policies` has lists of documents: identity, and boundary, session, resource or None.
    """
    request = (action, resource, context)
    own = [kind for kind in ("identity", "boundary", "session") if policies[kind] is not None]
    of_resource = policies["resource"] or []
    for kind in own:
        if applying(policies[kind], "Deny", *request):
            return ("explicit", kind)
    if any(naming(statement, caller) for statement in applying(of_resource, "Deny", *request)):
        return ("explicit", "resource")
    allowed = {kind: bool(applying(policies[kind], "Allow", *request)) for kind in own}
    granted = max(
        (naming(statement, caller) for statement in applying(of_resource, "Allow", *request)),
        default=0,
    )
    is_foreign = resource_account != caller["account"]
    if not is_foreign and granted == 3:
        return "allow"
    if not is_foreign and granted == 2:
        allowed["identity"] = True
    for kind in own:
        if not allowed[kind]:
            return ("implicit", kind)
    return ("implicit", "resource") if is_foreign and not granted else "allow"
