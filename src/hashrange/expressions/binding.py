"""Binding: resolves names to document paths, and collects the checks that need values.

The tree of an expression is bound once for its text and its names. AWS checks names and values in
one walk, in the order of the text. Checks that depend on values are therefore kept as a list in
that order, and every request runs the list on its own values. If the walk ends early with an
error, that error is the last check of the list.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NoReturn, Protocol, final

from hashrange.errors import ValidationException
from hashrange.expressions.nodes import Element, Operand, Path, PathNode, ValueNode
from hashrange.expressions.parser import invalid
from hashrange.expressions.paths import PathSet, print_path
from hashrange.model.comparison import compare
from hashrange.model.values import Value

NamePairs = tuple[tuple[str, str], ...]
"""Names by placeholder, in the form expressions are kept under."""

Values = Mapping[str, Value]

PREPARED_MAX: Final = 2048
"""How many expressions of one sort are kept, bound to their names."""

# A prepared expression takes about twenty bytes for each character.
_KEPT_CHARACTERS_MAX: Final = 1024

_ATTRIBUTE_TYPES = frozenset(("B", "NULL", "SS", "BOOL", "L", "BS", "N", "NS", "S", "M"))
_ATTRIBUTE_TYPES_PRINTED = "{B,NULL,SS,BOOL,L,BS,N,NS,S,M}"


def may_keep(text: str, names: NamePairs) -> bool:
    """Say whether an expression and its names are short enough to be kept."""
    characters = len(text)
    for placeholder, name in names:
        characters += len(placeholder) + len(name)
    return characters <= _KEPT_CHARACTERS_MAX


class Check(Protocol):
    """A check on the values of a request."""

    def run(self, values: Values) -> None:
        """Raise ValidationException if the check fails."""


@final
class ValueDefined:
    """The request defines this value."""

    __slots__ = ("_kind", "_name")

    def __init__(self, kind: str, name: str) -> None:
        self._kind = kind
        self._name = name

    def run(self, values: Values) -> None:
        if self._name not in values:
            raise invalid(
                self._kind,
                "An expression attribute value used in expression is not defined; "
                f"attribute value: {self._name}",
            )


@final
class OperandType:
    """A value has one of the types its operator takes."""

    __slots__ = ("_kind", "_name", "_operator", "_types")

    def __init__(self, kind: str, operator: str, name: str, types: frozenset[str]) -> None:
        self._kind = kind
        self._operator = operator
        self._name = name
        self._types = types

    def run(self, values: Values) -> None:
        (found,) = values[self._name]
        if found not in self._types:
            raise incorrect_operand_type(self._kind, self._operator, found)


@final
class BetweenBounds:
    """The bounds of BETWEEN have one type and are in order."""

    __slots__ = ("_kind", "_lower", "_upper")

    def __init__(self, kind: str, lower: str, upper: str) -> None:
        self._kind = kind
        self._lower = lower
        self._upper = upper

    def run(self, values: Values) -> None:
        lower, upper = values[self._lower], values[self._upper]
        if lower.keys() != upper.keys():
            requirement = "same data type for lower and upper bounds"
        elif compare(lower, upper) > 0:
            requirement = "upper bound to be greater than or equal to lower bound"
        else:
            return
        raise invalid(
            self._kind,
            f"The BETWEEN operator requires {requirement}; "
            f"lower bound operand: {_print_value(lower)}, "
            f"upper bound operand: {_print_value(upper)}",
        )


@final
class TypeName:
    """A value is the name of an attribute type."""

    __slots__ = ("_kind", "_name")

    def __init__(self, kind: str, name: str) -> None:
        self._kind = kind
        self._name = name

    def run(self, values: Values) -> None:
        name = values[self._name]["S"]
        if name not in _ATTRIBUTE_TYPES:
            raise invalid(
                self._kind,
                f"Invalid attribute type name found; type: {name}, "
                f"valid types: {_ATTRIBUTE_TYPES_PRINTED}",
            )


@final
class Refused:
    """Always fails: the expression is wrong whatever its values are."""

    __slots__ = ("_message",)

    def __init__(self, message: str) -> None:
        self._message = message

    def run(self, values: Values) -> None:
        raise ValidationException(self._message)


@final
class Binder:
    """Collects the names, values and checks of one expression while it is bound."""

    __slots__ = ("attributes", "checks", "kind", "names", "nested", "used_names", "used_values")

    def __init__(self, kind: str, names: NamePairs) -> None:
        self.kind = kind
        self.names = dict(names)
        self.used_names: set[str] = set()
        self.used_values: set[str] = set()
        self.checks: list[Check] = []
        self.attributes: set[str] = set()
        self.nested: set[str] = set()

    def refuse(self, reason: str) -> NoReturn:
        raise invalid(self.kind, reason)

    def path(self, node: PathNode) -> Path:
        """Resolve the names of a path."""
        first = self._name(node.elements[0])
        rest: list[Element] = [
            element if isinstance(element, int) else self._name(element)
            for element in node.elements[1:]
        ]
        self.attributes.add(first)
        if rest:
            self.nested.add(first)
        return (first, *rest)

    def distinct_paths(self, nodes: Sequence[PathNode]) -> list[Path]:
        """Resolve paths that must not overlap. AWS starts with the last, and so do we."""
        seen = PathSet(self.kind)
        paths: list[Path] = []
        for node in reversed(nodes):
            path = self.path(node)
            seen.add(path)
            paths.append(path)
        paths.reverse()
        return paths

    def _name(self, element: str) -> str:
        if element[0] != "#" and element[0] != ":":
            return element
        name = self.names.get(element) if element[0] == "#" else None
        if name is None:
            self.refuse(
                "An expression attribute name used in the document path is not defined; "
                f"attribute name: {element}"
            )
        self.used_names.add(element)
        return name

    def value(self, node: ValueNode) -> str:
        """Note the use of a value; return its name."""
        if node.name not in self.used_values:
            self.used_values.add(node.name)
            self.checks.append(ValueDefined(self.kind, node.name))
        return node.name

    def check_count(self, operator: str, operands: Sequence[object], count: int) -> None:
        """Check the number of operands of a function."""
        if len(operands) != count:
            self.refuse(
                "Incorrect number of operands for operator or function; "
                f"operator or function: {operator}, number of operands: {len(operands)}"
            )

    def check_type(self, operator: str, node: Operand, types: frozenset[str]) -> None:
        """Check the type of an operand if it is known; the type of a path never is."""
        if isinstance(node, ValueNode):
            self.checks.append(OperandType(self.kind, operator, node.name, types))
        elif not isinstance(node, PathNode) and "N" not in types:
            # The only function whose result has a known type is size.
            raise incorrect_operand_type(self.kind, operator, "N")

    def check_document_path(self, operator: str, node: Operand) -> PathNode:
        """Check that an operand is a document path."""
        if not isinstance(node, PathNode):
            self.refuse(
                f"Operator or function requires a document path; operator or function: {operator}"
            )
        return node

    def check_distinct(self, operator: str, paths: Sequence[Path | None]) -> None:
        """Check that the first operand is not repeated; None is an operand without a path."""
        first = paths[0]
        if first is not None and first in paths[1:]:
            self.refuse(
                "The first operand must be distinct from the remaining operands for this "
                f"operator or function; operator: {operator}, first operand: {print_path(first)}"
            )


def incorrect_operand_type(kind: str, operator: str, found: str) -> ValidationException:
    return invalid(
        kind,
        "Incorrect operand type for operator or function; "
        f"operator or function: {operator}, operand type: {found}",
    )


def _print_value(value: Value) -> str:
    ((kind, content),) = value.items()
    return f"AttributeValue: {{{kind}:{content}}}"


def run_checks(checks: tuple[Check, ...], values: Values) -> None:
    """Run checks on the values of a request, in their order."""
    for check in checks:
        check.run(values)
