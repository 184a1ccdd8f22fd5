"""Predicates: the evaluated form of conditions.

`evaluate(item, values)` tells whether the predicate holds. A comparison with an absent value, or
with a value of another type, does not hold, except for "<>", which does.
"""

from __future__ import annotations

from binascii import a2b_base64
from typing import Final, Protocol, final

from hashrange.expressions.binding import Values
from hashrange.expressions.operands import Evaluable
from hashrange.model import numbers
from hashrange.model.comparison import compare, equal
from hashrange.model.values import Item, Value

_ORDERED: Final = frozenset(("S", "N", "B"))
_SET_OF: Final = {"S": "SS", "N": "NS", "B": "BS"}


class Predicate(Protocol):
    """A condition that can be evaluated on an item."""

    def evaluate(self, item: Item, values: Values) -> bool:
        """Say whether the condition holds."""


@final
class And:
    __slots__ = ("_predicates",)

    def __init__(self, predicates: tuple[Predicate, ...]) -> None:
        self._predicates = predicates

    def evaluate(self, item: Item, values: Values) -> bool:
        for predicate in self._predicates:  # noqa: SIM110  (a generator would double the cost)
            if not predicate.evaluate(item, values):
                return False
        return True


@final
class Or:
    __slots__ = ("_predicates",)

    def __init__(self, predicates: tuple[Predicate, ...]) -> None:
        self._predicates = predicates

    def evaluate(self, item: Item, values: Values) -> bool:
        for predicate in self._predicates:  # noqa: SIM110  (a generator would double the cost)
            if predicate.evaluate(item, values):
                return True
        return False


@final
class Not:
    __slots__ = ("_predicate",)

    def __init__(self, predicate: Predicate) -> None:
        self._predicate = predicate

    def evaluate(self, item: Item, values: Values) -> bool:
        return not self._predicate.evaluate(item, values)


@final
class Equal:
    __slots__ = ("_left", "_right")

    def __init__(self, left: Evaluable, right: Evaluable) -> None:
        self._left = left
        self._right = right

    def evaluate(self, item: Item, values: Values) -> bool:
        left = self._left.evaluate(item, values)
        right = self._right.evaluate(item, values)
        return left is not None and right is not None and (left == right or equal(left, right))


@final
class NotEqual:
    __slots__ = ("_left", "_right")

    def __init__(self, left: Evaluable, right: Evaluable) -> None:
        self._left = left
        self._right = right

    def evaluate(self, item: Item, values: Values) -> bool:
        left = self._left.evaluate(item, values)
        right = self._right.evaluate(item, values)
        return left is None or right is None or not equal(left, right)


@final
class Ordered:
    """One of <, <=, > and >=: the order of the operands is one of those accepted."""

    __slots__ = ("_accepted", "_left", "_right")

    def __init__(self, operator: str, left: Evaluable, right: Evaluable) -> None:
        self._accepted = _ACCEPTED_ORDERS[operator]
        self._left = left
        self._right = right

    def evaluate(self, item: Item, values: Values) -> bool:
        left = self._left.evaluate(item, values)
        right = self._right.evaluate(item, values)
        # The same as `_order`, with fewer calls: most filters run this for every item.
        if left is None or right is None:
            return False
        (kind,) = left
        if kind not in right:
            return False
        if kind == "N":
            return numbers.compare(left["N"], right["N"]) in self._accepted
        return kind in _ORDERED and compare(left, right) in self._accepted


_ACCEPTED_ORDERS: Final[dict[str, tuple[int, ...]]] = {
    "<": (-1,),
    "<=": (-1, 0),
    ">": (1,),
    ">=": (1, 0),
}


def _order(left: Value | None, right: Value | None) -> int | None:
    """Compare two operands; None if they have no order."""
    if left is None or right is None:
        return None
    (kind,) = left
    return compare(left, right) if kind in right and kind in _ORDERED else None


@final
class Between:
    __slots__ = ("_lower", "_operand", "_upper")

    def __init__(self, operand: Evaluable, lower: Evaluable, upper: Evaluable) -> None:
        self._operand = operand
        self._lower = lower
        self._upper = upper

    def evaluate(self, item: Item, values: Values) -> bool:
        value = self._operand.evaluate(item, values)
        if _order(value, self._lower.evaluate(item, values)) not in (0, 1):
            return False
        return _order(value, self._upper.evaluate(item, values)) in (0, -1)


@final
class In:
    __slots__ = ("_candidates", "_operand")

    def __init__(self, operand: Evaluable, candidates: tuple[Evaluable, ...]) -> None:
        self._operand = operand
        self._candidates = candidates

    def evaluate(self, item: Item, values: Values) -> bool:
        value = self._operand.evaluate(item, values)
        if value is None:
            return False
        for candidate in self._candidates:
            other = candidate.evaluate(item, values)
            if other is not None and equal(value, other):
                return True
        return False


@final
class Exists:
    __slots__ = ("_operand",)

    def __init__(self, operand: Evaluable) -> None:
        self._operand = operand

    def evaluate(self, item: Item, values: Values) -> bool:
        return self._operand.evaluate(item, values) is not None


@final
class NotExists:
    __slots__ = ("_operand",)

    def __init__(self, operand: Evaluable) -> None:
        self._operand = operand

    def evaluate(self, item: Item, values: Values) -> bool:
        return self._operand.evaluate(item, values) is None


@final
class HasType:
    __slots__ = ("_operand", "_type")

    def __init__(self, operand: Evaluable, type: Evaluable) -> None:
        self._operand = operand
        self._type = type

    def evaluate(self, item: Item, values: Values) -> bool:
        value = self._operand.evaluate(item, values)
        name = self._type.evaluate(item, values)
        return value is not None and name is not None and name.get("S") in value


@final
class BeginsWith:
    __slots__ = ("_operand", "_prefix")

    def __init__(self, operand: Evaluable, prefix: Evaluable) -> None:
        self._operand = operand
        self._prefix = prefix

    def evaluate(self, item: Item, values: Values) -> bool:
        value = self._operand.evaluate(item, values)
        prefix = self._prefix.evaluate(item, values)
        if value is None or prefix is None:
            return False
        if "S" in value and "S" in prefix:
            return bool(value["S"].startswith(prefix["S"]))
        if "B" in value and "B" in prefix:
            return a2b_base64(value["B"]).startswith(a2b_base64(prefix["B"]))
        return False


@final
class Contains:
    """Text within text, bytes within bytes, or a value among the elements of a set or list."""

    __slots__ = ("_container", "_operand")

    def __init__(self, container: Evaluable, operand: Evaluable) -> None:
        self._container = container
        self._operand = operand

    def evaluate(self, item: Item, values: Values) -> bool:
        container = self._container.evaluate(item, values)
        operand = self._operand.evaluate(item, values)
        return container is not None and operand is not None and contains(container, operand)


def contains(container: Value, operand: Value) -> bool:
    """Say whether a value contains another."""
    ((kind, content),) = operand.items()
    if "L" in container:
        return any(equal(element, operand) for element in container["L"])
    if kind == "S" and "S" in container:
        return content in container["S"]
    if kind == "B" and "B" in container:
        return a2b_base64(content) in a2b_base64(container["B"])
    members = container.get(_SET_OF.get(kind, ""))
    return members is not None and content in members
