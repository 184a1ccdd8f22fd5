"""Size of an update expression, which AWS counts against the item size limit.

AWS limits the expression as well as the updated item: three bytes, plus bytes for each action as
it is written, whatever it does to the item. The figures are measured, not documented; the
conformance suite pins them in itemSizeBySurface.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, final

from hashrange.expressions.binding import Binder, Values
from hashrange.expressions.nodes import (
    ActionNode,
    ArithmeticNode,
    Element,
    Operand,
    Path,
    PathNode,
    ValueNode,
)
from hashrange.model.values import value_size

_UPDATE: Final = 3
_WRITE: Final = 19  # SET and ADD
_TAKE_AWAY: Final = 1  # REMOVE and DELETE
_TARGET_ELEMENT: Final = 4
_OPERAND_PATH: Final = 1
_OPERAND_ELEMENT: Final = 14
_OPERATORS: Final = {"+": 34, "-": 37, "if_not_exists": 39, "list_append": 37}


@final
class Charge:
    """A fixed number of bytes, and the values to add, as often as they are used."""

    __slots__ = ("_fixed", "_values")

    def __init__(self, fixed: int, values: tuple[str, ...]) -> None:
        self._fixed = fixed
        self._values = values

    def total(self, values: Values) -> int:
        """Return the bytes for the values of a request."""
        total = self._fixed
        for name in self._values:
            total += value_size(values[name])
        return total


def charge_update(binder: Binder, actions: Sequence[ActionNode]) -> Charge:
    """Return the charge for the actions of an update whose names have been checked."""
    fixed = _UPDATE
    values: list[str] = []
    for action in actions:
        fixed += _target(binder.path(action.path))
        if action.operand is None or action.section == "DELETE":
            fixed += _TAKE_AWAY
        else:
            fixed += _WRITE + _operand(binder, action.operand, values)
    return Charge(fixed, tuple(values))


def _target(path: Path) -> int:
    total = _element(path[0])
    for element in path[1:]:
        total += _TARGET_ELEMENT + _element(element)
    return total


def _operand(binder: Binder, node: Operand, values: list[str]) -> int:
    """Return the fixed bytes of an operand, and note the values it uses."""
    if isinstance(node, ValueNode):
        values.append(node.name)
        return 0
    if isinstance(node, PathNode):
        path = binder.path(node)
        return _OPERAND_PATH + sum([_OPERAND_ELEMENT + _element(element) for element in path])
    if isinstance(node, ArithmeticNode):
        both = _operand(binder, node.left, values) + _operand(binder, node.right, values)
        return _OPERATORS[node.operator] + both
    inner = [_operand(binder, operand, values) for operand in node.operands]
    return _OPERATORS[node.function] + sum(inner)


def _element(element: Element) -> int:
    return len(str(element)) if isinstance(element, int) else len(element.encode())
