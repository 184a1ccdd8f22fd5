"""Lexer of expressions: turns text into tokens.

A token keeps its position, because AWS quotes the text around an unexpected token. A character
that starts no token becomes a token of kind UNKNOWN, which the parser refuses.
"""

from __future__ import annotations

import re
from typing import Final, final

NAME: Final = "name"
NAME_PLACEHOLDER: Final = "#"
VALUE_PLACEHOLDER: Final = ":"
INDEX: Final = "index"
UNKNOWN: Final = "unknown"
END: Final = "<EOF>"

# Words that are tokens of their own, whatever their case; all other words are names.
KEYWORDS: Final = frozenset(("AND", "OR", "NOT", "BETWEEN", "IN", "SET", "REMOVE", "ADD", "DELETE"))

_next_token: Final = re.compile(
    r"[ \t\r\n]*(?:"
    r"(?P<name>[A-Za-z][A-Za-z0-9_]*)"
    r"|(?P<placeholder>[#:][A-Za-z0-9_]+)"
    r"|(?P<index>0|[1-9][0-9]*)"
    r"|(?P<symbol><=|>=|<>|[=<>(),.\[\]+-])"
    r"|(?P<unknown>.)"
    r"|$)",
    re.DOTALL,
).match


@final
class Token:
    """A token: its kind (for keywords and symbols, their text in upper case) and its place."""

    __slots__ = ("end", "kind", "start", "text")

    def __init__(self, kind: str, text: str, start: int, end: int) -> None:
        self.kind = kind
        self.text = text
        self.start = start
        self.end = end


def tokenize(text: str) -> list[Token]:
    """Return the tokens of an expression; the last one is the end of the text."""
    tokens: list[Token] = []
    position = 0
    while True:
        match = _next_token(text, position)
        assert match is not None
        group = match.lastgroup
        if group is None:
            tokens.append(Token(END, END, len(text), len(text)))
            return tokens
        start, position = match.span(group)
        word = text[start:position]
        tokens.append(Token(_kind(group, word), word, start, position))


def _kind(group: str, word: str) -> str:
    if group == "name":
        upper = word.upper()
        return upper if upper in KEYWORDS else NAME
    if group == "placeholder":
        return word[0]
    if group == "symbol":
        return word
    return INDEX if group == "index" else UNKNOWN
