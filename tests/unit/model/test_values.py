"""Values: what is accepted, how it is normalised and measured, and AWS's words for the rest."""

from __future__ import annotations

from typing import Any

import pytest

from hashrange.errors import ClientError, SerializationException, ValidationException
from hashrange.model import values
from hashrange.model.values import BARE, ENVELOPED, OLDER, Value

INVALID = "One or more parameter values were invalid: "
EMPTY = "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"
MANY = (
    "Supplied AttributeValue has more than one datatypes set, "
    "must contain exactly one of the supported datatypes"
)
TOO_DEEP = (
    "Nesting Levels have exceeded supported limits: "
    "Attributes in the item have nested levels beyond supported limit"
)
NUMERIC = "The parameter cannot be converted to a numeric value"


def refusal(item: object, wording: int = BARE) -> ClientError:
    with pytest.raises(ClientError) as caught:
        values.check_item(item, wording)
    return caught.value


def deep(levels: int, kind: str = "M") -> Value:
    value: Value = {"S": "leaf"}
    for _ in range(levels):
        value = {"M": {"n": value}} if kind == "M" else {"L": [value]}
    return value


@pytest.mark.parametrize(
    ("value", "size"),
    [
        ({"S": ""}, 0),
        ({"S": "abc"}, 3),
        ({"S": "é😀"}, 6),
        ({"N": "1234"}, 3),
        ({"N": "-100"}, 3),
        ({"B": ""}, 0),
        ({"B": "AAECAw=="}, 4),
        ({"B": "AAEC"}, 3),
        ({"BOOL": False}, 1),
        ({"NULL": True}, 1),
        ({"SS": ["a", ""]}, 1),
        ({"NS": ["1", "100"]}, 4),
        ({"BS": ["AA==", ""]}, 1),
        ({"L": []}, 3),
        ({"L": [{"S": "ab"}, {"NULL": True}]}, 3 + 2 + 2 + 1),
        ({"M": {}}, 3),
        ({"M": {"key": {"S": "ab"}}}, 3 + 1 + 3 + 2),
    ],
)
def test_value_is_accepted_and_measured(value: Value, size: int) -> None:
    assert values.check_value(value) == size
    assert values.value_size(value) == size
    assert values.check_item({"näme": value}) == 5 + size
    assert values.item_size({"näme": value}) == 5 + size


def test_numbers_become_canonical_everywhere() -> None:
    item: dict[str, Any] = {
        "a": {"N": "1.0"},
        "b": {"L": [{"N": "1e2"}]},
        "c": {"M": {"d": {"NS": ["-0", "+1"]}}},
    }
    size = values.check_item(item)
    assert item == {
        "a": {"N": "1"},
        "b": {"L": [{"N": "100"}]},
        "c": {"M": {"d": {"NS": ["0", "1"]}}},
    }
    assert values.item_size(item) == size


@pytest.mark.parametrize("value", [{"S": "a", "N": None}, {"X": 1, "S": "a"}])
def test_null_and_unknown_members_of_a_value_are_dropped(value: Value) -> None:
    assert values.check_item({"a": value}) == 2
    assert value == {"S": "a"}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({}, EMPTY),
        (None, EMPTY),
        ({"X": 1}, EMPTY),
        ({"S": None}, EMPTY),
        ({"L": [None]}, EMPTY),
        ({"M": {"x": {}}}, EMPTY),
        ({"S": "a", "N": "1"}, MANY),
        ({"M": {"": {"S": "x"}}}, "Empty attribute name"),
    ],
)
def test_malformed_value_is_refused_in_the_same_words_everywhere(
    value: object, message: str
) -> None:
    for wording in (BARE, ENVELOPED, OLDER):
        error = refusal({"pk": {"S": "k"}, "a": value}, wording)
        assert isinstance(error, ValidationException)
        assert error.message == message


