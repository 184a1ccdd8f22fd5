"""Equality and order of attribute values; the values must be canonical."""

from __future__ import annotations

from binascii import a2b_base64
from typing import Final

from hashrange.model import numbers
from hashrange.model.values import Value

_SETS: Final = frozenset(("SS", "NS", "BS"))


def equal(left: Value, right: Value) -> bool:
    """Say whether two values have the same type and content; sets have no order."""
    # Canonical values of scalar types are equal exactly when their wire forms are.
    if left == right:
        return True
    ((kind, content),) = left.items()
    if kind not in right:
        return False
    other = right[kind]
    if kind in _SETS:
        return len(content) == len(other) and set(content) == set(other)
    if kind == "L":
        return len(content) == len(other) and all(map(equal, content, other))
    if kind == "M":
        return content.keys() == other.keys() and all(
            equal(value, other[name]) for name, value in content.items()
        )
    return False


def compare(left: Value, right: Value) -> int:
    """Return -1, 0 or 1 for two values of one type out of S, N and B."""
    ((kind, content),) = left.items()
    other = right[kind]
    if content == other:
        return 0
    if kind == "N":
        return numbers.compare(content, other)
    if kind == "B":
        return -1 if a2b_base64(content) < a2b_base64(other) else 1
    # The order of code points is the order of their UTF-8 bytes.
    return -1 if content < other else 1
