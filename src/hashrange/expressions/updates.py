"""Updates: applies an update expression to an item and returns a new item.

Operands are read from the old item. SET, ADD and DELETE are carried out first, then REMOVE,
so that list indexes mean the positions the item had. The old item is never changed: maps and
lists on the way to a change are copied.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final, Protocol, final

from hashrange.errors import ValidationException
from hashrange.expressions.actions import (
    AddAction,
    DeleteAction,
    RemoveAction,
    SetAction,
    SetAttribute,
)
from hashrange.expressions.binding import (
    PREPARED_MAX,
    Binder,
    NamePairs,
    Refused,
    Values,
    may_keep,
    run_checks,
)
from hashrange.expressions.charges import Charge, charge_update
from hashrange.expressions.nodes import (
    ActionNode,
    ArithmeticNode,
    CallNode,
    Operand,
    Path,
    PathNode,
    ValueNode,
)
from hashrange.expressions.parser import Parser, invalid, too_many_operators
from hashrange.expressions.projections import Projection
from hashrange.expressions.statics import check_update
from hashrange.expressions.update_operands import (
    Arithmetic,
    GivenValue,
    IfNotExists,
    ItemValue,
    ListAppend,
    UpdateOperand,
)
from hashrange.limits import EXPRESSION_OPERATORS_MAX
from hashrange.model.values import Item, Value

KIND: Final = "UpdateExpression"

_NUMBER: Final = frozenset(("N",))
_LIST: Final = frozenset(("L",))
_ADDABLE: Final = frozenset(("N", "SS", "NS", "BS"))
_DELETABLE: Final = frozenset(("SS", "NS", "BS"))
TYPE_NAMES: Final = {
    "S": "STRING",
    "N": "NUMBER",
    "B": "BINARY",
    "SS": "STRING_SET",
    "NS": "NUMBER_SET",
    "BS": "BINARY_SET",
    "M": "MAP",
    "L": "LIST",
    "NULL": "NULL",
    "BOOL": "BOOLEAN",
}


class Action(Protocol):
    """One change to an item."""

    path: Path

    def apply(self, old: Item, new: Item, values: Values) -> None:
        """Change `new`, reading `old`; raise ValidationException if it cannot be done."""


@final
class Update:
    """An update bound to the values of a request."""

    __slots__ = (
        "_actions",
        "_charge",
        "_touched",
        "_values",
        "attributes",
        "nested_attributes",
    )

    def __init__(
        self,
        actions: tuple[Action, ...],
        touched: Projection,
        values: Values,
        charge: Charge | None = None,
        nested_attributes: frozenset[str] = frozenset(),
    ) -> None:
        self._actions = actions
        self._touched = touched
        self._values = values
        self._charge = charge
        # Top-level attributes it may change, and those it changes or reads by a longer path.
        self.attributes = touched.attributes
        self.nested_attributes = nested_attributes

    @property
    def cost(self) -> int:
        """The bytes UpdateItem counts for the expression itself; legacy updates cost nothing."""
        return 0 if self._charge is None else self._charge.total(self._values)

    @property
    def only_takes_away(self) -> bool:
        """Whether it has only REMOVE and DELETE actions: it does nothing to an absent item."""
        actions = self._actions
        return bool(actions) and all(
            isinstance(action, RemoveAction | DeleteAction) for action in actions
        )

    def apply(self, item: Item) -> Item:
        """Return the updated item; the given one is left as it is."""
        new = item.copy()
        values = self._values
        for action in self._actions:
            action.apply(item, new, values)
        return new

    def given(self, name: str) -> Value | None:
        """Return the request's value that SET assigns unchanged to an attribute, or None."""
        for action in self._actions:
            if type(action) is SetAttribute and action.path[0] == name:
                return action.given(self._values)
        return None

    def updated(self, item: Item) -> Item:
        """Return the parts of an item that lie at the paths of this update."""
        return self._touched.apply(item)


def order_actions(actions: Sequence[Action]) -> tuple[Action, ...]:
    """Return actions in the order they are carried out.

    Elements added to one list go to its end in the order of their indexes. Removals come last,
    and those from one list from its end, so that indexes stay what they were.
    """
    removals = [action for action in actions if isinstance(action, RemoveAction)]
    others = [action for action in actions if not isinstance(action, RemoveAction)]
    # Paths that do not overlap or conflict can be compared: they differ in elements of one type.
    removals.sort(key=_path_of, reverse=True)
    others.sort(key=_path_of)
    return (*others, *removals)


def _path_of(action: Action) -> Path:
    return action.path