@pytest.mark.parametrize(
    ("value", "current", "older"),
    [
        ({"N": "abc"}, f"{NUMERIC}: abc", f"{NUMERIC}: abc"),
        ({"N": ""}, f"{NUMERIC}: ", NUMERIC),
        ({"S": "a", "N": "b"}, f"{NUMERIC}: b", f"{NUMERIC}: b"),
        ({"NS": ["1", "abc"]}, f"{NUMERIC}: abc", f"{NUMERIC}: abc"),
        ({"L": [{"M": {"x": {"N": "b"}}}]}, f"{NUMERIC}: b", f"{NUMERIC}: b"),
        *(
            (value, INVALID + text, INVALID + text)
            for value, text in (
                ({"SS": []}, "An string set  may not be empty"),
                ({"NS": []}, "An number set  may not be empty"),
                ({"BS": []}, "Binary sets should not be empty"),
                ({"NULL": False}, "Null attribute value types must have the value of true"),
            )
        ),
        (
            {"SS": ["b", "a", "b", "0"]},
            INVALID + 'Input collection ["a", "b", "b", "0"] contains duplicates.',
            INVALID + "Input collection [b, a, b, 0] contains duplicates.",
        ),
        (
            {"BS": ["/w==", "AA==", "AA=="]},
            INVALID + 'Input collection ["AA==","/w==","AA=="]of type BS contains duplicates.',
            INVALID + "Input collection [/w==, AA==, AA==]of type BS contains duplicates.",
        ),
        (
            {"NS": ["2", "1", "2.0"]},
            INVALID + "Input collection contains duplicates.",
            "Input collection contains duplicates",
        ),
    ],
)
def test_refused_value_is_worded_by_the_layer_of_the_operation(
    value: Value, current: str, older: str
) -> None:
    for wording, message in (
        (BARE, current),
        (ENVELOPED, f"1 validation error detected: {current}"),
        (OLDER, older),
    ):
        error = refusal({"a": value}, wording)
        assert isinstance(error, ValidationException)
        assert error.message == message


def test_expression_values_are_named_by_the_older_layer_only() -> None:
    request = {":ok": {"S": "x"}, ":bad": {"N": "b"}}
    with pytest.raises(ValidationException) as caught:
        values.check_values(request, OLDER)
    assert caught.value.message == (
        f"ExpressionAttributeValues contains invalid value: {NUMERIC}: b for key :bad"
    )
    with pytest.raises(ValidationException) as caught:
        values.check_values(request, ENVELOPED)
    assert caught.value.message == f"1 validation error detected: {NUMERIC}: b"


def test_size_of_expression_values_counts_their_names() -> None:
    assert values.check_values({":a": {"S": "xyz"}, ":é": {"N": "1"}}) == 2 + 3 + 3 + 2


@pytest.mark.parametrize("kind", ["M", "L"])
def test_nesting_is_bounded_at_32_levels(kind: str) -> None:
    values.check_item({"a": deep(31, kind)})
    values.check_value(deep(31, kind))
    for levels in (32, 33, 100, 400):
        assert refusal({"a": deep(levels, kind)}).message == TOO_DEEP


def test_an_item_far_too_large_is_not_walked_to_its_end() -> None:
    unseen = {"L": [{"N": "not a number"}] * 1000}
    assert values.check_item({"a": {"L": [unseen]}, "b": {"L": [{"S": ""}] * 100}}, BARE, 50) > 50


def test_empty_name_in_the_item_is_reported_before_depth() -> None:
    assert refusal({"d": deep(100), "": {"S": "x"}}).message == "Empty attribute name"


def test_depth_is_reported_before_an_empty_name_inside_the_item() -> None:
    for item in (
        {"m": {"M": {"": {"S": "x"}}}, "d": deep(40)},
        {"d": deep(40), "m": {"M": {"": {"S": "x"}}}},
        {"m": {"M": {"": {"S": "x"}, "d": deep(40)}}},
    ):
        assert refusal(item).message == TOO_DEEP


def test_attribute_name_is_shorter_than_64_kilobytes() -> None:
    values.check_item({"n" * 65535: {"S": ""}})
    message = "Attribute name is too large, must be less than 65536 bytes"
    assert refusal({"n" * 65536: {"S": ""}}).message == message
    assert refusal({"a": {"M": {"é" * 32768: {"S": ""}}}}).message == message


