"""The actions of an update: each changes a copy of the item at one path.

`apply(old, new, values)` reads `old`, the item as it was, and changes `new`, which shares with it
whatever has not been changed yet.
"""

from __future__ import annotations

from typing import Any, Final, final

from hashrange.errors import ValidationException
from hashrange.expressions.binding import Values
from hashrange.expressions.nodes import Path
from hashrange.expressions.paths import read_path
from hashrange.expressions.update_operands import (
    INCORRECT_OPERAND,
    GivenValue,
    UpdateOperand,
)
from hashrange.limits import NESTING_LEVELS_MAX
from hashrange.model import numbers
from hashrange.model.sets import sort_members
from hashrange.model.values import Item, Value

INVALID_PATH: Final = "The document path provided in the update expression is invalid for update"
_TOO_DEEP: Final = (
    "Nesting Levels have exceeded supported limits: "
    "Attributes in the item have nested levels beyond supported limit"
)


@final
class SetAttribute:
    """SET of a top-level attribute."""

    __slots__ = ("_name", "_operand", "path")

    def __init__(self, name: str, operand: UpdateOperand) -> None:
        self._name = name
        self._operand = operand
        self.path: Path = (name,)

    def apply(self, old: Item, new: Item, values: Values) -> None:
        new[self._name] = self._operand.evaluate(old, values)

    def given(self, values: Values) -> Value | None:
        """Return the request's value if SET assigns it unchanged, or None."""
        return self._operand.evaluate({}, values) if type(self._operand) is GivenValue else None


@final
class SetAction:
    """SET of an element of a map or list."""

    __slots__ = ("_operand", "path")

    def __init__(self, path: Path, operand: UpdateOperand) -> None:
        self.path = path
        self._operand = operand

    def apply(self, old: Item, new: Item, values: Values) -> None:
        check_parent(old, self.path)
        assign(new, self.path, self._operand.evaluate(old, values))


@final
class AddAction:
    """ADD of a number or of the members of a set; for legacy updates also of list elements."""

    __slots__ = ("_mismatch", "_value", "path")

    def __init__(self, path: Path, value: str, mismatch: str = INCORRECT_OPERAND) -> None:
        self.path = path
        self._value = value
        self._mismatch = mismatch

    def apply(self, old: Item, new: Item, values: Values) -> None:
        value = values[self._value]
        current = read_path(old, self.path)
        if current is None:
            assign(new, self.path, value)
            return
        ((kind, content),) = value.items()
        existing = current.get(kind)
        if existing is None:
            raise ValidationException(self._mismatch)
        if kind == "N":
            sum_or_union: Any = numbers.add(existing, content)
        elif kind == "L":
            sum_or_union = existing + content
        else:
            # Nearly sorted, and therefore sorted quickly.
            members = set(existing)
            sum_or_union = existing + [member for member in content if member not in members]
            sort_members(kind, sum_or_union)
        assign(new, self.path, {kind: sum_or_union})


@final
class DeleteAction:
    """DELETE of members of a set."""

    __slots__ = ("_mismatch", "_value", "path")

    def __init__(self, path: Path, value: str, mismatch: str = INCORRECT_OPERAND) -> None:
        self.path = path
        self._value = value
        self._mismatch = mismatch

    def apply(self, old: Item, new: Item, values: Values) -> None:
        ((kind, content),) = values[self._value].items()
        current = read_path(old, self.path)
        if current is None:
            check_parent(old, self.path)
            return
        existing = current.get(kind)
        if existing is None:
            raise ValidationException(self._mismatch)
        deleted = set(content)
        members = [member for member in existing if member not in deleted]
        if members:
            assign(new, self.path, {kind: members})
        else:
            remove(new, self.path)


@final
class RemoveAction:
    """REMOVE of whatever is at the path."""

    __slots__ = ("path",)

    def __init__(self, path: Path) -> None:
        self.path = path

    def apply(self, old: Item, new: Item, values: Values) -> None:
        if len(self.path) == 1:
            new.pop(self.path[0], None)
        elif read_path(old, self.path) is None:
            check_parent(old, self.path)
        else:
            remove(new, self.path)


def check_parent(item: Item, path: Path) -> None:
    """Refuse a path whose parent is absent or of the wrong type."""
    first, *parents = path
    if not parents:
        return
    last = parents.pop()
    parent = read_path(item, (first, *parents))
    if parent is None or ("L" if isinstance(last, int) else "M") not in parent:
        raise ValidationException(INVALID_PATH)


def assign(item: Item, path: Path, value: Value) -> None:
    """Put a value at a path; beyond the end of a list means at its end."""
    if len(path) == 1:
        item[path[0]] = value
        return
    if len(path) + _levels(value) > NESTING_LEVELS_MAX:
        raise ValidationException(_TOO_DEEP)
    container = _copy_parents(item, path)
    last = path[-1]
    if isinstance(last, int) and last >= len(container):
        container.append(value)
    else:
        container[last] = value


def remove(item: Item, path: Path) -> None:
    """Take away the value at a path, which must be there."""
    if len(path) == 1:
        del item[path[0]]
    else:
        del _copy_parents(item, path)[path[-1]]


def _copy_parents(item: Item, path: Path) -> Any:
    """Copy the maps and lists on the way to a path; return the last of them."""
    container: Any = item
    step: str | int = path[0]
    for element in path[1:]:
        kind = "L" if isinstance(element, int) else "M"
        try:
            content = container[step][kind]
        except (KeyError, IndexError):
            raise ValidationException(INVALID_PATH) from None
        content = content.copy()
        container[step] = {kind: content}
        container = content
        step = element
    return container


def _levels(value: Value) -> int:
    """Return how many levels of maps and lists a value nests below itself."""
    levels = 0
    layer = [value]
    while True:
        below: list[Value] = []
        for element in layer:
            if "M" in element:
                below.extend(element["M"].values())
            elif "L" in element:
                below.extend(element["L"])
        if not below:
            return levels
        levels += 1
        layer = below
