"""Lexer of PartiQL statements; tokens keep their line and column for error messages."""

from __future__ import annotations

import re
from typing import Final, final

from hashrange.errors import ValidationException
from hashrange.expressions.partiql.keywords import KEYWORDS

# Kinds of tokens that no keyword is spelled like.
NAME: Final = "<name>"
STRING: Final = "<string>"
NUMBER: Final = "<number>"
ION: Final = "<ion>"
END: Final = "<end>"

_next_token: Final = re.compile(
    r"(?P<space>\s+|--[^\n\r]*|/\*.*?\*/)"
    r"|(?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<word>[A-Za-z_$][A-Za-z0-9_$]*)"
    r"|(?P<string>'(?:[^']|'')*')"
    r'|(?P<name>"(?:[^"]|"")*")'
    r"|(?P<ion>`[^`]*`)"
    r"|(?P<symbol><<|>>|<=|>=|<>|!=|\|\||/(?!\*)|[()\[\]{},.;:*+\-%=<>?@])",
    re.DOTALL,
).match
_line_end: Final = re.compile(r"\r\n|\n|\r")
_INTEGER_MAX: Final = 2**31 - 1


def not_well_formed(detail: str = "") -> ValidationException:
    """Return the refusal of a statement that does not parse."""
    return ValidationException(f"Statement wasn't well formed, can't be processed: {detail}")


@final
class Token:
    """A token: its kind (for keywords and symbols, their text in lower case), text and place."""

    __slots__ = ("column", "kind", "length", "line", "text")

    def __init__(self, kind: str, text: str, line: int, column: int, length: int) -> None:
        self.kind = kind
        self.text = text  # without its quotes if it is a quoted name or a string
        self.line = line
        self.column = column
        self.length = length

    @property
    def place(self) -> str:
        """The position of the token, as error messages append it."""
        return f" at {self.line}:{self.column}:{self.length}"


def tokenize(text: str) -> list[Token]:
    """Return the tokens of a statement; the last one is its end."""
    tokens: list[Token] = []
    position, line, line_start = 0, 1, 0
    while position < len(text):
        match = _next_token(text, position)
        if match is None or match.lastgroup is None:
            raise not_well_formed()
        word = match.group()
        if match.lastgroup != "space":
            column = position - line_start + 1
            tokens.append(_token(match.lastgroup, word, line, column))
        for end in _line_end.finditer(word):
            line += 1
            line_start = position + end.end()
        position = match.end()
    tokens.append(Token(END, "", line, position - line_start + 1, 0))
    return tokens


def _token(group: str, word: str, line: int, column: int) -> Token:
    kind, text = word, word
    if group == "word":
        lower = word.lower()
        kind = lower if lower in KEYWORDS else NAME
    elif group == "name":
        kind, text = NAME, word[1:-1].replace('""', '"')
    elif group == "string":
        kind, text = STRING, word[1:-1].replace("''", "'")
    elif group == "number":
        kind = NUMBER
        _check_scale(word)
    elif group == "ion":
        kind = ION
    return Token(kind, text, line, column, len(word))


def _check_scale(number: str) -> None:
    """Refuse a number whose exponent or scale is beyond 32 bits: it cannot even be read."""
    mantissa, _, exponent = number.lower().partition("e")
    if not exponent:
        return
    digits = exponent.lstrip("+-0")
    scale = len(mantissa.partition(".")[2])
    # The length keeps int() away from exponents of any size.
    if len(digits) > 10 or int(digits or "0") > _INTEGER_MAX:
        raise not_well_formed()
    if exponent[0] == "-" and scale + int(digits or "0") > _INTEGER_MAX:
        raise not_well_formed()
