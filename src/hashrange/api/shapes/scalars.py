"""Shapes of single values: strings, numbers and booleans, with AWS's constraints on them.

See `hashrange.api.shapes.structures` for the methods of a shape.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final, final

from hashrange.api.shapes.violations import Place, Violations
from hashrange.errors import SerializationException

MAP_START: Final = "Start of structure or map found where not expected"
_TRUE_WORDS: Final = frozenset(("TRUE", "1", "YES"))
_FALSE_WORDS: Final = frozenset(("FALSE", "0", "NO"))

NAME_PATTERN: Final = "[a-zA-Z0-9_.-]+"


class Shape:
    """The part of the contract every shape shares."""

    __slots__ = ("has_values", "java")

    java: str
    has_values: bool

    def fits(self, value: object) -> bool:
        raise NotImplementedError

    def convert(self, value: Any, *, is_field: bool) -> Any:
        """Return the value made strict; `is_field` is False inside a list or a map."""
        raise NotImplementedError

    def collect(self, value: Any, place: Place, found: Violations) -> None:
        """Add every broken constraint."""

    def check_values(self, value: Any) -> None:
        """Raise SerializationException for the first mistyped attribute value."""


def _scalar_name(value: object) -> str:
    if value is True:
        return "TRUE_VALUE"
    if value is False:
        return "FALSE_VALUE"
    if isinstance(value, str):
        return "STRING_VALUE"
    if isinstance(value, float) and not value.is_integer():
        return "DECIMAL_VALUE"
    return "NUMBER_VALUE"


def _refuse(value: object, java: str) -> SerializationException:
    """Return the error for a JSON value that is not the scalar it should be."""
    if isinstance(value, list):
        return SerializationException(f"Unrecognized collection type class {java}")
    if isinstance(value, dict):
        return SerializationException(MAP_START)
    return SerializationException(
        f"{_scalar_name(value)} cannot be converted to {java.rpartition('.')[2]}"
    )


class String(Shape):
    """A string with the constraints AWS puts on it; the enum is in AWS's own order."""

    __slots__ = ("enum", "generic", "is_joined", "maximum", "minimum", "pattern", "plain", "regex")

    def __init__(
        self,
        *,
        minimum: int = 0,
        maximum: int | None = None,
        pattern: str | None = None,
        enum: Sequence[str] = (),
        generic: str | None = None,
        is_joined: bool = False,
    ) -> None:
        self.java = "java.lang.String"
        self.has_values = False
        self.minimum = minimum
        self.maximum = maximum
        self.pattern = pattern
        self.regex = re.compile(pattern) if pattern else None
        self.enum = tuple(enum)
        # What to say about a word outside the enum where AWS names no member: alone, or joined
        # with whatever else is wrong.
        self.generic = generic
        self.is_joined = is_joined
        self.plain = not (minimum or maximum is not None or pattern or enum)

    def fits(self, value: object) -> bool:
        if type(value) is not str:
            return False
        if self.plain:
            return True
        if self.enum:
            return value in self.enum
        if len(value) < self.minimum:
            return False
        if self.maximum is not None and len(value) > self.maximum:
            return False
        return self.regex is None or self.regex.fullmatch(value) is not None

    def convert(self, value: Any, *, is_field: bool) -> Any:
        if type(value) is not str:
            raise _refuse(value, self.java)
        return value

    def collect(self, value: Any, place: Place, found: Violations) -> None:
        if self.enum:
            if value not in self.enum:
                text = found.add(
                    place,
                    value,
                    f"Member must satisfy enum value set: [{', '.join(self.enum)}]",
                    alone=None if self.is_joined else self.generic,
                )
                if self.is_joined and self.generic is not None:
                    found.reword(text, self.generic)
            return
        if self.regex is not None and self.regex.fullmatch(value) is None:
            found.add(
                place, value, f"Member must satisfy regular expression pattern: {self.pattern}"
            )
        collect_length(self.minimum, self.maximum, value, place, found)


