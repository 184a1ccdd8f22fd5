"""The top-level attributes that an expression mentions anywhere, read or written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final

from hashrange.expressions.nodes import (
    ActionNode,
    ArithmeticNode,
    CallNode,
    ComparisonNode,
    ConditionNode,
    LogicalNode,
    NotNode,
    Operand,
    PathNode,
)
from hashrange.expressions.parser import Parser

_KEPT_MAX: Final = 1024

Resolve = Callable[[PathNode], str]
"""Returns the top-level attribute of a path."""


def mentioned(parameter: str, text: str, names: Mapping[str, str]) -> list[str]:
    """Return the attributes an expression mentions; the parameter says what kind it is.

    Raises AWS's refusal if the expression does not parse.
    """
    return [names.get(name, name) for name in _written(parameter, text)]


@lru_cache(_KEPT_MAX)
def _written(parameter: str, text: str) -> tuple[str, ...]:
    """Return the attributes as written, placeholders included."""
    parser = Parser(parameter, text)
    found: dict[str, None] = {}
    if parameter == "ProjectionExpression":
        for path in parser.projection():
            found[path.elements[0]] = None
    elif parameter == "UpdateExpression":
        for section in parser.update():
            for action in section.actions:
                collect_action(action, _first, found)
    else:
        collect(parser.condition(), _first, found)
    return tuple(found)


def _first(path: PathNode) -> str:
    return path.elements[0]


def collect_action(action: ActionNode, resolve: Resolve, found: dict[str, None]) -> None:
    """Add the attributes of an action of an update."""
    found[resolve(action.path)] = None
    if action.operand is not None:
        collect(action.operand, resolve, found)


def collect(node: ConditionNode | Operand, resolve: Resolve, found: dict[str, None]) -> None:
    """Add the attributes of a condition or an operand."""
    if isinstance(node, PathNode):
        found[resolve(node)] = None
    elif isinstance(node, LogicalNode):
        for condition in node.conditions:
            collect(condition, resolve, found)
    elif isinstance(node, NotNode):
        collect(node.condition, resolve, found)
    elif isinstance(node, ComparisonNode | CallNode):
        for operand in node.operands:
            collect(operand, resolve, found)
    elif isinstance(node, ArithmeticNode):
        collect(node.left, resolve, found)
        collect(node.right, resolve, found)
