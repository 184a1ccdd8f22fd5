"""Translates SET and REMOVE clauses to the actions of an update."""

from __future__ import annotations

from typing import Final, final

from hashrange.errors import ValidationException
from hashrange.expressions.binding import Check, Values
from hashrange.expressions.nodes import (
    ActionNode,
    ArithmeticNode,
    CallNode,
    Operand,
    PathNode,
    ValueNode,
)
from hashrange.expressions.partiql.filters import unrecognized_function, wrong_operand_count
from hashrange.expressions.partiql.terms import Terms
from hashrange.expressions.partiql.tree import Assignment, Call, Node, Operation

_SET_SECTIONS: Final = {"set_add": "ADD", "set_delete": "DELETE"}
_UPDATE_FUNCTIONS: Final = frozenset(("if_not_exists", "list_append"))
_CONDITION_FUNCTIONS: Final = frozenset(
    (
        "attribute_exists",
        "attribute_not_exists",
        "attribute_type",
        "begins_with",
        "contains",
        "size",
    )
)
_SETS: Final = frozenset(("SS", "NS", "BS"))


@final
class _IsSet:
    """The second operand of set_add or set_delete is a set."""

    __slots__ = ("_function", "_name", "_place")

    def __init__(self, node: Call, name: str) -> None:
        self._function = node.function.upper()
        self._name = name
        self._place = node.operands[0].token.place

    def run(self, values: Values) -> None:
        (found,) = values[self._name]
        if found not in _SETS:
            raise ValidationException(
                f"The second argument to {self._function} must be a value with type SET"
                f"{self._place}"
            )


def read_assignment(terms: Terms, assignment: Assignment, checks: list[Check]) -> ActionNode:
    """Return the action of one SET or REMOVE; add the checks that need values to `checks`."""
    path = terms.path(assignment.path)
    value = assignment.value
    if value is None:
        return ActionNode("REMOVE", path, None)
    if isinstance(value, Call) and value.function in _SET_SECTIONS:
        return _change_of_set(terms, path, value, checks)
    return ActionNode("SET", path, _operand(terms, value))


def _change_of_set(terms: Terms, path: PathNode, node: Call, checks: list[Check]) -> ActionNode:
    function = node.function.upper()
    if len(node.operands) != 2:
        raise ValidationException(f"{function} must have exactly two arguments{node.token.place}")
    first, second = (
        None if isinstance(operand, Call | Operation) else terms.operand(operand)
        for operand in node.operands
    )
    if not isinstance(first, PathNode) or first.elements != path.elements:
        raise ValidationException(
            f"The first argument to {function} must equal the assignment value{node.token.place}"
        )
    if not isinstance(second, ValueNode):
        raise ValidationException(
            f"The second argument to {function} must be a value with type SET"
            f"{node.operands[0].token.place}"
        )
    checks.append(_IsSet(node, second.name))
    return ActionNode(_SET_SECTIONS[node.function], path, second)


def _operand(terms: Terms, node: Node) -> Operand:
    if isinstance(node, Call):
        return _call(terms, node)
    if isinstance(node, Operation):
        return _arithmetic(terms, node)
    operand = terms.operand(node)
    if operand is None:
        raise ValidationException(f"Unsupported token in expression: {node.title}")
    return operand


def _call(terms: Terms, node: Call) -> CallNode:
    function = node.function
    if function in _CONDITION_FUNCTIONS:
        raise ValidationException(
            f"The function is not allowed in an update expression; function: {function}"
        )
    if function not in _UPDATE_FUNCTIONS:
        raise unrecognized_function(node)
    if not node.operands:
        raise wrong_operand_count(node)
    return CallNode(function, [_operand(terms, operand) for operand in node.operands])


def _arithmetic(terms: Terms, node: Operation) -> ArithmeticNode:
    if node.operator not in ("+", "-"):
        raise ValidationException(
            f"Unsupported operator in Update Expression. Operator: {node.operator}"
        )
    operands = [_operand(terms, operand) for operand in node.operands]
    if len(operands) != 2:
        raise ValidationException(
            "Incorrect number of operands for operator or function; "
            f"operator or function: {node.operator}, number of operands: {len(operands)}"
        )
    return ArithmeticNode(node.operator, operands[0], operands[1])
