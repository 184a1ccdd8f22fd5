"""Filter policies of subscriptions: which messages a subscriber wants.

A policy maps names to lists of rules; a message matches if every name has a value that one of its
rules accepts. Rules: a value, {"prefix"}, {"suffix"}, {"anything-but"}, {"exists"}, {"numeric"}.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Callable
from typing import Any, Final

_NUMERIC: Final[dict[str, Callable[[float, float], bool]]] = {
    "=": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_RULES: Final = ("prefix", "suffix", "anything-but", "exists", "numeric", "equals-ignore-case")


class FilterError(Exception):
    """A filter policy cannot be used; the message says why."""


def check_policy(text: str) -> None:
    """Refuse a policy that is not understood."""
    try:
        policy = json.loads(text)
    except ValueError as error:
        raise FilterError("failed to parse JSON") from error
    if not isinstance(policy, dict):
        raise FilterError("Filter policy must be an object")
    _check(policy)


def _check(policy: dict[str, Any]) -> None:
    for rules in policy.values():
        if isinstance(rules, dict):
            _check(rules)
            continue
        if not isinstance(rules, list) or not rules:
            raise FilterError("Filter policy values must be lists that are not empty")
        for rule in rules:
            if isinstance(rule, dict) and (len(rule) != 1 or next(iter(rule)) not in _RULES):
                raise FilterError(f"Unrecognized match type {', '.join(rule)}")


def matches(
    policy: dict[str, Any], scope: str, text: str, attributes: dict[str, dict[str, Any]]
) -> bool:
    """Tell whether a message matches a policy, by its attributes or by its body."""
    if scope == "MessageBody":
        try:
            body = json.loads(text)
        except ValueError:
            return False
        return isinstance(body, dict) and _matches(policy, body)
    values = {name: _attribute(value) for name, value in attributes.items()}
    return _matches(policy, values)


def _attribute(value: dict[str, Any]) -> Any:
    text = value.get("StringValue", "")
    if value["DataType"] == "Number":
        return float(text)
    return json.loads(text) if value["DataType"] == "String.Array" else text


def _matches(policy: dict[str, Any], values: dict[str, Any]) -> bool:
    for name, rules in policy.items():
        value = values.get(name)
        if isinstance(rules, dict):
            if not isinstance(value, dict) or not _matches(rules, value):
                return False
            continue
        members = value if isinstance(value, list) else [value]
        if not any(_accepts(rule, member, name in values) for rule in rules for member in members):
            return False
    return True


def _accepts(rule: Any, value: Any, is_present: bool) -> bool:
    if not isinstance(rule, dict):
        return is_present and bool(rule == value)
    ((kind, operand),) = rule.items()
    if kind == "exists":
        return bool(is_present is operand)
    if not is_present:
        return False
    if kind == "anything-but":
        return value not in (operand if isinstance(operand, list) else [operand])
    if kind == "numeric":
        pairs = zip(operand[::2], operand[1::2], strict=False)
        is_number = isinstance(value, (int, float))
        return is_number and all(_NUMERIC[sign](value, bound) for sign, bound in pairs)
    if not isinstance(value, str):
        return False
    if kind == "equals-ignore-case":
        return value.lower() == str(operand).lower()
    return value.startswith(operand) if kind == "prefix" else value.endswith(operand)
