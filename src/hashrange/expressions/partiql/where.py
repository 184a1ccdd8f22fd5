"""A bound WHERE clause: its tests on attributes that may be keys, and its condition on items.

Each alternative (an operand of a top-level OR) is a list of conjuncts. A conjunct that compares an
attribute with values may be a key condition; which attributes are keys is known only once the
table is known.
"""

from __future__ import annotations

from typing import Final, final

from hashrange.expressions.binding import Check, Values, run_checks
from hashrange.expressions.conditions import Condition, bind_condition
from hashrange.expressions.nodes import (
    CallNode,
    ComparisonNode,
    ConditionNode,
    LogicalNode,
    NotNode,
    Operand,
    PathNode,
    ValueNode,
)
from hashrange.expressions.partiql.terms import Terms
from hashrange.expressions.predicates import Predicate

_MIRRORED: Final = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


@final
class AttributeTest:
    """A comparison of a top-level attribute with values, which are named."""

    __slots__ = ("attribute", "operator", "values")

    def __init__(self, attribute: str, operator: str, values: tuple[str, ...]) -> None:
        self.attribute = attribute
        self.operator = operator
        self.values = values


@final
class Conjunct:
    """One of the conditions that an AND joins."""

    __slots__ = ("attributes", "negated_test", "test")

    def __init__(self, terms: Terms, node: ConditionNode) -> None:
        self.test = _test(terms, node)
        self.negated_test = _test(terms, node.condition) if isinstance(node, NotNode) else None
        attributes: set[str] = set()
        _collect_attributes(terms, node, attributes)
        self.attributes = frozenset(attributes)


@final
class Where:
    """A WHERE clause of a prepared statement."""

    __slots__ = ("_checks", "_predicate", "alternatives", "attributes", "nested_attributes")

    def __init__(self, terms: Terms, node: ConditionNode) -> None:
        binder = terms.binder()
        self._predicate: Predicate = bind_condition(binder, node)
        self._checks: tuple[Check, ...] = tuple(binder.checks)
        self.attributes = frozenset(binder.attributes)
        self.nested_attributes = frozenset(binder.nested)
        self.alternatives = tuple(
            tuple(Conjunct(terms, conjunct) for conjunct in _operands("AND", alternative))
            for alternative in _operands("OR", node)
        )

    def check(self, values: Values) -> None:
        """Check the types of the values."""
        run_checks(self._checks, values)

    def bind(self, values: Values) -> Condition:
        """Return the clause as a condition on items."""
        return Condition(self._predicate, values, self.attributes, self.nested_attributes)

    @property
    def predicate(self) -> Predicate:
        return self._predicate


def _operands(operator: str, node: ConditionNode) -> list[ConditionNode]:
    """Return the conditions that an operator joins, through parentheses."""
    if not isinstance(node, LogicalNode) or node.operator != operator:
        return [node]
    return [inner for operand in node.conditions for inner in _operands(operator, operand)]


def _test(terms: Terms, node: ConditionNode) -> AttributeTest | None:
    if isinstance(node, ComparisonNode):
        operator, operands = node.operator, node.operands
    elif isinstance(node, CallNode) and node.function in ("begins_with", "contains"):
        operator, operands = node.function, node.operands
    else:
        return None
    if isinstance(operands[0], ValueNode) and operator in _MIRRORED:
        operator, operands = _MIRRORED[operator], operands[::-1]
    path, *rest = operands
    names = [operand.name for operand in rest if isinstance(operand, ValueNode)]
    if not isinstance(path, PathNode) or len(path.elements) > 1 or len(names) < len(rest):
        return None
    return AttributeTest(terms.resolve(path)[0], operator, tuple(names))


def _collect_attributes(terms: Terms, node: ConditionNode | Operand, found: set[str]) -> None:
    if isinstance(node, PathNode):
        found.add(terms.resolve(node)[0])
    elif isinstance(node, LogicalNode):
        for condition in node.conditions:
            _collect_attributes(terms, condition, found)
    elif isinstance(node, NotNode):
        _collect_attributes(terms, node.condition, found)
    elif isinstance(node, ComparisonNode | CallNode):
        for operand in node.operands:
            _collect_attributes(terms, operand, found)
