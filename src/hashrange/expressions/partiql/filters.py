"""Translates WHERE clauses to the condition trees of expressions."""

from __future__ import annotations

from typing import Final

from hashrange.errors import ValidationException
from hashrange.expressions.nodes import (
    CallNode,
    ComparisonNode,
    ConditionNode,
    LogicalNode,
    NotNode,
    Operand,
)
from hashrange.expressions.partiql.terms import Terms
from hashrange.expressions.partiql.tree import (
    Call,
    Literal,
    Node,
    Operation,
    Parameter,
    PathTree,
    Reference,
    Select,
    Sequence,
    TypeTest,
)
from hashrange.model.values import Value

_PREDICATES: Final = frozenset(
    ("attribute_exists", "attribute_not_exists", "attribute_type", "begins_with", "contains")
)
_COMPARISONS: Final = frozenset(("=", "<>", "<", "<=", ">", ">="))
_MEMBERSHIP: Final = (
    "IN operator must have a left hand argument of type Variable Reference and right hand "
    "argument of type Seq with at least one member"
)
# The types IS may name, and the attribute types they mean; the rest of its words it refuses.
_TYPES: Final = {
    "NULL": "NULL",
    "BOOLEAN": "BOOL",
    "BLOB": "B",
    "STRING": "S",
    "NUMERIC": "N",
    "STRUCT": "M",
    "TUPLE": "M",
    "LIST": "L",
}
_TRUE: Final[Value] = {"BOOL": True}
_FALSE: Final[Value] = {"BOOL": False}


def read_where(terms: Terms, node: Node) -> ConditionNode:
    """Return the condition a WHERE clause states."""
    condition = _condition(terms, node)
    if condition is None:
        raise ValidationException(
            "WHERE clause must contain an expression that resolves to a boolean"
        )
    return condition


def _condition(terms: Terms, node: Node) -> ConditionNode | None:
    """Return the condition of a node, or None if the node is not a condition."""
    if isinstance(node, Operation):
        return _operation(terms, node)
    if isinstance(node, TypeTest):
        return _type_test(terms, node)
    if isinstance(node, Call):
        return _predicate(terms, node)
    if isinstance(node, Select):
        raise ValidationException(f"Unsupported token in expression: SELECT{node.token.place}")
    return None


def _operation(terms: Terms, node: Operation) -> ConditionNode:
    operator = node.operator
    if operator in ("and", "or"):
        conditions = [_condition(terms, operand) for operand in node.operands]
        found = [condition for condition in conditions if condition is not None]
        if len(found) < len(conditions):
            raise ValidationException("The arguments to AND/OR must be Expressions")
        return LogicalNode(operator.upper(), found)
    if operator == "not":
        condition = _condition(terms, node.operands[0])
        if condition is None:
            raise ValidationException("The argument to NOT must be a Type or Expression")
        return NotNode(condition)
    if operator == "between":
        return ComparisonNode("BETWEEN", [_operand(terms, operand) for operand in node.operands])
    if operator == "in":
        return _membership(terms, node)
    if operator in _COMPARISONS:
        return _comparison(terms, node)
    raise _unsupported_operator(operator)


def _unsupported_operator(operator: str) -> ValidationException:
    return ValidationException(
        f"Unsupported operator in Condition Expression. Operator: {operator}"
    )


def _comparison(terms: Terms, node: Operation) -> ConditionNode:
    left, right = node.operands
    for condition_node, other in ((left, right), (right, left)):
        condition = _truth(terms, condition_node)
        if condition is not None:
            return _compared_truth(terms, node.operator, condition, other)
    return ComparisonNode(node.operator, [_operand(terms, left), _operand(terms, right)])


def _truth(terms: Terms, node: Node) -> ConditionNode | None:
    """Return the condition if an operand of a comparison is one, otherwise None."""
    if isinstance(node, Call) and node.function == "size":
        return None
    if isinstance(node, Operation) and node.operator in ("+", "-", "*", "/", "%", "||"):
        raise _unsupported_operator(node.operator)
    return _condition(terms, node)


def _compared_truth(
    terms: Terms, operator: str, condition: ConditionNode, other: Node
) -> ConditionNode:
    """Return a condition compared with true or false, given as a literal or a parameter."""
    if operator not in ("=", "<>"):
        raise _unsupported_operator(operator)
    negated = NotNode(condition)
    if operator == "<>":
        condition, negated = negated, NotNode(negated)
    if isinstance(other, Literal) and other.token.kind in ("true", "false"):
        return condition if other.token.kind == "true" else negated
    value = _operand(terms, other)
    return LogicalNode(
        "OR",
        [
            LogicalNode("AND", [condition, ComparisonNode("=", [value, terms.constant(_TRUE)])]),
            LogicalNode("AND", [negated, ComparisonNode("=", [value, terms.constant(_FALSE)])]),
        ],
    )


def _membership(terms: Terms, node: Operation) -> ConditionNode:
    left, right = node.operands
    members = right.members if isinstance(right, Sequence) else [right]
    # One member in parentheses reads as that member.
    is_list = isinstance(right, Sequence) or (
        right.in_parentheses and not isinstance(right, Select)
    )
    if not members or not is_list:
        raise ValidationException(_MEMBERSHIP)
    return ComparisonNode(
        "IN", [_operand(terms, left), *(_operand(terms, member) for member in members)]
    )


def _predicate(terms: Terms, node: Call) -> ConditionNode | None:
    function = node.function
    if function == "size":
        return None
    if function == "exists" and len(node.operands) == 1 and isinstance(node.operands[0], Select):
        raise ValidationException(
            f"Unsupported token in expression: SELECT{node.operands[0].token.place}"
        )
    if function not in _PREDICATES:
        raise unrecognized_function(node)
    return _call(terms, node)


def unrecognized_function(node: Call) -> ValidationException:
    """Return the error for a function that is unknown or not allowed here."""
    return ValidationException(f"Unrecognized function: {node.function}{node.token.place}")


def _call(terms: Terms, node: Call) -> CallNode:
    if not node.operands:
        raise wrong_operand_count(node)
    return CallNode(node.function, [_operand(terms, operand) for operand in node.operands])


def wrong_operand_count(node: Call) -> ValidationException:
    """Return the refusal of a function with too few or too many operands."""
    return ValidationException(
        "Incorrect number of operands for operator or function; "
        f"operator or function: {node.function}, number of operands: {len(node.operands)}"
    )


def _type_test(terms: Terms, node: TypeTest) -> ConditionNode:
    if not isinstance(node.operand, Reference | PathTree | Literal | Sequence | Parameter):
        raise ValidationException(
            "The left hand side argument to IS must be a Variable Reference, Literal, or Path"
        )
    operand = _operand(terms, node.operand)
    if node.type == "MISSING":
        return CallNode("attribute_not_exists", [operand])
    kind = _TYPES.get(node.type)
    if kind is None:
        raise ValidationException(
            f"Unsupported data type for IS operator: {node.type}. Supported data types are "
            f"[MISSING, {', '.join(_TYPES)}]{node.token.place}"
        )
    return CallNode("attribute_type", [operand, terms.constant({"S": kind})])


def _operand(terms: Terms, node: Node) -> Operand:
    if isinstance(node, Call):
        if node.function != "size":
            raise unrecognized_function(node)
        return _call(terms, node)
    if isinstance(node, Operation):
        raise _unsupported_operator(node.operator)
    operand = terms.operand(node)
    if operand is None:
        raise ValidationException(f"Unsupported token in expression: {node.title}")
    return operand