@final
class TableName(String):
    """A table's name or ARN; `empty_text` is the whole error message for an empty one."""

    __slots__ = ("_fitting", "empty_text")

    def __init__(self, *, minimum: int, empty_text: str | None = None) -> None:
        super().__init__(minimum=minimum, maximum=255, pattern=NAME_PATTERN)
        self.empty_text = empty_text
        # Cache of valid names: requests name few tables, and matching takes ten times as long.
        self._fitting: set[str] = set()

    def fits(self, value: object) -> bool:
        if type(value) is not str:
            return False
        if value in self._fitting:
            return True
        if _NAME.fullmatch(value) is not None:
            is_fitting = len(value) >= self.minimum
        else:
            is_fitting = _TABLE_ARN.fullmatch(value) is not None
        if is_fitting:
            if len(self._fitting) >= _FITTING_MAX:
                self._fitting.clear()
            self._fitting.add(value)
        return is_fitting

    def collect(self, value: Any, place: Place, found: Violations) -> None:
        # AWS reports one thing about a table name, length before characters.
        if self.fits(value):
            return
        if len(value) < self.minimum or len(value) > 255:
            alone = None if value else self.empty_text
            collect_length(self.minimum, 255, value, place, found, alone=alone)
        else:
            super().collect(value, place, found)


_FITTING_MAX: Final = 1024
_NAME: Final = re.compile(r"[a-zA-Z0-9_.-]{1,255}")
_TABLE_ARN: Final = re.compile(
    r"arn:aws[a-z-]*:dynamodb:[a-z0-9-]+:[0-9]{12}:table/[a-zA-Z0-9_.-]{3,255}"
)


@final
class Number(Shape):
    """A JSON number of one of Java's types: Integer, Long or Double."""

    __slots__ = ("maximum", "minimum", "named")

    def __init__(
        self,
        java: str,
        *,
        minimum: int | None = None,
        maximum: int | None = None,
        named: bool = False,
    ) -> None:
        self.java = "java.lang." + java
        self.has_values = False
        self.minimum = minimum
        self.maximum = maximum
        self.named = named

    def fits(self, value: object) -> bool:
        if type(value) is not int:
            return False
        if self.minimum is not None and value < self.minimum:
            return False
        return self.maximum is None or value <= self.maximum

    def convert(self, value: Any, *, is_field: bool) -> Any:
        if type(value) is int:
            return value
        if type(value) is float:
            return value if self.java == "java.lang.Double" else int(value // 1)
        raise _refuse(value, self.java)

    def collect(self, value: Any, place: Place, found: Violations) -> None:
        if self.minimum is not None and value < self.minimum:
            text = f"Member must have value greater than or equal to {self.minimum}"
            found.add(place, value, text, named=self.named)
        if self.maximum is not None and value > self.maximum:
            text = f"Member must have value less than or equal to {self.maximum}"
            found.add(place, value, text, named=self.named)


@final
class Boolean(Shape):
    """A JSON boolean, or one of the words AWS takes for it."""

    __slots__ = ()

    def __init__(self) -> None:
        self.java = "java.lang.Boolean"
        self.has_values = False

    def fits(self, value: object) -> bool:
        return value is True or value is False

    def convert(self, value: Any, *, is_field: bool) -> Any:
        if value is True or value is False:
            return value
        if not isinstance(value, str):
            raise _refuse(value, self.java)
        word = value.upper()
        if word in _TRUE_WORDS:
            return True
        if word in _FALSE_WORDS:
            return False
        raise SerializationException("Unexpected token received from parser")


def collect_length(
    minimum: int,
    maximum: int | None,
    value: Any,
    place: Place,
    found: Violations,
    *,
    named: bool = False,
    alone: str | None = None,
) -> None:
    """Add the length constraints that a string, list or map violates."""
    if len(value) < minimum:
        text = f"Member must have length greater than or equal to {minimum}"
        found.add(place, value, text, named=named, alone=alone)
    if maximum is not None and len(value) > maximum:
        text = f"Member must have length less than or equal to {maximum}"
        found.add(place, value, text, named=named)
