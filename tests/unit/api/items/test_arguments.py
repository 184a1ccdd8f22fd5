"""What the expression parameters of a request are refused for, and in which order."""

from __future__ import annotations

from typing import Any

import pytest

from hashrange.api.items.arguments import (
    ENVELOPE,
    check_filter_keys,
    check_scalar_keys,
    check_update_keys,
    read_get_arguments,
    read_query_arguments,
    read_scan_arguments,
    read_write_arguments,
)
from hashrange.errors import ValidationException
from hashrange.model.values import OLDER

S = {"S": "x"}
BOTH = "Can not use both expression and non-expression parameters in the same request: "
NO_NAMES = "ExpressionAttributeNames can only be specified when using expressions"
NO_VALUES = "ExpressionAttributeValues can only be specified when using expressions"


def refusal(read: Any, request: dict[str, Any], **options: Any) -> str:
    with pytest.raises(ValidationException) as caught:
        read(request, **options)
    return caught.value.message


@pytest.mark.parametrize(
    ("kind", "request_", "message"),
    [
        ("put", {"Expected": {}, "ConditionalOperator": "OR", "ConditionExpression": ""},
         f"{BOTH}Non-expression parameters: {{Expected, ConditionalOperator}} "
         "Expression parameters: {ConditionExpression}"),
        ("update",
         {"AttributeUpdates": {}, "Expected": {}, "UpdateExpression": "",
          "ConditionExpression": ""},
         f"{BOTH}Non-expression parameters: {{AttributeUpdates, Expected}} "
         "Expression parameters: {UpdateExpression, ConditionExpression}"),
        ("delete", {"ExpressionAttributeNames": {}, "ExpressionAttributeValues": {}}, NO_NAMES),
        ("delete", {"Expected": {"a": {}}, "ExpressionAttributeNames": {"#a": "a"}}, NO_NAMES),
        ("put", {"ExpressionAttributeValues": {":v": S}}, NO_VALUES),
        ("update", {"ExpressionAttributeValues": {":v": S}}, NO_VALUES),
        ("put", {"ConditionExpression": "", "ExpressionAttributeNames": {}},
         "ExpressionAttributeNames must not be empty"),
        ("put", {"ConditionExpression": "", "ExpressionAttributeValues": {}},
         "ExpressionAttributeValues must not be empty"),
        ("put", {"ConditionExpression": "", "ExpressionAttributeNames": {"a": "a"}},
         'ExpressionAttributeNames contains invalid key: Syntax error; key: "a"'),
        ("put", {"ConditionExpression": "", "ExpressionAttributeNames": {"#a": ""}},
         "ExpressionAttributeNames contains invalid value: Empty attribute name for key #a"),
        ("put", {"ConditionExpression": "", "ExpressionAttributeNames": {"#a": "n" * 65536}},
         "ExpressionAttributeNames contains invalid value: Attribute name is too large, must be "
         "less than 65536 bytes for key #a"),
        ("put", {"ConditionExpression": "", "ExpressionAttributeValues": {":b": {}, "b": S}},
         'ExpressionAttributeValues contains invalid key: Syntax error; key: "b"'),
        ("put", {"ConditionExpression": "", "ExpressionAttributeValues": {":a:b": S}},
         'ExpressionAttributeValues contains invalid key: Syntax error; key: ":a:b"'),
        ("put", {"ConditionExpression": "", "ExpressionAttributeValues": {":a": S, "": S}},
         'ExpressionAttributeValues contains invalid key: Syntax error; key: ""'),
        ("put", {"ConditionExpression": "", "ExpressionAttributeValues": {":" + "v" * 300: S}},
         "ExpressionAttributeValues contains invalid key: The expression attribute map contains a "
         "key that is too long; size of key: 301"),
        ("put", {"ConditionExpression": "", "ExpressionAttributeValues": {":v": {"N": "x"}}},
         "The parameter cannot be converted to a numeric value: x"),
        ("update", {"UpdateExpression": "", "ConditionExpression": ""},
         "Invalid UpdateExpression: The expression can not be empty;"),
        ("update",
         {"UpdateExpression": "SET b = :w", "ConditionExpression": "a = :v",
          "ExpressionAttributeValues": {":w": S}},
         "Invalid ConditionExpression: An expression attribute value used in expression is not "
         "defined; attribute value: :v"),
        ("put",
         {"ConditionExpression": "a = b", "ExpressionAttributeNames": {"#b": "b", "#a": "a"},
          "ExpressionAttributeValues": {":v": S}},
         "Value provided in ExpressionAttributeNames unused in expressions: keys: {#a, #b}"),
        ("update",
         {"UpdateExpression": "SET a = :v", "ExpressionAttributeValues": {":v": S, ":u": S}},
         "Value provided in ExpressionAttributeValues unused in expressions: keys: {:u}"),
        ("put", {"Expected": {"a": {"Value": {"NS": ["1", "1"]}}}},
         "One or more parameter values were invalid: Input collection contains duplicates."),
    ],
)  # fmt: skip
def test_single_writes_are_refused_in_an_envelope(
    kind: str, request_: dict[str, Any], message: str
) -> None:
    assert refusal(read_write_arguments, request_, kind=kind) == ENVELOPE + message