MISTYPED: list[tuple[object, str]] = [
    ({"S": True}, "TRUE_VALUE cannot be converted to String"),
    ({"S": False}, "FALSE_VALUE cannot be converted to String"),
    ({"S": 5}, "NUMBER_VALUE cannot be converted to String"),
    ({"N": 5}, "NUMBER_VALUE cannot be converted to String"),
    ({"N": 34.56}, "DECIMAL_VALUE cannot be converted to String"),
    ({"S": []}, "Unrecognized collection type class java.lang.String"),
    ({"S": {}}, "Start of structure or map found where not expected"),
    ({"B": 5}, "only base-64-encoded strings are convertible to bytes"),
    ({"B": []}, "Unrecognized collection type class java.nio.ByteBuffer"),
    ({"B": {}}, "Start of structure or map found where not expected"),
    ({"B": "23456"}, "Base64 encoded length is expected a multiple of 4 bytes but found: 5"),
    ({"B": "=+/="}, "Invalid last non-pad Base64 character dectected"),
    ({"B": "+/+="}, "Invalid last non-pad Base64 character dectected"),
    ({"B": "AB=="}, "Invalid last non-pad Base64 character dectected"),
    ({"B": "AA?A"}, "Invalid base 64 character: '?'"),
    ({"B": "A\nAA"}, "Invalid base 64 character: '\n'"),
    ({"B": "===="}, "Invalid last non-pad Base64 character dectected"),
    ({"BOOL": "true"}, "Unexpected token received from parser"),
    ({"BOOL": 1}, "NUMBER_VALUE cannot be converted to Boolean"),
    ({"NULL": 1.5}, "DECIMAL_VALUE cannot be converted to Boolean"),
    ({"NULL": []}, "Unrecognized collection type class java.lang.Boolean"),
    ({"SS": "a"}, "Unexpected field type"),
    ({"SS": {}}, "Start of structure or map found where not expected"),
    ({"SS": [1]}, "NUMBER_VALUE cannot be converted to String"),
    ({"NS": [1]}, "NUMBER_VALUE cannot be converted to String"),
    ({"BS": [1]}, "only base-64-encoded strings are convertible to bytes"),
    ({"L": "a"}, "Unexpected field type"),
    ({"L": {}}, "Start of structure or map found where not expected"),
    ({"L": ["a"]}, "Unexpected value type in payload"),
    (
        {"L": [[]]},
        "Unrecognized collection type class com.amazonaws.dynamodb.v20120810.AttributeValue",
    ),
    ({"M": 5}, "Unexpected field type"),
    (
        {"M": []},
        "Unrecognized collection type "
        "java.util.Map<java.lang.String, com.amazonaws.dynamodb.v20120810.AttributeValue>",
    ),
    ({"M": {"a": 5}}, "Unexpected value type in payload"),
    ("text", "Unexpected value type in payload"),
    ([], "Unrecognized collection type class com.amazonaws.dynamodb.v20120810.AttributeValue"),
]


@pytest.mark.parametrize(("value", "message"), MISTYPED)
def test_mistyped_json_is_refused_in_the_words_of_the_deserialiser(
    value: object, message: str
) -> None:
    for check in (values.check_value, values.check_types):
        with pytest.raises(SerializationException) as caught:
            check(value)
        assert caught.value.message == message


@pytest.mark.parametrize("item", [None, 5, "text", [], True])
def test_item_must_be_a_map(item: object) -> None:
    assert isinstance(refusal(item), SerializationException)


def test_type_walk_ignores_what_is_only_invalid() -> None:
    values.check_types({"S": "a", "N": "x", "SS": [], "NULL": False, "L": [None, {}], "X": 1})


def test_type_walk_reports_in_document_order_at_any_depth() -> None:
    value: object = {"S": 5}
    for _ in range(500):
        value = {"L": [{"S": "x"}, value, {"B": "?"}]}
    with pytest.raises(SerializationException, match="NUMBER_VALUE"):
        values.check_types(value)


def test_type_of_a_value() -> None:
    assert values.type_of({"NS": ["1"]}) == "NS"
