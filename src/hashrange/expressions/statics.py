"""Static checks: what AWS checks in a parsed expression before it resolves names and values.

Walks the tree in the order of the text and reports the first error: a reserved word, an unknown
or misplaced function, a path that is too long, an index that is too large, or a section that
appears twice.
"""

from __future__ import annotations

from typing import Final

from hashrange.expressions.nodes import (
    ArithmeticNode,
    CallNode,
    ComparisonNode,
    ConditionNode,
    LogicalNode,
    NotNode,
    Operand,
    PathNode,
    SectionNode,
    ValueNode,
)
from hashrange.expressions.parser import invalid
from hashrange.expressions.reserved import RESERVED_WORDS
from hashrange.limits import NESTING_LEVELS_MAX

_PREDICATES: Final = frozenset(
    ("attribute_exists", "attribute_not_exists", "attribute_type", "begins_with", "contains")
)
_CONDITION_FUNCTIONS: Final = _PREDICATES | {"size"}
_UPDATE_FUNCTIONS: Final = frozenset(("if_not_exists", "list_append"))
_INDEX_MAX: Final = 2**31 - 1


def check_condition(kind: str, node: ConditionNode) -> None:
    """Check a condition."""
    if isinstance(node, LogicalNode):
        for condition in node.conditions:
            check_condition(kind, condition)
    elif isinstance(node, NotNode):
        check_condition(kind, node.condition)
    elif isinstance(node, ComparisonNode):
        for operand in node.operands:
            _check_condition_operand(kind, operand)
    else:
        _check_condition_function(kind, node.function)
        if node.function not in _PREDICATES:
            raise _misused(kind, node.function)
        for operand in node.operands:
            _check_condition_operand(kind, operand)


def _check_condition_operand(kind: str, operand: Operand) -> None:
    if isinstance(operand, PathNode):
        check_path(kind, operand)
    elif isinstance(operand, CallNode):
        _check_condition_function(kind, operand.function)
        if operand.function != "size":
            raise _misused(kind, operand.function)
        for inner in operand.operands:
            _check_condition_operand(kind, inner)


def _check_condition_function(kind: str, function: str) -> None:
    if function in _CONDITION_FUNCTIONS:
        return
    if function in _UPDATE_FUNCTIONS:
        raise invalid(
            kind, f"The function is not allowed in a condition expression; function: {function}"
        )
    raise invalid(kind, f"Invalid function name; function: {function}")


def check_update(kind: str, sections: list[SectionNode]) -> None:
    """Check an update."""
    seen: set[str] = set()
    for section in sections:
        for action in section.actions:
            check_path(kind, action.path)
            if action.operand is not None:
                _check_update_operand(kind, action.operand, nested=False)
        if section.section in seen:
            raise invalid(
                kind,
                f'The "{section.section}" section can only be used once in an update expression;',
            )
        seen.add(section.section)


def _check_update_operand(kind: str, operand: Operand, *, nested: bool) -> None:
    if isinstance(operand, PathNode):
        check_path(kind, operand)
    elif isinstance(operand, ArithmeticNode):
        _check_update_operand(kind, operand.left, nested=True)
        _check_update_operand(kind, operand.right, nested=True)
    elif not isinstance(operand, ValueNode):
        function = operand.function
        if function in _CONDITION_FUNCTIONS:
            raise invalid(
                kind, f"The function is not allowed in an update expression; function: {function}"
            )
        if function not in _UPDATE_FUNCTIONS:
            raise invalid(kind, f"Invalid function name; function: {function}")
        if nested and function == "list_append":
            raise _misused(kind, function)
        for inner in operand.operands:
            _check_update_operand(kind, inner, nested=True)


def check_path(kind: str, path: PathNode) -> None:
    """Check one document path."""
    for element in path.elements:
        if isinstance(element, int):
            if element > _INDEX_MAX:
                raise invalid(
                    kind, f"List index is not within the allowable range; index: [{element}]"
                )
        elif element.upper() in RESERVED_WORDS:
            raise invalid(
                kind, f"Attribute name is a reserved keyword; reserved keyword: {element}"
            )
    levels = len(path.elements)
    if levels > NESTING_LEVELS_MAX:
        raise invalid(
            kind, f"The document path has too many nesting levels; nesting levels: {levels}"
        )


def _misused(kind: str, function: str) -> Exception:
    return invalid(
        kind,
        f"The function is not allowed to be used this way in an expression; function: {function}",
    )