@pytest.mark.parametrize(
    ("kind", "request_", "message"),
    [
        ("check", {"ConditionExpression": "attribute_not_exists("},
         'Invalid ConditionExpression: Syntax error; token: "<EOF>", near: "("'),
        ("put", {"ExpressionAttributeValues": {":v": S}},
         NO_VALUES + ": ConditionExpression is null"),
        ("update", {"ExpressionAttributeValues": {":v": S}},
         NO_VALUES + ": UpdateExpression and ConditionExpression are null"),
        ("put",
         {"ConditionExpression": "a = :v", "ExpressionAttributeValues": {":v": {"N": "x"}}},
         "ExpressionAttributeValues contains invalid value: "
         "The parameter cannot be converted to a numeric value: x for key :v"),
    ],
)  # fmt: skip
def test_actions_of_transactions_are_refused_in_the_older_words(
    kind: str, request_: dict[str, Any], message: str
) -> None:
    assert refusal(read_write_arguments, request_, kind=kind, wording=OLDER) == message


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"QueryFilter": {}, "AttributesToGet": ["a"], "ConditionalOperator": "OR",
          "KeyConditions": {}, "FilterExpression": "", "ProjectionExpression": ""},
         f"{BOTH}Non-expression parameters: {{AttributesToGet, QueryFilter, ConditionalOperator}} "
         "Expression parameters: {ProjectionExpression, FilterExpression}"),
        ({"KeyConditions": {}, "KeyConditionExpression": ""},
         f"{BOTH}Non-expression parameters: {{KeyConditions}} "
         "Expression parameters: {KeyConditionExpression}"),
        ({"KeyConditions": {}, "ExpressionAttributeValues": {}},
         NO_VALUES + ": FilterExpression and KeyConditionExpression are null"),
        ({}, "Either the KeyConditions or KeyConditionExpression parameter must be specified in "
             "the request."),
        ({"KeyConditionExpression": "a = b = c", "FilterExpression": ""},
         'Invalid KeyConditionExpression: Syntax error; token: "=", near: "b = c"'),
        # What is wrong with it as a key condition is said after the other expressions.
        ({"KeyConditionExpression": "attribute_exists(a)", "FilterExpression": ""},
         "Invalid FilterExpression: The expression can not be empty;"),
        ({"KeyConditionExpression": "attribute_exists(a)",
          "ExpressionAttributeNames": {"#u": "u"}},
         "Value provided in ExpressionAttributeNames unused in expressions: keys: {#u}"),
        ({"KeyConditionExpression": "a = :v", "ExpressionAttributeValues": {":v": {"N": "x"}}},
         "The parameter cannot be converted to a numeric value: x"),
        ({"KeyConditions": {}, "AttributesToGet": ["a", "a"]},
         "One or more parameter values were invalid: Duplicate value in attribute name: a"),
        ({"Select": "COUNT", "ProjectionExpression": "a"},
         "1 validation error detected: Cannot specify the ProjectionExpression when choosing "
         "to get only the Count"),
        ({"Select": "ALL_ATTRIBUTES", "AttributesToGet": ["a"]},
         "1 validation error detected: Cannot specify the AttributesToGet when choosing to "
         "get ALL_ATTRIBUTES"),
        ({"Select": "SPECIFIC_ATTRIBUTES"},
         "1 validation error detected: Must specify the AttributesToGet or ProjectionExpression "
         "when choosing to get SPECIFIC_ATTRIBUTES"),
        ({"Select": "ALL_PROJECTED_ATTRIBUTES"},
         "1 validation error detected: ALL_PROJECTED_ATTRIBUTES can be used only when Querying "
         "using an IndexName"),
    ],
)  # fmt: skip
def test_query_is_refused(request_: dict[str, Any], message: str) -> None:
    assert refusal(read_query_arguments, request_) == message


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"ScanFilter": {}, "ProjectionExpression": "a"},
         f"{BOTH}Non-expression parameters: {{ScanFilter}} "
         "Expression parameters: {ProjectionExpression}"),
        ({"ProjectionExpression": "a", "ExpressionAttributeValues": {":v": S}},
         NO_VALUES + ": FilterExpression is null"),
        ({"Select": "SPECIFIC_ATTRIBUTES"},
         "Must specify the AttributesToGet or ProjectionExpression when choosing to get "
         "SPECIFIC_ATTRIBUTES"),
        ({"FilterExpression": "a = :v", "ExpressionAttributeValues": {":v": {"SS": []}}},
         "ExpressionAttributeValues contains invalid value: One or more parameter values were "
         "invalid: An string set  may not be empty for key :v"),
    ],
)  # fmt: skip
def test_scan_is_refused(request_: dict[str, Any], message: str) -> None:
    assert refusal(read_scan_arguments, request_) == message


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"AttributesToGet": ["a"], "ProjectionExpression": "a"},
         f"{BOTH}Non-expression parameters: {{AttributesToGet}} "
         "Expression parameters: {ProjectionExpression}"),
        ({"ExpressionAttributeNames": {"#a": "a"}}, NO_NAMES),
        ({"ProjectionExpression": "a", "ExpressionAttributeNames": {"#a": "a"}},
         "Value provided in ExpressionAttributeNames unused in expressions: keys: {#a}"),
    ],
)  # fmt: skip
def test_get_is_refused(request_: dict[str, Any], message: str) -> None:
    assert refusal(read_get_arguments, request_) == message