@final
class PreparedUpdate:
    """An update expression bound to its names."""

    __slots__ = (
        "_actions",
        "_charge",
        "_checks",
        "_nested_attributes",
        "_touched",
        "used_names",
        "used_values",
    )

    def __init__(
        self,
        binder: Binder,
        paths: Sequence[Path],
        actions: Sequence[Action] | None,
        charge: Charge | None,
    ) -> None:
        self._checks = tuple(binder.checks)
        self._charge = charge
        self._actions = None if actions is None else order_actions(actions)
        self._touched = None if actions is None else Projection(tuple(paths))
        self._nested_attributes = frozenset(binder.nested)
        self.used_names = frozenset(binder.used_names)
        self.used_values = frozenset(binder.used_values)

    def bind(self, values: Values) -> Update:
        """Check the values and return the update for them."""
        run_checks(self._checks, values)
        assert self._actions is not None
        assert self._touched is not None
        return Update(self._actions, self._touched, values, self._charge, self._nested_attributes)


def prepare_update(text: str, names: NamePairs) -> PreparedUpdate:
    """Parse an update expression and bind it to its names, or return it from the cache."""
    return _kept(text, names) if may_keep(text, names) else _prepare(text, names)


def _prepare(text: str, names: NamePairs) -> PreparedUpdate:
    parser = Parser(KIND, text)
    sections = parser.update()
    check_update(KIND, sections)
    nodes = [action for section in sections for action in section.actions]
    return bind_update(Binder(KIND, names), nodes, parser.operators)


def bind_update(binder: Binder, nodes: Sequence[ActionNode], operators: int) -> PreparedUpdate:
    """Bind the actions of an update: check their paths and operands."""
    paths: list[Path] = []
    actions: list[Action] | None = None
    charge = None
    try:
        # AWS looks at the actions from the last to the first, and at all their paths before it
        # looks at any operand.
        paths = binder.distinct_paths([node.path for node in nodes])
        bound = [
            _bind_action(binder, *pair) for pair in reversed([*zip(nodes, paths, strict=True)])
        ]
        bound.reverse()
        if operators > EXPRESSION_OPERATORS_MAX:
            raise too_many_operators(binder.kind)
        actions = bound
        charge = charge_update(binder, nodes)
    except ValidationException as error:
        binder.checks.append(Refused(error.message))
    return PreparedUpdate(binder, paths, actions, charge)


_kept = lru_cache(PREPARED_MAX)(_prepare)


def _bind_action(binder: Binder, node: ActionNode, path: Path) -> Action:
    if node.operand is None:
        return RemoveAction(path)
    if node.section == "SET":
        operand = _bind_operand(binder, node.operand)
        return SetAttribute(path[0], operand) if len(path) == 1 else SetAction(path, operand)
    assert isinstance(node.operand, ValueNode)
    name = binder.value(node.operand)
    if node.section == "ADD":
        binder.checks.append(_ActionType("ADD", name, _ADDABLE))
        return AddAction(path, name)
    binder.checks.append(_ActionType("DELETE", name, _DELETABLE))
    return DeleteAction(path, name)


def _bind_operand(binder: Binder, node: Operand) -> UpdateOperand:
    if isinstance(node, ValueNode):
        return GivenValue(binder.value(node))
    if isinstance(node, PathNode):
        return ItemValue(binder.path(node))
    if isinstance(node, ArithmeticNode):
        left = _bind_operand(binder, node.left)
        right = _bind_operand(binder, node.right)
        _check_value_type(binder, node.operator, node.left, _NUMBER)
        _check_value_type(binder, node.operator, node.right, _NUMBER)
        return Arithmetic(node.operator, left, right)
    return _bind_function(binder, node)


def _bind_function(binder: Binder, node: CallNode) -> UpdateOperand:
    function = node.function
    operands = [_bind_operand(binder, operand) for operand in node.operands]
    binder.check_count(function, operands, 2)
    first, second = node.operands
    if function == "list_append":
        _check_value_type(binder, function, first, _LIST)
        _check_value_type(binder, function, second, _LIST)
        return ListAppend(*operands)
    path = binder.path(binder.check_document_path(function, first))
    default = binder.path(second) if isinstance(second, PathNode) else None
    binder.check_distinct(function, (path, default))
    return IfNotExists(path, operands[1])


def _check_value_type(binder: Binder, operator: str, node: Operand, types: frozenset[str]) -> None:
    # The result of a function in an update has no type before there is an item.
    if isinstance(node, ValueNode):
        binder.check_type(operator, node, types)


@final
class _ActionType:
    """A value has one of the types its section takes."""

    __slots__ = ("_name", "_section", "_types")

    def __init__(self, section: str, name: str, types: frozenset[str]) -> None:
        self._section = section
        self._name = name
        self._types = types

    def run(self, values: Values) -> None:
        (found,) = values[self._name]
        if found not in self._types:
            raise invalid(
                KIND,
                "Incorrect operand type for operator or function; "
                f"operator: {self._section}, operand type: {TYPE_NAMES[found]}, "
                f"typeSet: ALLOWED_FOR_{self._section}_OPERAND",
            )
