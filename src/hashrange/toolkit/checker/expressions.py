"""Reads what rules need from expressions as text: which attributes are compared, and how."""

from __future__ import annotations

import re
from typing import Final

_COMPARISON: Final = re.compile(r"#?([A-Za-z_][\w.-]*)\s*(<>|<=|>=|=|<|>)\s*:\w+")
_BETWEEN: Final = re.compile(r"#?([A-Za-z_][\w.-]*)\s+BETWEEN\b", re.IGNORECASE)
_PREFIX: Final = re.compile(r"begins_with\s*\(\s*#?([A-Za-z_][\w.-]*)", re.IGNORECASE)
_SUBTRACTION: Final = re.compile(r"#?([A-Za-z_][\w-]*)\s*=\s*#?\1\s*-\s*:\w+")
_NAME: Final = re.compile(r"(?<![:\w])#?([A-Za-z_]\w*)")
_WORDS: Final = frozenset(
    {
        "and", "or", "not", "between", "in", "set", "add", "remove", "delete", "size", "contains",
        "attribute_exists", "attribute_not_exists", "attribute_type", "begins_with",
        "if_not_exists", "list_append",
    }
)  # fmt: skip


def equalities_of(expression: str) -> tuple[str, ...]:
    """Return the attributes an expression compares with a parameter for equality."""
    found = (name for name, sign in _COMPARISON.findall(expression) if sign == "=")
    return tuple(dict.fromkeys(found))


def ranges_of(expression: str) -> tuple[str, ...]:
    """Return the attributes an expression restricts to a range or a prefix."""
    found = [name for name, sign in _COMPARISON.findall(expression) if sign not in ("=", "<>")]
    found += _BETWEEN.findall(expression)
    found += _PREFIX.findall(expression)
    return tuple(dict.fromkeys(found))


def names_in(expression: str) -> tuple[str, ...]:
    """Return the attribute names in an expression."""
    found = (name for name in _NAME.findall(expression) if name.lower() not in _WORDS)
    return tuple(dict.fromkeys(found))


def subtracted_by(update: str) -> tuple[str, ...]:
    """Return the attributes an update makes smaller by a parameter: `stock = stock - :n`."""
    return tuple(dict.fromkeys(_SUBTRACTION.findall(update)))
