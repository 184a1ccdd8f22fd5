"""Legacy parameters (before expressions), translated to the same predicates and actions.

Expected, QueryFilter, ScanFilter and KeyConditions are conditions by attribute; AttributeUpdates
are actions by attribute; AttributesToGet is a list of names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from hashrange.errors import ValidationException
from hashrange.expressions.actions import AddAction, DeleteAction, RemoveAction, SetAttribute
from hashrange.expressions.conditions import Condition
from hashrange.expressions.key_conditions import KeyCondition, KeyTest
from hashrange.expressions.operands import AttributeOperand, ValueOperand
from hashrange.expressions.predicates import (
    And,
    BeginsWith,
    Between,
    Contains,
    Equal,
    Exists,
    In,
    Not,
    NotEqual,
    NotExists,
    Or,
    Ordered,
    Predicate,
)
from hashrange.expressions.projections import Projection
from hashrange.expressions.update_operands import GivenValue
from hashrange.expressions.updates import TYPE_NAMES, Action, Update, order_actions
from hashrange.model.comparison import compare
from hashrange.model.values import Value, check_name, check_value

_INVALID: Final = "One or more parameter values were invalid: "
_MISMATCH: Final = "Type mismatch for attribute to update"

_SCALARS: Final = frozenset(("S", "N", "B"))
_OPERAND_COUNTS: Final = {"NULL": 0, "NOT_NULL": 0, "BETWEEN": 2}
_OPERAND_TYPES: Final = {
    "LT": _SCALARS,
    "LE": _SCALARS,
    "GT": _SCALARS,
    "GE": _SCALARS,
    "BETWEEN": _SCALARS,
    "IN": _SCALARS,
    "BEGINS_WITH": frozenset(("S", "B")),
    "CONTAINS": frozenset(("S", "N", "B", "BOOL", "NULL")),
    "NOT_CONTAINS": frozenset(("S", "N", "B", "BOOL", "NULL")),
}
_COMPARATORS: Final = {"LT": "<", "LE": "<=", "GT": ">", "GE": ">="}
_KEY_OPERATORS: Final = {**_COMPARATORS, "EQ": "=", "BEGINS_WITH": "begins_with"}
_ADDABLE: Final = frozenset(("N", "SS", "NS", "BS", "L"))
_DELETABLE: Final = frozenset(("SS", "NS", "BS"))


class _Values(dict[str, Value]):
    """Values of a request without placeholders, under names of their own."""

    def add(self, value: Value) -> str:
        name = f":{len(self)}"
        self[name] = value
        return name


def read_expected(expected: Mapping[str, Any], operator: str | None, wording: int) -> Condition:
    """Translate Expected."""
    conditions: dict[str, tuple[str, Sequence[Value]]] = {}
    for attribute, entry in expected.items():
        check_name(attribute)
        conditions[attribute] = _read_expectation(attribute, entry, wording)
    return _join(conditions, operator)


def _read_expectation(
    attribute: str, entry: Mapping[str, Any], wording: int
) -> tuple[str, Sequence[Value]]:
    comparison = entry.get("ComparisonOperator")
    exists = entry.get("Exists")
    value = entry.get("Value")
    operands = entry.get("AttributeValueList")
    for operand in () if operands is None else operands:
        check_value(operand, wording)
    if value is not None:
        check_value(value, wording)
    if comparison is not None and exists is not None:
        raise _refused("Exists and ComparisonOperator cannot be used together", attribute)
    if value is not None and operands is not None:
        raise _refused("Value and AttributeValueList cannot be used together", attribute)
    if comparison is not None:
        if operands is None and value is not None:
            operands = [value]
        if operands is None and comparison not in ("NULL", "NOT_NULL"):
            raise _refused(
                f"Value or AttributeValueList must be used with ComparisonOperator: {comparison}",
                attribute,
            )
        operands = operands or []
        _check_operands(comparison, operands)
        return comparison, operands
    if operands is not None:
        raise _refused("AttributeValueList can only be used with a ComparisonOperator", attribute)
    if exists is False:
        if value is not None:
            raise _refused("Value cannot be used when Exists is false", attribute)
        return "NULL", []
    if value is None:
        stated = "null" if exists is None else "true"
        raise _refused(f"Value must be provided when Exists is {stated}", attribute)
    return "EQ", [value]


def _refused(reason: str, attribute: str) -> ValidationException:
    return ValidationException(f"{_INVALID}{reason} for Attribute: {attribute}")


def read_filter(conditions: Mapping[str, Any], operator: str | None, wording: int) -> Condition:
    """Translate QueryFilter or ScanFilter."""
    return _join(read_conditions(conditions, wording), operator)


def read_conditions(
    conditions: Mapping[str, Any], wording: int
) -> dict[str, tuple[str, Sequence[Value]]]:
    """Check conditions by attribute; return their operators and operands."""
    checked: dict[str, tuple[str, Sequence[Value]]] = {}
    for condition in conditions.values():
        for operand in condition.get("AttributeValueList") or ():
            check_value(operand, wording)
    for attribute, condition in conditions.items():
        check_name(attribute)
        operands = condition.get("AttributeValueList") or []
        _check_operands(condition["ComparisonOperator"], operands)
        checked[attribute] = condition["ComparisonOperator"], operands
    return checked


def _check_operands(operator: str, operands: Sequence[Value]) -> None:
    count = _OPERAND_COUNTS.get(operator, 1)
    if not operands if operator == "IN" else len(operands) != count:
        raise ValidationException(
            f"{_INVALID}Invalid number of argument(s) for the {operator} ComparisonOperator"
        )
    for operand in operands:
        (found,) = operand
        if operator in _OPERAND_TYPES and found not in _OPERAND_TYPES[operator]:
            raise ValidationException(
                f"{_INVALID}ComparisonOperator {operator} is not valid for {found} "
                "AttributeValue type"
            )
    if any(operand.keys() != operands[0].keys() for operand in operands):
        raise ValidationException(
            f"{_INVALID}AttributeValues inside AttributeValueList must be of same type"
        )
    if operator == "BETWEEN" and compare(operands[0], operands[1]) > 0:
        raise ValidationException(
            "The BETWEEN condition was provided a range where the lower bound is greater than "
            "the upper bound"
        )


def _join(conditions: Mapping[str, tuple[str, Sequence[Value]]], operator: str | None) -> Condition:
    values = _Values()
    predicates = tuple(
        [
            _predicate(values, AttributeOperand(attribute), comparison, operands)
            for attribute, (comparison, operands) in conditions.items()
        ]
    )
    joined: Predicate = Or(predicates) if operator == "OR" else And(predicates)
    return Condition(joined, values, frozenset(conditions), is_legacy=True)


def _predicate(
    values: _Values, attribute: AttributeOperand, comparison: str, operands: Sequence[Value]
) -> Predicate:
    if comparison == "NULL":
        return NotExists(attribute)
    if comparison == "NOT_NULL":
        return Exists(attribute)
    bound = [ValueOperand(values.add(operand)) for operand in operands]
    if comparison == "IN":
        return In(attribute, tuple(bound))
    if comparison == "BETWEEN":
        return Between(attribute, bound[0], bound[1])
    operand = bound[0]
    if comparison in _COMPARATORS:
        return Ordered(_COMPARATORS[comparison], attribute, operand)
    if comparison == "EQ":
        return Equal(attribute, operand)
    if comparison == "NE":
        return NotEqual(attribute, operand)
    if comparison == "BEGINS_WITH":
        return BeginsWith(attribute, operand)
    contains = Contains(attribute, operand)
    return contains if comparison == "CONTAINS" else And((Exists(attribute), Not(contains)))


def check_conditional_operator(operator: str | None, conditions: Mapping[str, Any] | None) -> None:
    """Refuse a ConditionalOperator without conditions to join."""
    if operator is None:
        return
    if not conditions:
        raise ValidationException("ConditionalOperator cannot be used without Filter or Expected")
    if len(conditions) < 2:
        raise ValidationException(
            "ConditionalOperator can only be used when Filter or Expected has two or more elements"
        )


def read_key_conditions(conditions: Mapping[str, Any], wording: int) -> KeyCondition:
    """Translate KeyConditions."""
    tests: dict[str, KeyTest] = {}
    for attribute, (comparison, operands) in read_conditions(conditions, wording).items():
        operator = _KEY_OPERATORS.get(comparison, comparison)
        tests[attribute] = KeyTest(attribute, operator, tuple(operands))
    if not tests:
        raise ValidationException("Conditions can be of length 1 or 2 only")
    return KeyCondition(tests)


def read_attribute_updates(updates: Mapping[str, Any], wording: int) -> Update:
    """Translate AttributeUpdates."""
    values = _Values()
    actions: list[Action] = []
    for update in updates.values():
        if update.get("Value") is not None:
            check_value(update["Value"], wording)
    for attribute, update in updates.items():
        check_name(attribute)
        actions.append(_read_action(values, attribute, update))
    touched = Projection(tuple([(attribute,) for attribute in updates]))
    return Update(order_actions(actions), touched, values)


def _read_action(values: _Values, attribute: str, update: Mapping[str, Any]) -> Action:
    action = update.get("Action") or "PUT"
    value = update.get("Value")
    if value is None:
        if action != "DELETE":
            raise ValidationException(
                f"{_INVALID}Only DELETE action is allowed when no attribute value is specified"
            )
        return RemoveAction((attribute,))
    (found,) = value
    name = values.add(value)
    if action == "PUT":
        return SetAttribute(attribute, GivenValue(name))
    if action == "ADD":
        if found not in _ADDABLE:
            raise ValidationException(
                f"{_INVALID}ADD action is not supported for the type {TYPE_NAMES[found]}"
            )
        return AddAction((attribute,), name, _MISMATCH)
    if found not in _DELETABLE:
        raise ValidationException(
            f"{_INVALID}DELETE action with value is not supported for the type {TYPE_NAMES[found]}"
        )
    return DeleteAction((attribute,), name, _MISMATCH)


def read_attributes_to_get(names: Sequence[str]) -> Projection:
    """Translate AttributesToGet."""
    seen: set[str] = set()
    for name in names:
        check_name(name)
        if name in seen:
            raise ValidationException(f"{_INVALID}Duplicate value in attribute name: {name}")
        seen.add(name)
    return Projection(tuple([(name,) for name in names]))
