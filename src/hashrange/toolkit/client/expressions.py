"""Builds the expressions of a request: every attribute name gets a placeholder, reserved or not.

Expressions are written with plain attribute names and `:parameters`:

    status = :status AND size(tags) < :most

`Expressions` collects names and values of all expressions of one request. Words that are keywords
of the language (AND, SET and so on) are never taken for attributes; an attribute called like one is
written as `#name`, which is a placeholder for exactly that name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, final

from hashrange.toolkit.design.patterns import SortCondition, parameters_of
from hashrange.toolkit.errors import DesignError
from hashrange.toolkit.values import Wire, to_wire

_TOKEN: Final = re.compile(r":\w+|#[\w-]+|[A-Za-z_]\w*|.", re.DOTALL)
_PATH: Final = re.compile(r"[^.\[\]]+|\[\d+\]|\.")
_KEYWORDS: Final = frozenset(
    {"AND", "OR", "NOT", "IN", "BETWEEN", "SET", "REMOVE", "ADD", "DELETE"}
)
_FUNCTIONS: Final = frozenset(
    {
        "attribute_exists",
        "attribute_not_exists",
        "attribute_type",
        "begins_with",
        "contains",
        "size",
        "if_not_exists",
        "list_append",
    }
)


@final
class Expressions:
    """The names and values of one request, and the texts that use them."""

    def __init__(self, values: Mapping[str, Any] | None = None, *, floats: bool = False) -> None:
        self._given = dict(values or {})
        self._floats = floats
        self._names: dict[str, str] = {}
        self._values: dict[str, Wire] = {}

    def name(self, attribute: str) -> str:
        """Return the placeholder of an attribute name."""
        for placeholder, name in self._names.items():
            if name == attribute:
                return placeholder
        placeholder = f"#n{len(self._names)}"
        self._names[placeholder] = attribute
        return placeholder

    def value(self, value: Any) -> str:
        """Return a new placeholder for a value."""
        return self.wire(to_wire(value, floats=self._floats))

    def wire(self, value: Wire) -> str:
        """Return a new placeholder for a value in API form."""
        placeholder = f":v__{len(self._values)}"
        self._values[placeholder] = value
        return placeholder

    def text(self, expression: str) -> str:
        """Return an expression with placeholders for its names; its parameters must be given."""
        for parameter in parameters_of(expression):
            if parameter not in self._given:
                raise DesignError(f"the expression {expression!r} needs a value for :{parameter}")
            value = to_wire(self._given[parameter], floats=self._floats)
            self._values[f":{parameter}"] = value
        return "".join(self._token(match.group(), match) for match in _TOKEN.finditer(expression))

    def _token(self, token: str, match: re.Match[str]) -> str:
        if token.startswith("#") and len(token) > 1:
            return self.name(token[1:])
        if not (token[0].isalpha() or token[0] == "_") or token.upper() in _KEYWORDS:
            return token
        is_call = match.string[match.end() :].lstrip().startswith("(")
        if is_call and token in _FUNCTIONS:
            return token
        return self.name(token)

    def equal(self, attributes: Mapping[str, Any]) -> str:
        """Return the condition that attributes have these values."""
        return " AND ".join(
            f"{self.name(name)} = {self.value(value)}" for name, value in attributes.items()
        )

    def key_condition(self, key: Mapping[str, Any]) -> str:
        """Return a key condition: values, or a SortCondition whose texts are taken literally."""
        return " AND ".join(
            self._comparison(name, value)
            if isinstance(value, SortCondition)
            else f"{self.name(name)} = {self.value(value)}"
            for name, value in key.items()
        )

    def _comparison(self, name: str, condition: SortCondition) -> str:
        return self.compare(name, condition.operator, *condition.templates)

    def compare(self, name: str, operator: str, *operands: Any) -> str:
        """Return a comparison of a key attribute with one operand, with two for between."""
        placeholders = [self.value(each) for each in operands]
        if operator == "begins_with":
            return f"begins_with({self.name(name)}, {placeholders[0]})"
        if operator == "between":
            return f"{self.name(name)} BETWEEN {placeholders[0]} AND {placeholders[1]}"
        return f"{self.name(name)} {operator} {placeholders[0]}"

    def path(self, path: str) -> str:
        """Return an attribute name or a document path such as `address.lines[0]`."""
        return "".join(
            piece if piece[0] in ".[" else self.name(piece) for piece in _PATH.findall(path)
        )

    def projection(self, attributes: Iterable[str]) -> str:
        """Return a projection of attributes or document paths."""
        return ", ".join(self.path(path) for path in attributes)

    def updates(
        self,
        assign: Mapping[str, Any],
        add: Mapping[str, Any],
        remove: Iterable[str],
        delete: Mapping[str, Any],
    ) -> str:
        """Return an update expression: values to set, to add, to remove, to delete from sets."""
        clauses = {
            "SET": [f"{self.path(path)} = {self.value(value)}" for path, value in assign.items()],
            "ADD": [f"{self.path(path)} {self.value(value)}" for path, value in add.items()],
            "REMOVE": [self.path(path) for path in remove],
            "DELETE": [f"{self.path(path)} {self.value(value)}" for path, value in delete.items()],
        }
        return " ".join(f"{verb} {', '.join(parts)}" for verb, parts in clauses.items() if parts)

    def parameters(self) -> dict[str, Any]:
        """Return the request parameters that define the placeholders."""
        parameters: dict[str, Any] = {}
        if self._names:
            parameters["ExpressionAttributeNames"] = self._names
        if self._values:
            parameters["ExpressionAttributeValues"] = self._values
        return parameters


def both(*conditions: str) -> str:
    """Return the conjunction of the conditions that are not empty."""
    given = [condition for condition in conditions if condition]
    return given[0] if len(given) == 1 else " AND ".join(f"({each})" for each in given)
