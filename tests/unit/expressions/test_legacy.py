"""The parameters that came before expressions."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from hashrange.api.items.arguments import (
    check_filter_keys,
    read_query_arguments,
    read_scan_arguments,
    read_write_arguments,
)
from hashrange.errors import ValidationException
from hashrange.model.schema import KeyPart
from hashrange.model.values import OLDER, Item, Value

A: Value = {"S": "a"}
B: Value = {"S": "b"}
ONE: Value = {"N": "1"}
SET: Value = {"SS": ["a"]}
INVALID = "One or more parameter values were invalid: "


def condition(operator: str, *operands: Value) -> dict[str, Any]:
    return {"ComparisonOperator": operator, "AttributeValueList": list(operands)}


def refusal_of_expected(entry: dict[str, Any]) -> str:
    with pytest.raises(ValidationException) as refusal:
        read_write_arguments({"Expected": {"a": entry}}, kind="put", wording=OLDER)
    return refusal.value.message


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({}, "Value must be provided when Exists is null"),
        ({"Exists": True}, "Value must be provided when Exists is true"),
        ({"Exists": False, "Value": A}, "Value cannot be used when Exists is false"),
        ({"Exists": True, "ComparisonOperator": "EQ"},
         "Exists and ComparisonOperator cannot be used together"),
        ({"AttributeValueList": [A]},
         "AttributeValueList can only be used with a ComparisonOperator"),
        ({"Value": A, "AttributeValueList": [A]},
         "Value and AttributeValueList cannot be used together"),
        ({"ComparisonOperator": "LT"},
         "Value or AttributeValueList must be used with ComparisonOperator: LT"),
    ],
)  # fmt: skip
def test_expectation_is_refused_by_attribute(entry: dict[str, Any], reason: str) -> None:
    assert refusal_of_expected(entry) == f"{INVALID}{reason} for Attribute: a"


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (condition("EQ"), INVALID + "Invalid number of argument(s) for the EQ ComparisonOperator"),
        (condition("IN"), INVALID + "Invalid number of argument(s) for the IN ComparisonOperator"),
        (condition("NULL", A),
         INVALID + "Invalid number of argument(s) for the NULL ComparisonOperator"),
        (condition("BETWEEN", A),
         INVALID + "Invalid number of argument(s) for the BETWEEN ComparisonOperator"),
        (condition("LT", SET),
         INVALID + "ComparisonOperator LT is not valid for SS AttributeValue type"),
        (condition("IN", {"BOOL": True}),
         INVALID + "ComparisonOperator IN is not valid for BOOL AttributeValue type"),
        (condition("CONTAINS", SET),
         INVALID + "ComparisonOperator CONTAINS is not valid for SS AttributeValue type"),
        (condition("BEGINS_WITH", ONE),
         INVALID + "ComparisonOperator BEGINS_WITH is not valid for N AttributeValue type"),
        (condition("IN", A, ONE),
         INVALID + "AttributeValues inside AttributeValueList must be of same type"),
        (condition("BETWEEN", B, A),
         "The BETWEEN condition was provided a range where the lower bound is greater than the "
         "upper bound"),
    ],
)  # fmt: skip
def test_condition_is_refused_by_its_operands(entry: dict[str, Any], message: str) -> None:
    assert refusal_of_expected(copy.deepcopy(entry)) == message
    with pytest.raises(ValidationException) as refusal:
        read_scan_arguments({"ScanFilter": {"q": copy.deepcopy(entry)}})
    assert refusal.value.message == message


ITEM: Item = {"a": {"S": "abc"}, "n": {"N": "5"}, "l": {"L": [A]}, "ss": {"SS": ["a", "b"]}}


@pytest.mark.parametrize(
    ("attribute", "entry", "holds"),
    [
        ("a", {"Exists": False}, False),
        ("q", {"Exists": False}, True),
        ("a", {"Value": {"S": "abc"}}, True),
        ("a", {"Exists": True, "Value": B}, False),
        ("q", condition("NULL"), True),
        ("q", condition("NOT_NULL"), False),
        ("n", condition("EQ", {"N": "5.0"}), True),
        ("q", condition("NE", A), True),
        ("n", condition("GE", ONE), True),
        ("n", condition("LT", ONE), False),
        ("n", condition("BETWEEN", ONE, {"N": "9"}), True),
        ("n", condition("IN", ONE, {"N": "5"}), True),
        ("a", condition("BEGINS_WITH", A), True),
        ("a", condition("CONTAINS", B), True),
        ("l", condition("CONTAINS", A), True),
        ("ss", condition("NOT_CONTAINS", {"S": "z"}), True),
        ("q", condition("NOT_CONTAINS", A), False),
        ("a", {"ComparisonOperator": "GT", "Value": A}, True),
    ],
)
def test_expectation_holds_or_not(attribute: str, entry: dict[str, Any], holds: bool) -> None:
    request = {"Expected": {attribute: copy.deepcopy(entry)}}
    bound = read_write_arguments(request, kind="delete").condition
    assert bound is not None
    assert bound.matches(ITEM) is holds


def test_conditional_operator_joins_conditions() -> None:
    request = {"Expected": {"a": {"Exists": False}, "n": {"Value": {"N": "5"}}}}
    both = read_write_arguments(copy.deepcopy(request), kind="put").condition
    either = read_write_arguments({**request, "ConditionalOperator": "OR"}, kind="put").condition
    assert both is not None
    assert either is not None
    assert not both.matches(ITEM)
    assert either.matches(ITEM)


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"ConditionalOperator": "AND"},
         "ConditionalOperator cannot be used without Filter or Expected"),
        ({"ConditionalOperator": "AND", "ScanFilter": {"q": condition("NULL")}},
         "ConditionalOperator can only be used when Filter or Expected has two or more elements"),
    ],
)  # fmt: skip
def test_conditional_operator_needs_conditions(request_: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationException) as refusal:
        read_scan_arguments(request_)
    assert refusal.value.message == message


P = (KeyPart("p", "S"),)
K = (KeyPart("k", "S"),)


def test_key_conditions_make_the_same_range_as_an_expression() -> None:
    request = {"KeyConditions": {"p": condition("EQ", A), "k": condition("BEGINS_WITH", B)}}
    bound = read_query_arguments(request).key_condition
    assert bound is not None
    keys = bound.bind(P, K)
    assert (keys.partition, keys.operator, keys.operands) == ((A,), "begins_with", (B,))


@pytest.mark.parametrize(
    ("conditions", "message"),
    [
        ({"p": condition("NULL")},
         "Attempted conditional constraint is not an indexable operation"),
        ({"p": condition("EQ", A), "k": condition("NE", A)},
         "Attempted conditional constraint is not an indexable operation"),
        ({"p": condition("GT", A)}, "Query key condition not supported"),
        ({"k": condition("EQ", A)}, "Query condition missed key schema element: p"),
    ],
)  # fmt: skip
def test_key_conditions_are_refused(conditions: dict[str, Any], message: str) -> None:
    bound = read_query_arguments({"KeyConditions": copy.deepcopy(conditions)}).key_condition
    assert bound is not None
    with pytest.raises(ValidationException) as refusal:
        bound.bind(P, K)
    assert refusal.value.message == message


def test_query_needs_some_key_condition() -> None:
    with pytest.raises(ValidationException, match="Conditions can be of length 1 or 2 only"):
        read_query_arguments({"KeyConditions": {}})


def test_query_filter_cannot_mention_the_key() -> None:
    request = {
        "KeyConditions": {"p": condition("EQ", A)},
        "QueryFilter": {"k": condition("EQ", A)},
    }
    bound = read_query_arguments(request).filter
    assert bound is not None
    with pytest.raises(ValidationException) as refusal:
        check_filter_keys(bound, ("p", "k"))
    assert refusal.value.message == (
        "QueryFilter can only contain non-primary key attributes: Primary key attribute: k"
    )


@pytest.mark.parametrize(
    ("updates", "changed"),
    [
        ({"a": {"Value": B}}, {"a": B}),
        ({"a": {"Action": "PUT", "Value": SET}}, {"a": SET}),
        ({"a": {"Action": "DELETE"}, "q": {"Action": "DELETE"}}, {"a": None}),
        ({"n": {"Action": "ADD", "Value": ONE}}, {"n": {"N": "6"}}),
        ({"l": {"Action": "ADD", "Value": {"L": [B]}}}, {"l": {"L": [A, B]}}),
        ({"ss": {"Action": "DELETE", "Value": SET}}, {"ss": {"SS": ["b"]}}),
        ({"q": {"Action": "DELETE", "Value": SET}}, {}),
        ({}, {}),
    ],
)
def test_attribute_updates_change_the_item(
    updates: dict[str, Any], changed: dict[str, Value | None]
) -> None:
    request = {"AttributeUpdates": copy.deepcopy(updates)}
    bound = read_write_arguments(request, kind="update").update
    assert bound is not None
    merged = {**ITEM, **changed}
    assert bound.apply(ITEM) == {name: value for name, value in merged.items() if value is not None}
    assert bound.cost == 0


@pytest.mark.parametrize(
    ("update", "message"),
    [
        ({}, INVALID + "Only DELETE action is allowed when no attribute value is specified"),
        ({"Action": "ADD", "Value": A},
         INVALID + "ADD action is not supported for the type STRING"),
        ({"Action": "DELETE", "Value": ONE},
         INVALID + "DELETE action with value is not supported for the type NUMBER"),
        ({"Action": "ADD", "Value": ONE}, "Type mismatch for attribute to update"),
    ],
)  # fmt: skip
def test_attribute_update_is_refused(update: dict[str, Any], message: str) -> None:
    request = {"AttributeUpdates": {"a": copy.deepcopy(update)}}
    with pytest.raises(ValidationException) as refusal:
        _apply(request)
    assert refusal.value.message == message


def _apply(request: dict[str, Any]) -> None:
    bound = read_write_arguments(request, kind="update", wording=OLDER).update
    assert bound is not None
    bound.apply(ITEM)
