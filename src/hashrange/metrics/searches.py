"""The text of SEARCH in metric math: which metrics it finds.

search := ["{" name ("," name)* "}"] [or]      names are a namespace and all of the dimensions
or     := and ("OR" and)*
and    := not (["AND"] not)*
not    := "NOT" not | "(" or ")" | word | name "=" (word | "(" or ")")
word   := text in double quotes: the whole, as it is | other text: some of its tokens, in any case

A name before "=" is MetricName, Namespace or a dimension; without one, a word may be anywhere. The
tokens of a text are the text, and its parts between other characters than letters and digits,
and between the words of CamelCase.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, final

from hashrange.limits import METRIC_MATH_DEPTH_MAX
from hashrange.metrics.math.parser import MathError
from hashrange.metrics.series import Series

CHARACTERS_MAX: Final = 1024
_SCHEMA: Final = re.compile(r"\s*\{([^{}]*)\}")
_NAME: Final = re.compile(r"\s*(?:\"([^\"]*)\"|([^\",]*?))\s*(?:,|$)")
_TOKEN: Final = re.compile(r"\s*(\"[^\"]*\"|[()=]|[^\s()=\"]+)")
_PART: Final = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_a-zA-Z]+")
_WORD: Final = re.compile(r"[^\W_]+")
_OPERATORS: Final = ("AND", "OR", "NOT")

Test = Callable[[Series], bool]


def parse_search(text: str) -> Test:
    """Return what tells whether a metric is found."""
    if len(text) > CHARACTERS_MAX:
        raise MathError(f"The search is longer than {CHARACTERS_MAX} characters")
    schema = _SCHEMA.match(text)
    tests: list[Test] = []
    if schema is not None:
        tests.append(_schema_test(schema[1]))
        text = text[schema.end() :]
    tokens = _tokens(text)
    if tokens:
        tests.append(_Parser(tokens).parse())
    if not tests:
        raise MathError("A search needs a schema or words")
    return lambda series: all(test(series) for test in tests)


def _schema_test(text: str) -> Test:
    """Return what accepts the metrics of a namespace with exactly these dimensions."""
    names = [quoted or plain for quoted, plain in _NAME.findall(text) if quoted or plain]
    if not names:
        raise MathError("The schema of a search begins with a namespace")
    namespace, dimensions = names[0], set(names[1:])

    def test(series: Series) -> bool:
        own = {name for name, _ in series.dimensions}
        return series.namespace == namespace and own == dimensions

    return test


def _tokens(text: str) -> list[str]:
    tokens: list[str] = []
    position, text = 0, text.rstrip()
    while position < len(text):
        found = _TOKEN.match(text, position)
        if found is None:
            raise MathError("A text in double quotes has no end in a search")
        tokens.append(found[1])
        position = found.end()
    return tokens


@final
class _Parser:
    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens
        self._position = 0

    def parse(self) -> Test:
        test = self._either("", 0)
        if self._peek() is not None:
            raise MathError(f"Unexpected '{self._peek()}' in a search")
        return test

    def _peek(self, ahead: int = 0) -> str | None:
        place = self._position + ahead
        return self._tokens[place] if place < len(self._tokens) else None

    def _take(self) -> str:
        token = self._peek()
        if token is None:
            raise MathError("A search ends too early")
        self._position += 1
        return token

    def _either(self, where: str, depth: int) -> Test:
        if depth > METRIC_MATH_DEPTH_MAX:
            raise MathError("A search is nested too deeply")
        tests = [self._both(where, depth)]
        while self._peek() == "OR":
            self._take()
            tests.append(self._both(where, depth))
        return lambda series: any(test(series) for test in tests)

    def _both(self, where: str, depth: int) -> Test:
        tests = [self._one(where, depth)]
        while self._peek() not in (None, "OR", ")"):
            if self._peek() == "AND":
                self._take()
            tests.append(self._one(where, depth))
        return lambda series: all(test(series) for test in tests)

    def _one(self, where: str, depth: int) -> Test:
        token = self._take()
        if token == "NOT":
            if depth > METRIC_MATH_DEPTH_MAX:
                raise MathError("A search is nested too deeply")
            test = self._one(where, depth + 1)
            return lambda series: not test(series)
        if token == "(":
            test = self._either(where, depth + 1)
            if self._take() != ")":
                raise MathError("A parenthesis has no end in a search")
            return test
        if token in (*_OPERATORS, ")", "="):
            raise MathError(f"Unexpected '{token}' in a search")
        if self._peek() == "=":
            self._take()
            if self._peek(1) == "=":
                raise MathError("Unexpected '=' in a search")
            return self._one(token.strip('"'), depth + 1)
        return _word_test(token, where)


def _word_test(word: str, where: str) -> Test:
    if word.startswith('"'):
        whole = word[1:-1]
        return lambda series: whole in _texts(series, where)
    wanted = word.lower()
    parts = {part.lower() for part in _WORD.findall(word)}

    def test(series: Series) -> bool:
        known = {token for text in _texts(series, where) for token in tokens_of(text)}
        return wanted in known or (bool(parts) and parts <= known)

    return test


def _texts(series: Series, where: str) -> list[str]:
    """Return the texts of a metric, or those in one place of it."""
    if where == "MetricName":
        return [series.name]
    if where == "Namespace":
        return [series.namespace]
    if where:
        return [value for name, value in series.dimensions if name == where]
    return [series.namespace, series.name, *(part for pair in series.dimensions for part in pair)]


def tokens_of(text: str) -> set[str]:
    """Return the tokens of a text, in lower case."""
    parts = {text, *_WORD.findall(text), *_PART.findall(text)}
    return {part.lower() for part in parts}


def label_of(series: Series, found: list[Series]) -> str:
    """Return what tells a metric apart from the others that were found."""
    parts = [value for _, value in series.dimensions]
    if not parts or len({other.name for other in found}) > 1:
        parts = [*parts, series.name]
    return " ".join(parts)
