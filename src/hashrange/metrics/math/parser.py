"""Parses expressions of metric math.

or      := and (("OR" | "||") and)*
and     := compare (("AND" | "&&") compare)*
compare := sum (("==" | "!=" | "<=" | ">=" | "<" | ">") sum)*
sum     := product (("+" | "-") product)*
product := unary (("*" | "/") unary)*
unary   := "-" unary | power
power   := atom ("^" unary)?
atom    := number | text | id | NAME "(" [or ("," or)*] ")" | "[" or ("," or)* "]" | "(" or ")"
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from hashrange.limits import METRIC_MATH_CHARACTERS_MAX, METRIC_MATH_DEPTH_MAX


class MathError(Exception):
    """An expression cannot be read or computed; the message says why."""


@dataclass(frozen=True, slots=True)
class Number:
    value: float


@dataclass(frozen=True, slots=True)
class Text:
    value: str


@dataclass(frozen=True, slots=True)
class Id:
    name: str


@dataclass(frozen=True, slots=True)
class Call:
    """A function or an operator with its arguments."""

    name: str
    arguments: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Array:
    members: tuple[Node, ...]


Node = Number | Text | Id | Call | Array

_TOKEN: Final = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+)|(?P<name>[A-Za-z][A-Za-z0-9_]*)"
    r"|(?P<text>\"[^\"]*\"|'[^']*')|(?P<sign>==|!=|<=|>=|&&|\|\||[-+*/^<>(),\[\]]))"
)
_LEVELS: Final[tuple[dict[str, str], ...]] = (
    {"OR": "||", "||": "||"},
    {"AND": "&&", "&&": "&&"},
    {sign: sign for sign in ("==", "!=", "<=", ">=", "<", ">")},
    {"+": "+", "-": "-"},
    {"*": "*", "/": "/"},
)


def parse(text: str) -> Node:
    """Return the meaning of an expression."""
    if len(text) > METRIC_MATH_CHARACTERS_MAX:
        raise MathError(f"The expression is longer than {METRIC_MATH_CHARACTERS_MAX} characters")
    parser = _Parser(_tokens(text))
    node = parser.binary(0, 0)
    if parser.peek() is not None:
        raise MathError(f"Unexpected '{parser.peek()}' in expression")
    return node


def _tokens(text: str) -> list[str]:
    tokens: list[str] = []
    position = 0
    text = text.rstrip()
    while position < len(text):
        found = _TOKEN.match(text, position)
        if found is None:
            raise MathError(f"Unexpected '{text[position:].strip()[:1]}' in expression")
        tokens.append(found[0].strip())
        position = found.end()
    return tokens


class _Parser:
    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens
        self._position = 0

    def peek(self) -> str | None:
        return self._tokens[self._position] if self._position < len(self._tokens) else None

    def _take(self) -> str:
        token = self.peek()
        if token is None:
            raise MathError("The expression ends too early")
        self._position += 1
        return token

    def _expect(self, token: str) -> None:
        found = self._take()
        if found != token:
            raise MathError(f"Expected '{token}' instead of '{found}' in expression")

    def binary(self, level: int, depth: int) -> Node:
        """Return the operators of a level and everything that binds more closely."""
        if depth > METRIC_MATH_DEPTH_MAX:
            raise MathError("The expression is nested too deeply")
        if level == len(_LEVELS):
            return self._unary(depth)
        node = self.binary(level + 1, depth)
        while (operator := _LEVELS[level].get(self.peek() or "")) is not None:
            self._take()
            node = Call(operator, (node, self.binary(level + 1, depth)))
        return node

    def _unary(self, depth: int) -> Node:
        if self.peek() == "-":
            self._take()
            if depth > METRIC_MATH_DEPTH_MAX:
                raise MathError("The expression is nested too deeply")
            return Call("negate", (self._unary(depth + 1),))
        node = self._atom(depth)
        if self.peek() == "^":
            self._take()
            return Call("^", (node, self._unary(depth + 1)))
        return node

    def _atom(self, depth: int) -> Node:
        token = self._take()
        if token[0].isdigit() or token[0] == ".":
            return Number(float(token))
        if token[0] in "\"'":
            return Text(token[1:-1])
        if token == "(":
            node = self.binary(0, depth + 1)
            self._expect(")")
            return node
        if token == "[":
            return Array(self._members("]", depth))
        if not token[0].isalpha():
            raise MathError(f"Unexpected '{token}' in expression")
        if self.peek() == "(":
            self._take()
            return Call(token, self._members(")", depth))
        return Id(token)

    def _members(self, end: str, depth: int) -> tuple[Node, ...]:
        if self.peek() == end:
            self._take()
            return ()
        members = [self.binary(0, depth + 1)]
        while (token := self._take()) == ",":
            members.append(self.binary(0, depth + 1))
        if token != end:
            raise MathError(f"Expected '{end}' instead of '{token}' in expression")
        return tuple(members)


def ids_of(node: Node) -> set[str]:
    """Return the metrics and expressions that an expression names."""
    if isinstance(node, Id):
        return {node.name}
    members = node.arguments if isinstance(node, Call) else ()
    if isinstance(node, Array):
        members = node.members
    return {name for member in members for name in ids_of(member)}


def calls_of(node: Node) -> list[Call]:
    """Return the functions and operators of an expression."""
    if isinstance(node, Call):
        return [node, *(call for member in node.arguments for call in calls_of(member))]
    members = node.members if isinstance(node, Array) else ()
    return [call for member in members for call in calls_of(member)]


def substitute(node: Node, names: dict[Call, str]) -> Node:
    """Return an expression with some of its calls replaced by ids."""
    if isinstance(node, Call):
        if node in names:
            return Id(names[node])
        return Call(node.name, tuple(substitute(member, names) for member in node.arguments))
    if isinstance(node, Array):
        return Array(tuple(substitute(member, names) for member in node.members))
    return node


def uses_all(node: Node) -> bool:
    """Tell whether an expression takes all metrics, by METRICS()."""
    if isinstance(node, Call):
        return node.name == "METRICS" or any(uses_all(member) for member in node.arguments)
    return isinstance(node, Array) and any(uses_all(member) for member in node.members)
