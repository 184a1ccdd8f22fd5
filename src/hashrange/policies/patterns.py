"""Patterns of policy elements: `*` and `?`, and variables such as `${aws:username}`.

A pattern that has no variables is compiled once. One that has is compiled for each set of values,
in a bounded cache; what a variable stands for is taken literally, wildcards included. Matching does
not backtrack: each `*` takes the shortest run and never gives it back.

    ${key}              the value of a condition key that has one value
    ${key, 'default'}   the same, with a text for requests without the key
    ${*} ${?} ${$}      the characters themselves
"""

from __future__ import annotations

import re
from enum import Enum
from functools import lru_cache
from typing import Final, Protocol, final

from hashrange.limits import POLICY_PATTERNS_CACHED_MAX

_VARIABLE: Final = re.compile(r"\$\{([^{}]*)\}")
_WITH_DEFAULT: Final = re.compile(r"([^,]+?)\s*,\s*'([^']*)'")
_ESCAPES: Final = ("*", "?", "$")
_ARN_COLONS: Final = 5


class Syntax(Enum):
    """What a pattern is held against."""

    EXACT = "exact"  # a text; * and ? are ordinary characters
    TEXT = "text"  # a text with wildcards
    ACTION = "action"  # the same, whatever the case of letters
    ARN = "arn"  # wildcards stay within the parts of an ARN


class ContextValues(Protocol):
    """The condition keys of one request; names are in lower case."""

    def find(self, key: str) -> str | list[str] | None:
        """Return the value of a key, a list if it may have several, None without the key."""


@final
class Variable:
    """A variable inside a pattern."""

    __slots__ = ("default", "key")

    def __init__(self, key: str, default: str | None) -> None:
        self.key = key
        self.default = default

    def resolve(self, context: ContextValues) -> str | None:
        """Return what the variable stands for, None if that is not known."""
        value = context.find(self.key)
        # Keys with several values cannot be variables.
        return value if isinstance(value, str) else self.default


@final
class Literal:
    """A text inside a pattern whose wildcards are ordinary characters."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


Piece = str | Literal | Variable


@final
class Pattern:
    """One text of an Action, Resource, Principal or Condition element."""

    __slots__ = ("_matcher", "_pieces", "keys", "syntax", "text")

    def __init__(self, text: str, syntax: Syntax, *, has_variables: bool = False) -> None:
        self.text = text
        self.syntax = syntax
        self._pieces = _split(text) if has_variables else (text,)
        self.keys = tuple(piece.key for piece in self._pieces if isinstance(piece, Variable))
        self._matcher: re.Pattern[str] | None = None
        if not self.keys:
            self._matcher = _compile(_fixed(self._pieces), syntax)

    def matches(self, text: str, context: ContextValues) -> bool | None:
        """Tell whether a text matches; None if a variable of the pattern has no value."""
        matcher = self._matcher
        if matcher is None:
            pieces = self.resolve(context)
            if pieces is None:
                return None
            matcher = _compile(pieces, self.syntax)
        return matcher.fullmatch(text) is not None

    def resolve(self, context: ContextValues) -> tuple[tuple[str, bool], ...] | None:
        """Return the pieces with whether their wildcards count; None if a value is not known."""
        resolved = []
        for piece in self._pieces:
            if isinstance(piece, Variable):
                value = piece.resolve(context)
                if value is None:
                    return None
                resolved.append((value, False))
            else:
                resolved.append(_fixed((piece,))[0])
        return tuple(resolved)


def _fixed(pieces: tuple[Piece, ...]) -> tuple[tuple[str, bool], ...]:
    fixed = []
    for piece in pieces:
        if isinstance(piece, Literal):
            fixed.append((piece.text, False))
        elif isinstance(piece, str):
            fixed.append((piece, True))
    return tuple(fixed)


def _split(text: str) -> tuple[Piece, ...]:
    pieces: list[Piece] = []
    end = 0
    for found in _VARIABLE.finditer(text):
        if found.start() > end:
            pieces.append(text[end : found.start()])
        end = found.end()
        name = found.group(1).strip()
        if name in _ESCAPES:
            pieces.append(Literal(name))
            continue
        with_default = _WITH_DEFAULT.fullmatch(name)
        if with_default is None:
            pieces.append(Variable(name.lower(), None))
        else:
            pieces.append(Variable(with_default.group(1).lower(), with_default.group(2)))
    if end < len(text) or not pieces:
        pieces.append(text[end:])
    return tuple(pieces)


@lru_cache(maxsize=POLICY_PATTERNS_CACHED_MAX)
def _compile(pieces: tuple[tuple[str, bool], ...], syntax: Syntax) -> re.Pattern[str]:
    tokens = _tokens(pieces, syntax)
    flags = re.DOTALL | (re.IGNORECASE if syntax is Syntax.ACTION else 0)
    if syntax is not Syntax.ARN or tokens.count(":") < _ARN_COLONS:
        return re.compile(_expression(tokens, "."), flags)
    parts: list[str] = []
    for _ in range(_ARN_COLONS):
        colon = tokens.index(":")
        parts.append(_expression(tokens[:colon], "[^:]"))
        tokens = tokens[colon + 1 :]
    parts.append(_expression(tokens, "."))
    return re.compile(":".join(parts), flags)


_STAR: Final = "star"
_ONE: Final = "one"


def _tokens(pieces: tuple[tuple[str, bool], ...], syntax: Syntax) -> list[str]:
    """Return single characters and the names of wildcards."""
    tokens: list[str] = []
    for text, has_wildcards in pieces:
        for character in text:
            if character == "*" and has_wildcards and syntax is not Syntax.EXACT:
                if not tokens or tokens[-1] != _STAR:
                    tokens.append(_STAR)
            elif character == "?" and has_wildcards and syntax is not Syntax.EXACT:
                tokens.append(_ONE)
            else:
                tokens.append(character)
    return tokens


def _expression(tokens: list[str], any_character: str) -> str:
    """Return the regular expression of tokens; atomic groups keep it from backtracking."""
    chunks: list[str] = [""]
    for token in tokens:
        if token is _STAR:
            chunks.append("")
        else:
            chunks[-1] += any_character if token is _ONE else re.escape(token)
    if len(chunks) == 1:
        return chunks[0]
    middle = "".join(f"(?>{any_character}*?{chunk})" for chunk in chunks[1:-1])
    return f"{chunks[0]}{middle}{any_character}*{chunks[-1]}"
