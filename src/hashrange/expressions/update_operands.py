"""Operands of SET: values, parts of the item, sums, joined lists and defaults.

Unlike the operands of conditions, these must have a value: evaluating one raises AWS's error when
the item lacks an attribute or has one of the wrong type.
"""

from __future__ import annotations

from typing import Any, Final, Protocol, final

from hashrange.errors import ValidationException
from hashrange.expressions.binding import Values
from hashrange.expressions.nodes import Path
from hashrange.expressions.paths import read_path
from hashrange.model import numbers
from hashrange.model.values import Item, Value

_ABSENT: Final = "The provided expression refers to an attribute that does not exist in the item"
INCORRECT_OPERAND: Final = "An operand in the update expression has an incorrect data type"


class UpdateOperand(Protocol):
    """An operand that can be evaluated on an item."""

    def evaluate(self, item: Item, values: Values) -> Value:
        """Return the operand's value, or raise ValidationException."""


@final
class GivenValue:
    """A value of the request."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def evaluate(self, item: Item, values: Values) -> Value:
        return values[self._name]


@final
class ItemValue:
    """A part of the item."""

    __slots__ = ("_path",)

    def __init__(self, path: Path) -> None:
        self._path = path

    def evaluate(self, item: Item, values: Values) -> Value:
        value = read_path(item, self._path)
        if value is None:
            raise ValidationException(_ABSENT)
        return value


@final
class IfNotExists:
    """The function if_not_exists."""

    __slots__ = ("_default", "_path")

    def __init__(self, path: Path, default: UpdateOperand) -> None:
        self._path = path
        self._default = default

    def evaluate(self, item: Item, values: Values) -> Value:
        # AWS evaluates the default even when it is not needed, and refuses one that is not there.
        default = self._default.evaluate(item, values)
        value = read_path(item, self._path)
        return default if value is None else value


@final
class ListAppend:
    """The function list_append."""

    __slots__ = ("_first", "_second")

    def __init__(self, first: UpdateOperand, second: UpdateOperand) -> None:
        self._first = first
        self._second = second

    def evaluate(self, item: Item, values: Values) -> Value:
        first = _content(self._first.evaluate(item, values), "L")
        return {"L": first + _content(self._second.evaluate(item, values), "L")}


@final
class Arithmetic:
    """A sum or difference of numbers."""

    __slots__ = ("_compute", "_left", "_right")

    def __init__(self, operator: str, left: UpdateOperand, right: UpdateOperand) -> None:
        self._compute = numbers.add if operator == "+" else numbers.subtract
        self._left = left
        self._right = right

    def evaluate(self, item: Item, values: Values) -> Value:
        left = _content(self._left.evaluate(item, values), "N")
        right = _content(self._right.evaluate(item, values), "N")
        return {"N": self._compute(left, right)}


def _content(value: Value, kind: str) -> Any:
    """Return the content of an operand that must be of this type."""
    content = value.get(kind)
    if content is None:
        raise ValidationException(INCORRECT_OPERAND)
    return content
