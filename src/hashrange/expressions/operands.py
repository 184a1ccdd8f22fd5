"""Operands of conditions and updates, ready to be evaluated on items.

`evaluate(item, values)` returns a value in wire form, or None when the item has none there.
"""

from __future__ import annotations

from binascii import a2b_base64
from typing import Protocol, final

from hashrange.expressions.binding import Values
from hashrange.expressions.nodes import Path
from hashrange.expressions.paths import read_path
from hashrange.model.values import Item, Value


class Evaluable(Protocol):
    """An operand that can be evaluated on an item."""

    def evaluate(self, item: Item, values: Values) -> Value | None:
        """Return the operand's value, or None."""


@final
class AttributeOperand:
    """A top-level attribute."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def evaluate(self, item: Item, values: Values) -> Value | None:
        return item.get(self.name)


@final
class PathOperand:
    """A document path."""

    __slots__ = ("path",)

    def __init__(self, path: Path) -> None:
        self.path = path

    def evaluate(self, item: Item, values: Values) -> Value | None:
        return read_path(item, self.path)


@final
class ValueOperand:
    """A value of the request."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def evaluate(self, item: Item, values: Values) -> Value | None:
        return values[self.name]


@final
class SizeOperand:
    """The function size: UTF-16 units of text, bytes of binary, elements of anything else."""

    __slots__ = ("_operand",)

    def __init__(self, operand: Evaluable) -> None:
        self._operand = operand

    def evaluate(self, item: Item, values: Values) -> Value | None:
        value = self._operand.evaluate(item, values)
        if value is None:
            return None
        ((kind, content),) = value.items()
        if kind == "N" or kind == "BOOL" or kind == "NULL":
            return None
        if kind == "B":
            return {"N": str(len(a2b_base64(content)))}
        if kind == "S" and not content.isascii():
            return {"N": str(len(content.encode("utf-16-le")) // 2)}
        return {"N": str(len(content))}


def path_operand(path: Path) -> AttributeOperand | PathOperand:
    """Return the operand for a path."""
    return AttributeOperand(path[0]) if len(path) == 1 else PathOperand(path)
