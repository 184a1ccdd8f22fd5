"""Event filter patterns, which select the stream records that a trigger is called for. Pure.

A pattern has the structure of the records it matches. Its leaves are lists of alternatives, each a
value or a comparison:

pattern      := { name: pattern | leaf, ..., "$or": [ pattern, ... ] }
leaf         := [ alternative, ... ]
alternative  := text | number | true | false | null
              | {"prefix": P} | {"suffix": P} | {"equals-ignore-case": text}
              | {"anything-but": value or list of values | {"prefix" ...} | {"suffix" ...} | ...}
              | {"numeric": [ operator, number, ... ]} | {"exists": true | false}
P            := text | {"equals-ignore-case": text}

All names must match, and of a leaf one alternative. A list in a record matches if one of its
elements does. An absent member matches only `{"exists": false}`. A leaf of a pattern treats an
object as absent. Numbers of items are texts in a record (`{"N": "5"}`), so
`numeric` matches none of them, as on AWS.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol, final

import orjson

PATTERN_CHARACTERS_MAX: Final = 4096
_DEPTH_MAX: Final = 64
_ALTERNATIVES_MAX: Final = 1000
_ABSENT: Final = object()

Leaf = Callable[[Any], bool]
"""Tells whether a single value, never an object or a list, is one that is looked for."""


class PatternError(Exception):
    """The pattern is not valid; the message says why."""


class Pattern(Protocol):
    """Something that matches records."""

    def matches(self, value: object) -> bool:
        """Tell whether a record, or a part of it, matches."""


def parse_pattern(text: str) -> Pattern:
    """Parse a pattern from JSON text."""
    if len(text) > PATTERN_CHARACTERS_MAX:
        raise PatternError(f"a pattern has at most {PATTERN_CHARACTERS_MAX} characters")
    try:
        document = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise PatternError(f"the pattern is not JSON: {error}") from error
    return _parse_object(document, 1)


def matches_any(patterns: Sequence[Pattern], record: object) -> bool:
    """Tell whether a record passes the filter; without patterns every record does."""
    return not patterns or any(pattern.matches(record) for pattern in patterns)


@final
class _All:
    """Members that must all match, and alternatives of which one must match."""

    __slots__ = ("_alternatives", "_members")

    def __init__(
        self, members: list[tuple[str, Pattern]], alternatives: list[Pattern] | None
    ) -> None:
        self._members = members
        self._alternatives = alternatives

    def matches(self, value: object) -> bool:
        if isinstance(value, list):
            # The elements of a list are looked at as if each stood there alone.
            return any(self.matches(element) for element in value) if value else self._matches({})
        return self._matches(value if isinstance(value, dict) else {})

    def _matches(self, value: dict[str, Any]) -> bool:
        for name, member in self._members:
            if not member.matches(value.get(name, _ABSENT)):
                return False
        if self._alternatives is None:
            return True
        return any(alternative.matches(value) for alternative in self._alternatives)


@final
class _Leaf:
    """Values and comparisons of which one must match."""

    __slots__ = ("_accepts_absent", "_accepts_present", "_comparisons", "_values")

    def __init__(self) -> None:
        self._values: set[tuple[type, Any]] = set()
        self._comparisons: list[Leaf] = []
        self._accepts_absent = False
        self._accepts_present = False

    def add(self, alternative: object) -> None:
        """Take one more alternative."""
        if not isinstance(alternative, dict):
            self._values.add(_typed(alternative))
            return
        operator, operand = _single(alternative)
        if operator == "exists":
            if operand is True:
                self._accepts_present = True
            elif operand is False:
                self._accepts_absent = True
            else:
                raise PatternError("exists is true or false")
        else:
            self._comparisons.append(_comparison(operator, operand))

    def matches(self, value: object) -> bool:
        if type(value) is list:
            present = [element for element in value if type(element) not in (dict, list)]
            if not present:
                return self._accepts_absent
            return any(self._matches_single(element) for element in present)
        if value is _ABSENT or type(value) is dict:
            return self._accepts_absent
        return self._matches_single(value)

    def _matches_single(self, value: object) -> bool:
        if self._accepts_present or _typed(value) in self._values:
            return True
        return any(comparison(value) for comparison in self._comparisons)


def _parse_object(document: object, depth: int) -> Pattern:
    if not isinstance(document, dict) or not document:
        raise PatternError("a pattern is an object with at least one name")
    if depth > _DEPTH_MAX:
        raise PatternError(f"a pattern has at most {_DEPTH_MAX} levels")
    members: list[tuple[str, Pattern]] = []
    alternatives: list[Pattern] | None = None
    for name, part in document.items():
        if name == "$or":
            if not isinstance(part, list) or not part:
                raise PatternError("$or is a list of patterns")
            alternatives = [_parse_object(member, depth + 1) for member in part]
        elif isinstance(part, list):
            members.append((name, _parse_leaf(part)))
        else:
            members.append((name, _parse_object(part, depth + 1)))
    return _All(members, alternatives)


def _parse_leaf(alternatives: list[Any]) -> Pattern:
    if not 1 <= len(alternatives) <= _ALTERNATIVES_MAX:
        raise PatternError("a list of values is not empty")
    leaf = _Leaf()
    for alternative in alternatives:
        if isinstance(alternative, list):
            raise PatternError("a list of values holds no lists")
        leaf.add(alternative)
    return leaf


def _single(alternative: dict[str, Any]) -> tuple[str, Any]:
    if len(alternative) != 1:
        raise PatternError("a comparison has one operator")
    return next(iter(alternative.items()))


def _typed(value: object) -> tuple[type, Any]:
    """Return a value together with its kind, because to Python 1, 1.0 and true are equal."""
    if type(value) is int or type(value) is float:
        return (float, value)
    return (type(value), value)


def _comparison(operator: str, operand: Any) -> Leaf:
    if operator == "anything-but":
        return _anything_but(operand)
    if operator == "numeric":
        return _numeric(operand)
    if operator in _TEXTUAL:
        return _TEXTUAL[operator](operand)
    raise PatternError(f"{operator} is not an operator")


def _text(operand: object) -> str:
    if not isinstance(operand, str):
        raise PatternError("the operand is not a text")
    return operand


def _prefix(operand: object) -> Leaf:
    if isinstance(operand, dict):
        folded = _ignored_case(operand)
        return lambda value: isinstance(value, str) and value.lower().startswith(folded)
    beginning = _text(operand)
    return lambda value: isinstance(value, str) and value.startswith(beginning)


def _suffix(operand: object) -> Leaf:
    if isinstance(operand, dict):
        folded = _ignored_case(operand)
        return lambda value: isinstance(value, str) and value.lower().endswith(folded)
    end = _text(operand)
    return lambda value: isinstance(value, str) and value.endswith(end)


def _ignored_case(operand: dict[str, Any]) -> str:
    operator, text = _single(operand)
    if operator != "equals-ignore-case":
        raise PatternError(f"{operator} does not stand inside another operator")
    return _text(text).lower()


def _equals_ignore_case(operand: object) -> Leaf:
    folded = _text(operand).lower()
    return lambda value: isinstance(value, str) and value.lower() == folded


_TEXTUAL: Final[dict[str, Callable[[object], Leaf]]] = {
    "prefix": _prefix,
    "suffix": _suffix,
    "equals-ignore-case": _equals_ignore_case,
}


def _anything_but(operand: object) -> Leaf:
    if isinstance(operand, dict):
        operator, inner = _single(operand)
        if operator not in _TEXTUAL:
            raise PatternError(f"{operator} does not stand inside anything-but")
        texts = inner if isinstance(inner, list) else [inner]
        unwanted = [_TEXTUAL[operator](text) for text in texts]
        if not unwanted:
            raise PatternError("anything-but names at least one value")
        return lambda value: not any(is_unwanted(value) for is_unwanted in unwanted)
    values = operand if isinstance(operand, list) else [operand]
    kinds = {_typed(value)[0] for value in values}
    if len(kinds) != 1 or not kinds <= {str, float}:
        raise PatternError("anything-but names texts or numbers, at least one")
    refused = {_typed(value) for value in values}
    return lambda value: _typed(value) not in refused


_COMPARATORS: Final[dict[str, Callable[[float, float], bool]]] = {
    "=": lambda value, bound: value == bound,
    "<": lambda value, bound: value < bound,
    "<=": lambda value, bound: value <= bound,
    ">": lambda value, bound: value > bound,
    ">=": lambda value, bound: value >= bound,
}


def _numeric(operand: object) -> Leaf:
    if not isinstance(operand, list) or len(operand) not in (2, 4):
        raise PatternError("numeric takes one or two operators, each with a number")
    bounds = []
    for position in range(0, len(operand), 2):
        operator, bound = operand[position], operand[position + 1]
        is_known = isinstance(operator, str) and operator in _COMPARATORS
        if not is_known or type(bound) not in (int, float):
            raise PatternError("numeric takes the operators = < <= > >= and numbers")
        bounds.append((operator, bound))
    if len(bounds) == 2:
        (first, low), (second, high) = bounds
        if first not in (">", ">=") or second not in ("<", "<=") or low >= high:
            raise PatternError("a numeric range has a lower bound and then an upper one")
    tests = [(_COMPARATORS[operator], bound) for operator, bound in bounds]

    def is_inside(value: Any) -> bool:
        if type(value) is not int and type(value) is not float:
            return False
        return all(test(value, bound) for test, bound in tests)

    return is_inside
