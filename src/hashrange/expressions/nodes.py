"""The tree of an expression as it is written: names and values are still placeholders.

Nodes carry the depth of the tree below them, so that the parser can bound it and every walk over
a tree may recurse.
"""

from __future__ import annotations

from typing import final

Element = str | int
"""One step of a document path: an attribute name (or #placeholder as written) or a list index."""

Path = tuple[str, *tuple[Element, ...]]
"""A document path; it starts with a name."""


@final
class PathNode:
    """A document path."""

    __slots__ = ("elements",)
    depth = 0

    def __init__(self, elements: Path) -> None:
        self.elements = elements


@final
class ValueNode:
    """A value placeholder, with its colon."""

    __slots__ = ("name",)
    depth = 0

    def __init__(self, name: str) -> None:
        self.name = name


@final
class CallNode:
    """A function and its operands."""

    __slots__ = ("depth", "function", "operands")

    def __init__(self, function: str, operands: list[Operand]) -> None:
        self.function = function
        self.operands = operands
        self.depth: int = 1 + max(operand.depth for operand in operands)


@final
class ArithmeticNode:
    """A sum or difference."""

    __slots__ = ("depth", "left", "operator", "right")

    def __init__(self, operator: str, left: Operand, right: Operand) -> None:
        self.operator = operator
        self.left = left
        self.right = right
        self.depth: int = 1 + max(left.depth, right.depth)


Operand = PathNode | ValueNode | CallNode | ArithmeticNode


@final
class ComparisonNode:
    """A comparator, BETWEEN or IN and its operands."""

    __slots__ = ("depth", "operands", "operator")

    def __init__(self, operator: str, operands: list[Operand]) -> None:
        self.operator = operator
        self.operands = operands
        self.depth: int = 1 + max(operand.depth for operand in operands)


@final
class NotNode:
    """A negation."""

    __slots__ = ("condition", "depth")

    def __init__(self, condition: ConditionNode) -> None:
        self.condition = condition
        self.depth: int = 1 + condition.depth


@final
class LogicalNode:
    """A run of conditions joined by the same operator, AND or OR."""

    __slots__ = ("conditions", "depth", "operator")

    def __init__(self, operator: str, conditions: list[ConditionNode]) -> None:
        self.operator = operator
        self.conditions = conditions
        self.depth: int = 1 + max(condition.depth for condition in conditions)


ConditionNode = ComparisonNode | CallNode | NotNode | LogicalNode


@final
class ActionNode:
    """One action of an update: the path it changes and, but for REMOVE, an operand."""

    __slots__ = ("operand", "path", "section")

    def __init__(self, section: str, path: PathNode, operand: Operand | None) -> None:
        self.section = section
        self.path = path
        self.operand = operand


@final
class SectionNode:
    """One clause of an update expression: SET, REMOVE, ADD or DELETE and its actions."""

    __slots__ = ("actions", "section")

    def __init__(self, section: str, actions: list[ActionNode]) -> None:
        self.section = section
        self.actions = actions
