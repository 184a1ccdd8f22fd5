"""Condition expressions: parsed, bound and evaluated on items.

The same predicates serve ConditionExpression, FilterExpression and the legacy conditions.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, final

from hashrange.errors import ValidationException
from hashrange.expressions.binding import (
    PREPARED_MAX,
    BetweenBounds,
    Binder,
    NamePairs,
    Refused,
    TypeName,
    Values,
    may_keep,
    run_checks,
)
from hashrange.expressions.nodes import (
    CallNode,
    ComparisonNode,
    ConditionNode,
    LogicalNode,
    NotNode,
    Operand,
    Path,
    PathNode,
    ValueNode,
)
from hashrange.expressions.operands import (
    AttributeOperand,
    Evaluable,
    PathOperand,
    SizeOperand,
    ValueOperand,
    path_operand,
)
from hashrange.expressions.parser import Parser, too_many_operators
from hashrange.expressions.predicates import (
    And,
    BeginsWith,
    Between,
    Contains,
    Equal,
    Exists,
    HasType,
    In,
    Not,
    NotEqual,
    NotExists,
    Or,
    Ordered,
    Predicate,
)
from hashrange.expressions.statics import check_condition
from hashrange.limits import EXPRESSION_OPERATORS_MAX, IN_OPERANDS_MAX
from hashrange.model.values import Item

_ORDERED: Final = frozenset(("S", "N", "B"))
_TEXT: Final = frozenset(("S", "B"))
_NAMES_OF_TYPES: Final = frozenset(("S",))
_SIZED: Final = frozenset(("S", "B", "SS", "NS", "BS", "M", "L"))
_ANY_TYPE_PRINTED: Final = "{NS,SS,L,BS,N,M,B,BOOL,NULL,S}"


@final
class Condition:
    """A condition bound to the values of a request."""

    __slots__ = ("_predicate", "_values", "attributes", "is_legacy", "nested_attributes")

    def __init__(
        self,
        predicate: Predicate,
        values: Values,
        attributes: frozenset[str],
        nested_attributes: frozenset[str] = frozenset(),
        *,
        is_legacy: bool = False,
    ) -> None:
        self._predicate = predicate
        self._values = values
        # Top-level attributes it mentions, and those it reads by a longer path.
        self.attributes = attributes
        self.nested_attributes = nested_attributes
        self.is_legacy = is_legacy

    def matches(self, item: Item) -> bool:
        """Tell whether an item meets the condition; an absent item is {}."""
        return self._predicate.evaluate(item, self._values)


@final
class PreparedCondition:
    """A condition expression bound to its names."""

    __slots__ = (
        "_checks",
        "_predicate",
        "attributes",
        "nested_attributes",
        "used_names",
        "used_values",
    )

    def __init__(self, binder: Binder, predicate: Predicate | None) -> None:
        self._predicate = predicate
        self._checks = tuple(binder.checks)
        self.attributes = frozenset(binder.attributes)
        self.nested_attributes = frozenset(binder.nested)
        self.used_names = frozenset(binder.used_names)
        self.used_values = frozenset(binder.used_values)

    def bind(self, values: Values) -> Condition:
        """Check the values and return the condition for them."""
        run_checks(self._checks, values)
        assert self._predicate is not None
        return Condition(self._predicate, values, self.attributes, self.nested_attributes)


def prepare_condition(kind: str, text: str, names: NamePairs) -> PreparedCondition:
    """Parse a condition expression and bind it to its names, or return it from the cache."""
    return _kept(kind, text, names) if may_keep(text, names) else _prepare(kind, text, names)


def _prepare(kind: str, text: str, names: NamePairs) -> PreparedCondition:
    parser = Parser(kind, text)
    node = parser.condition()
    check_condition(kind, node)
    binder = Binder(kind, names)
    predicate = None
    try:
        predicate = bind_condition(binder, node)
        if parser.operators > EXPRESSION_OPERATORS_MAX:
            raise too_many_operators(kind)
    except ValidationException as error:
        binder.checks.append(Refused(error.message))
    return PreparedCondition(binder, predicate)


_kept = lru_cache(PREPARED_MAX)(_prepare)


def bind_condition(binder: Binder, node: ConditionNode) -> Predicate:
    """Bind a condition: check its operands and return what evaluates it."""
    if isinstance(node, LogicalNode):
        predicates = tuple([bind_condition(binder, condition) for condition in node.conditions])
        return And(predicates) if node.operator == "AND" else Or(predicates)
    if isinstance(node, NotNode):
        return Not(bind_condition(binder, node.condition))
    operands = [_bind_operand(binder, operand) for operand in node.operands]
    if isinstance(node, ComparisonNode):
        _check_comparison(binder, node, operands)
        return _comparison(node.operator, operands)
    _check_function(binder, node, operands)
    return _function(node.function, operands)


def _comparison(operator: str, operands: list[Evaluable]) -> Predicate:
    if operator == "IN":
        return In(operands[0], tuple(operands[1:]))
    if operator == "BETWEEN":
        return Between(operands[0], operands[1], operands[2])
    left, right = operands
    if operator == "=":
        return Equal(left, right)
    return NotEqual(left, right) if operator == "<>" else Ordered(operator, left, right)


def _function(function: str, operands: list[Evaluable]) -> Predicate:
    if function == "attribute_exists":
        return Exists(operands[0])
    if function == "attribute_not_exists":
        return NotExists(operands[0])
    first, second = operands
    if function == "attribute_type":
        return HasType(first, second)
    return BeginsWith(first, second) if function == "begins_with" else Contains(first, second)


def _bind_operand(binder: Binder, node: Operand) -> Evaluable:
    if isinstance(node, PathNode):
        return path_operand(binder.path(node))
    if isinstance(node, ValueNode):
        return ValueOperand(binder.value(node))
    assert isinstance(node, CallNode)
    assert node.function == "size"
    operands = [_bind_operand(binder, operand) for operand in node.operands]
    binder.check_count("size", operands, 1)
    binder.check_type("size", node.operands[0], _SIZED)
    return SizeOperand(operands[0])


def _paths(operands: list[Evaluable]) -> list[Path | None]:
    return [
        (operand.name,)
        if isinstance(operand, AttributeOperand)
        else operand.path
        if isinstance(operand, PathOperand)
        else None
        for operand in operands
    ]


def _check_comparison(binder: Binder, node: ComparisonNode, operands: list[Evaluable]) -> None:
    operator = node.operator
    if operator == "IN" and len(operands) - 1 > IN_OPERANDS_MAX:
        binder.refuse(
            "The IN operator is provided with too many operands; "
            f"number of operands: {len(operands) - 1}"
        )
    if operator not in ("=", "<>", "IN"):
        for operand in node.operands:
            binder.check_type(operator, operand, _ORDERED)
    binder.check_distinct(operator, _paths(operands))
    if operator == "BETWEEN":
        lower, upper = node.operands[1:]
        if isinstance(lower, ValueNode) and isinstance(upper, ValueNode):
            binder.checks.append(BetweenBounds(binder.kind, lower.name, upper.name))


def _check_function(binder: Binder, node: CallNode, operands: list[Evaluable]) -> None:
    function = node.function
    if function in ("attribute_exists", "attribute_not_exists"):
        binder.check_count(function, operands, 1)
        binder.check_document_path(function, node.operands[0])
        return
    binder.check_count(function, operands, 2)
    second = node.operands[1]
    if function == "begins_with":
        binder.check_type(function, node.operands[0], _TEXT)
        binder.check_type(function, second, _TEXT)
    elif function == "attribute_type":
        binder.check_type(function, second, _NAMES_OF_TYPES)
    binder.check_distinct(function, _paths(operands))
    if function == "attribute_type":
        if not isinstance(second, ValueNode):
            binder.refuse(
                "Incorrect operand type for operator or function; "
                f"operator or function: attribute_type, operand type: {_ANY_TYPE_PRINTED}"
            )
        binder.checks.append(TypeName(binder.kind, second.name))
