"""What AWS says of mistyped JSON where an attribute value belongs."""

import pytest

from hashrange.errors import SerializationException
from hashrange.model.wire_types import base64_refusal, check_types

STRUCTURE = "Start of structure or map found where not expected"
COLLECTION = "Unrecognized collection type "


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("text", "Unexpected value type in payload"),
        (1, "Unexpected value type in payload"),
        ([], f"{COLLECTION}class com.amazonaws.dynamodb.v20120810.AttributeValue"),
        ({"S": 1}, "NUMBER_VALUE cannot be converted to String"),
        ({"S": 1.5}, "DECIMAL_VALUE cannot be converted to String"),
        ({"N": True}, "TRUE_VALUE cannot be converted to String"),
        ({"N": False}, "FALSE_VALUE cannot be converted to String"),
        ({"S": {}}, STRUCTURE),
        ({"S": []}, f"{COLLECTION}class java.lang.String"),
        ({"B": 1}, "only base-64-encoded strings are convertible to bytes"),
        ({"BOOL": "true"}, "Unexpected token received from parser"),
        ({"NULL": []}, f"{COLLECTION}class java.lang.Boolean"),
        ({"SS": "a"}, "Unexpected field type"),
        ({"SS": {}}, STRUCTURE),
        ({"NS": [1]}, "NUMBER_VALUE cannot be converted to String"),
        ({"BS": [1]}, "only base-64-encoded strings are convertible to bytes"),
        ({"L": "a"}, "Unexpected field type"),
        ({"L": [{"S": "a"}, "b"]}, "Unexpected value type in payload"),
        ({"M": 5}, "Unexpected field type"),
        ({"M": {"a": {"L": [{"S": 1}]}}}, "NUMBER_VALUE cannot be converted to String"),
    ],
)
def test_the_wrong_json_is_named_as_the_deserialiser_does(value, message):
    with pytest.raises(SerializationException) as raised:
        check_types(value)
    assert str(raised.value) == message


@pytest.mark.parametrize(
    "value",
    [
        {"S": "a"},
        {"B": "YQ=="},
        {"L": [{"M": {"a": {"NS": ["1"]}}}, None]},
        {"S": None},
        {"Unknown": 1},
        None,
    ],
)
def test_nulls_and_unknown_types_are_not_mistyped(value):
    check_types(value)


def test_the_first_mistake_of_the_document_is_reported():
    with pytest.raises(SerializationException, match="TRUE_VALUE"):
        check_types({"L": [{"L": [{"S": True}]}, {"S": 1}]})


def test_values_of_any_depth_are_checked():
    value: dict[str, object] = {"S": 1}
    for _ in range(5000):
        value = {"L": [value]}
    with pytest.raises(SerializationException):
        check_types(value)


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ("", ""),
        ("YWJj", ""),
        ("YQ==", ""),
        ("YWI=", ""),
        ("YWJ", "Base64 encoded length is expected a multiple of 4 bytes but found: 3"),
        ("é", "Base64 encoded length is expected a multiple of 4 bytes but found: 2"),
        ("YR==", "Invalid last non-pad Base64 character dectected"),
        ("YWJ=", "Invalid last non-pad Base64 character dectected"),
        ("YW-j", "Invalid base 64 character: '-'"),
        ("=YWJ", "Invalid base 64 character: '='"),
    ],
)
def test_base64_is_strict(text, refusal):
    assert base64_refusal(text) == refusal