def test_key_conditions_go_with_a_filter_expression() -> None:
    arguments = read_query_arguments(
        {
            "KeyConditions": {
                "p": {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "x"}]}
            },
            "FilterExpression": "a = :v",
            "ExpressionAttributeValues": {":v": {"S": "x"}},
        }
    )
    assert arguments.filter is not None
    assert arguments.key_condition is not None
    assert arguments.key_condition.attributes == {"p"}


def test_requests_without_arguments_have_none() -> None:
    assert read_write_arguments({}, kind="put").condition is None
    assert read_write_arguments({}, kind="update").update is None
    assert read_get_arguments({}) is None
    assert read_scan_arguments({}).filter is None


def test_filter_of_a_query_cannot_mention_the_key() -> None:
    filter = read_scan_arguments({"FilterExpression": "attribute_exists(k.x) AND a = b"}).filter
    assert filter is not None
    check_filter_keys(filter, ("p",))
    with pytest.raises(ValidationException) as caught:
        check_filter_keys(filter, ("p", "k"))
    assert caught.value.message == (
        "Filter Expression can only contain non-primary key attributes: Primary key attribute: k"
    )


def test_update_cannot_change_the_key() -> None:
    update = read_write_arguments({"UpdateExpression": "REMOVE a, k.x"}, kind="update").update
    assert update is not None
    check_update_keys(update, ("p",))
    with pytest.raises(ValidationException) as caught:
        check_update_keys(update, ("p", "k"))
    assert caught.value.message == (
        "One or more parameter values were invalid: Cannot update attribute k. "
        "This attribute is part of the key"
    )


def test_key_attributes_are_scalars() -> None:
    projection = read_get_arguments({"ProjectionExpression": "k.x"})
    assert projection is not None
    with pytest.raises(ValidationException) as caught:
        check_scalar_keys(projection.nested_attributes, ("k",), "IndexKey")
    assert caught.value.message == (
        "Key attributes must be scalars; list random access '[]' and map lookup '.' are not "
        "allowed: IndexKey: k"
    )


def test_long_names_are_used_but_not_kept() -> None:
    name = "n" * 5000
    request = {
        "ProjectionExpression": "#a",
        "ExpressionAttributeNames": {"#a": name},
    }
    projection = read_get_arguments(request)
    assert projection is not None
    assert projection.attributes == {name}
