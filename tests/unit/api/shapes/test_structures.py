"""How requests are checked against their shapes, and how AWS words what is wrong."""

from typing import Any

import pytest

from hashrange.api.shapes import requests
from hashrange.api.shapes.scalars import Boolean, Number, Shape, String
from hashrange.api.shapes.structures import (
    AttributeMap,
    AttributeValue,
    ListOf,
    MapOf,
    Structure,
)
from hashrange.errors import ClientError

CAST = (
    "class sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl cannot be cast to class "
    "java.lang.Class (sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl and "
    "java.lang.Class are in module java.base of loader 'bootstrap')"
)
MODEL = "com.amazonaws.dynamodb.v20120810."


def refusal(shape: Structure, request: dict[str, Any]) -> str:
    try:
        shape.check(request)
    except ClientError as error:
        return f"{error.code}: {error.message}"
    return "accepted"


def errors(*texts: str) -> str:
    plural = "" if len(texts) == 1 else "s"
    return (
        f"ValidationException: {len(texts)} validation error{plural} detected: {'; '.join(texts)}"
    )


def broken(value: str, place: str, constraint: str) -> str:
    return f"Value {value} at '{place}' failed to satisfy constraint: Member must {constraint}"


STRUCTURE = Structure("Thing", {"Name": String()})


@pytest.mark.parametrize(
    ("shape", "value", "message"),
    [
        (String(), True, "TRUE_VALUE cannot be converted to String"),
        (String(), False, "FALSE_VALUE cannot be converted to String"),
        (String(), 23, "NUMBER_VALUE cannot be converted to String"),
        (String(), 34.56, "DECIMAL_VALUE cannot be converted to String"),
        (String(), [], "Unrecognized collection type class java.lang.String"),
        (String(), {}, "Start of structure or map found where not expected"),
        (Number("Integer"), "23", "STRING_VALUE cannot be converted to Integer"),
        (Number("Integer"), True, "TRUE_VALUE cannot be converted to Integer"),
        (Number("Long"), [], "Unrecognized collection type class java.lang.Long"),
        (Number("Long"), {}, "Start of structure or map found where not expected"),
        (Boolean(), "23", "Unexpected token received from parser"),
        (Boolean(), 23, "NUMBER_VALUE cannot be converted to Boolean"),
        (Boolean(), [], "Unrecognized collection type class java.lang.Boolean"),
        (ListOf(String()), "23", "Unexpected field type"),
        (ListOf(String()), {}, "Start of structure or map found where not expected"),
        (MapOf(String()), 23, "Unexpected field type"),
        (
            MapOf(String()),
            [],
            "Unrecognized collection type java.util.Map<java.lang.String, java.lang.String>",
        ),
        (
            MapOf(ListOf(STRUCTURE)),
            [],
            "Unrecognized collection type "
            f"java.util.Map<java.lang.String, java.util.List<{MODEL}Thing>>",
        ),
        (MapOf(ListOf(String())), {"a": 1}, CAST),
        (ListOf(AttributeMap()), ["23"], CAST),
        (STRUCTURE, "23", "Unexpected field type"),
        (STRUCTURE, [], f"Unrecognized collection type class {MODEL}Thing"),
        (ListOf(STRUCTURE), ["23"], "Unexpected value type in payload"),
        (AttributeValue(), "23", "Unexpected field type"),
        (AttributeMap(), {"a": "23"}, "Unexpected value type in payload"),
        (AttributeMap(), {"a": []}, f"Unrecognized collection type class {MODEL}AttributeValue"),
        (
            AttributeMap(),
            [],
            f"Unrecognized collection type java.util.Map<java.lang.String, {MODEL}AttributeValue>",
        ),
    ],
)
def test_a_mistyped_member_is_a_serialization_error(shape: Shape, value: Any, message: str) -> None:
    request = {"Member": value}
    assert refusal(Structure("Input", {"Member": shape}), request) == (
        f"SerializationException: {message}"
    )


def test_nulls_and_unknown_members_are_dropped_and_lenient_forms_made_strict() -> None:
    request = {
        "TableName": "table",
        "Limit": 2.5,
        "ConsistentRead": "true",
        "Segment": None,
        "Unknown": [1],
    }
    requests.SCAN.check(request)
    assert request == {
        "TableName": "table",
        "Limit": 2,
        "ConsistentRead": True,
    }


def test_unknown_members_inside_are_dropped_even_where_all_else_is_right() -> None:
    request: dict[str, Any] = {
        "TransactItems": [{"Get": {"TableName": "table", "Key": {}, "New": 1}, "New": {}}]
    }
    requests.TRANSACT_GET_ITEMS.check(request)
    assert request == {"TransactItems": [{"Get": {"TableName": "table", "Key": {}}}]}


def test_a_null_attribute_value_becomes_one_without_a_type() -> None:
    request = {"TableName": "table", "Item": {"a": None}}
    requests.PUT_ITEM.check(request)
    assert request["Item"] == {"a": {}}


def test_types_are_checked_before_constraints() -> None:
    request = {"TableName": "", "ConsistentRead": 3, "Key": {}}
    assert refusal(requests.GET_ITEM, request) == (
        "SerializationException: NUMBER_VALUE cannot be converted to Boolean"
    )


def test_attribute_values_are_only_entered_by_check_values() -> None:
    request = {"TableName": "table", "Item": {"a": {"S": 1}}}
    requests.PUT_ITEM.check(request)
    with pytest.raises(ClientError, match="NUMBER_VALUE cannot be converted to String"):
        requests.PUT_ITEM.check_values(request)


def test_check_values_reaches_every_attribute_value() -> None:
    bad = {"S": 1}
    for shape, request in (
        (requests.QUERY, {"KeyConditions": {"a": {"AttributeValueList": [bad]}}}),
        (requests.UPDATE_ITEM, {"AttributeUpdates": {"a": {"Value": bad}}}),
        (requests.UPDATE_ITEM, {"Expected": {"a": {"Value": bad}}}),
        (requests.BATCH_GET_ITEM, {"RequestItems": {"table": {"Keys": [{"a": bad}]}}}),
        (
            requests.BATCH_WRITE_ITEM,
            {"RequestItems": {"table": [{"PutRequest": {"Item": {"a": bad}}}]}},
        ),
        (requests.TRANSACT_WRITE_ITEMS, {"TransactItems": [{"Put": {"Item": {"a": bad}}}]}),
    ):
        with pytest.raises(ClientError, match="NUMBER_VALUE"):
            shape.check_values(request)


ENUM_CAPACITY = broken(
    "'x'", "returnConsumedCapacity", "satisfy enum value set: [INDEXES, TOTAL, NONE]"
)
ENUM_RETURN_VALUES = broken(
    "'x'",
    "returnValues",
    "satisfy enum value set: [ALL_NEW, UPDATED_OLD, ALL_OLD, NONE, UPDATED_NEW]",
)
NO_KEY = broken("null", "key", "not be null")


def test_one_thing_is_said_about_a_table_name() -> None:
    for name, constraint in (
        ("a" * 256, "have length less than or equal to 255"),
        ("bad table!@#", "satisfy regular expression pattern: [a-zA-Z0-9_.-]+"),
    ):
        request = {"TableName": name, "Item": {}}
        expected = errors(broken(f"'{name}'", "tableName", constraint))
        assert refusal(requests.PUT_ITEM, request) == expected


def test_an_empty_table_name_is_all_that_is_said_about_a_write() -> None:
    text = "Value at 'TableName' failed to satisfy constraint: Member must have length greater "
    request = {"TableName": "", "ReturnConsumedCapacity": "x", "ReturnValues": "x"}
    for shape, member in (
        (requests.PUT_ITEM, "Item"),
        (requests.DELETE_ITEM, "Key"),
        (requests.UPDATE_ITEM, "Key"),
    ):
        expected = errors(text + "than or equal to 1")
        assert refusal(shape, {**request, member: {}}) == expected


def test_unknown_return_values_are_named_by_no_member_and_an_update_says_nothing_else() -> None:
    generic = (
        "Failed to satisfy constraint: Member must satisfy enum value set: "
        "[ALL_OLD, UPDATED_OLD, ALL_NEW, UPDATE_NEW, NONE]"
    )
    request = {"TableName": "table", "ReturnConsumedCapacity": "x", "ReturnValues": "x"}
    both = errors(ENUM_CAPACITY, generic)
    assert refusal(requests.PUT_ITEM, {**request, "Item": {}}) == both
    assert refusal(requests.DELETE_ITEM, {**request, "Key": {}}) == both
    assert refusal(requests.UPDATE_ITEM, {**request, "Key": {}}) == errors(generic)


def test_a_request_nested_beyond_the_newer_reader_is_refused_in_the_older_words() -> None:
    deep: dict[str, Any] = {"S": "leaf"}
    for _ in range(63):
        deep = {"M": {"n": deep}}
    request = {"TableName": "table", "Key": {"pk": deep}, "ReturnValues": "x"}
    assert refusal(requests.DELETE_ITEM, request) == errors(ENUM_RETURN_VALUES)
    expected = {"a": {"Value": deep}}
    request = {
        "TableName": "table",
        "Item": {},
        "Expected": expected,
        "ConditionalOperator": "XOR",
    }
    assert refusal(requests.PUT_ITEM, request) == errors(
        broken("'XOR'", "conditionalOperator", "satisfy enum value set: [OR, AND]")
    )


def test_an_arn_is_as_good_as_a_table_name() -> None:
    arn = "arn:aws:dynamodb:us-east-1:000000000000:table/table"
    assert refusal(requests.GET_ITEM, {"TableName": arn, "Key": {}}) == "accepted"


def test_constraints_are_collected_in_the_service_s_order() -> None:
    request = {"TableName": "", "ReturnConsumedCapacity": "x", "ReturnValues": "x"}
    assert refusal(requests.UPDATE_ITEM, request) == errors(
        ENUM_CAPACITY,
        broken("''", "tableName", "have length greater than or equal to 1"),
        ENUM_RETURN_VALUES,
        NO_KEY,
    )


def test_at_most_ten_broken_constraints_are_reported() -> None:
    request: dict[str, Any] = {"TransactItems": [{"Get": {}} for _ in range(9)]}
    assert refusal(requests.TRANSACT_GET_ITEMS, request).startswith(
        "ValidationException: 10 validation errors detected: "
    )


def test_an_unknown_conditional_operator_is_reported_alone_unless_a_member_is_missing() -> None:
    generic = "Failed to satisfy constraint: Member must satisfy enum value set: [ALL, OR]"
    query = {"TableName": "table", "ConditionalOperator": "XOR", "Select": "x"}
    assert refusal(requests.QUERY, query) == f"ValidationException: {generic}"
    put = {"TableName": "table", "Item": {}, "ConditionalOperator": "XOR"}
    assert refusal(requests.PUT_ITEM, put) == (
        f"ValidationException: 1 validation error detected: {generic}"
    )
    update = {"TableName": "table", "ConditionalOperator": "XOR"}
    assert refusal(requests.UPDATE_ITEM, update) == errors(
        broken("'XOR'", "conditionalOperator", "satisfy enum value set: [OR, AND]"), NO_KEY
    )


def test_places_inside_lists_and_maps_are_named() -> None:
    request: dict[str, Any] = {
        "TableName": "table",
        "AttributeDefinitions": [{}],
        "KeySchema": [{"AttributeName": "a", "KeyType": "x"}],
    }
    assert refusal(requests.CREATE_TABLE, request) == errors(
        broken("null", "attributeDefinitions.1.member.attributeName", "not be null"),
        broken("null", "attributeDefinitions.1.member.attributeType", "not be null"),
        broken("'x'", "keySchema.1.member.keyType", "satisfy enum value set: [HASH, RANGE]"),
    )
    request = {"TableName": "table", "QueryFilter": {"a": {}}}
    assert refusal(requests.QUERY, request) == errors(
        broken("null", "queryFilter.a.member.comparisonOperator", "not be null")
    )


def test_newer_texts_name_the_member_as_on_the_wire_and_do_not_echo() -> None:
    least = "failed to satisfy constraint: Member must have"
    assert refusal(requests.QUERY, {"TableName": "table", "Limit": 0}) == errors(
        f"Value at 'Limit' {least} value greater than or equal to 1"
    )
    assert refusal(requests.SCAN, {"TableName": "table", "Limit": 0}) == errors(
        f"Value '0' at 'limit' {least} value greater than or equal to 1"
    )
    assert refusal(requests.BATCH_GET_ITEM, {"RequestItems": {}}) == errors(
        f"Value at 'RequestItems' {least} length greater than or equal to 1"
    )
    keys: dict[str, Any] = {"RequestItems": {"table": {"Keys": [{}] * 101}}}
    assert refusal(requests.BATCH_GET_ITEM, keys) == errors(
        f"Value at 'RequestItems.table.member.Keys' {least} length less than or equal to 100"
    )


MAP_KEYS = (
    "failed to satisfy constraint: Map keys must satisfy constraint: "
    "[Member must have length less than or equal to 255, "
    "Member must have length greater than or equal to 3, "
    "Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+]"
)


def test_batch_get_item_echoes_its_map_as_json_beside_other_errors() -> None:
    request = {
        "RequestItems": {"bad!name": {"Keys": [{"pk": {"S": "a"}}]}},
        "ReturnConsumedCapacity": "x",
    }
    echo = '{"bad!name":{"Keys":[{"pk":{"S":"a"}}]}}'
    assert refusal(requests.BATCH_GET_ITEM, request) == errors(
        f"Value '{echo}' at 'requestItems' {MAP_KEYS}", ENUM_CAPACITY
    )


def test_batch_write_item_refuses_an_empty_map_in_a_sentence_of_its_own() -> None:
    request: dict[str, Any] = {"RequestItems": {}, "ReturnConsumedCapacity": "x"}
    assert refusal(requests.BATCH_WRITE_ITEM, request) == (
        "ValidationException: The requestItems parameter is required for BatchWriteItem"
    )


def test_batch_write_item_reports_its_map_only_when_nothing_else_is_wrong() -> None:
    items = {"bad!name": [{"PutRequest": {"Item": {"pk": {"S": "a"}}}}]}
    both = {"RequestItems": items, "ReturnConsumedCapacity": "x"}
    assert refusal(requests.BATCH_WRITE_ITEM, both) == errors(ENUM_CAPACITY)
    echo = "{bad!name=[WriteRequest(putRequest=PutRequest(item={pk=AttributeValue(s=a)}))]}"
    assert refusal(requests.BATCH_WRITE_ITEM, {"RequestItems": items}) == errors(
        f"Value '{echo}' at 'requestItems' {MAP_KEYS}"
    )
    assert refusal(requests.BATCH_WRITE_ITEM, {"RequestItems": {"table": []}}) == errors(
        "Value '{table=[]}' at 'requestItems' failed to satisfy constraint: Map value must "
        "satisfy constraint: [Member must have length less than or equal to 25, "
        "Member must have length greater than or equal to 1]"
    )


def test_a_null_in_a_list_is_a_broken_constraint() -> None:
    request = {"RequestItems": {"table": {"Keys": [None]}}}
    assert refusal(requests.BATCH_GET_ITEM, request) == errors(
        broken("null", "requestItems.table.member.keys.1.member", "not be null")
    )
    requests.BATCH_GET_ITEM.check_values(request)


def test_a_value_of_any_depth_is_echoed() -> None:
    deep: dict[str, Any] = {"S": "leaf"}
    for _ in range(1000):
        deep = {"M": {"n": deep}}
    get = {"RequestItems": {"bad!name": {"Keys": [{"pk": deep}]}}}
    assert MAP_KEYS in refusal(requests.BATCH_GET_ITEM, get)
    write = {"RequestItems": {"bad!name": [{"PutRequest": {"Item": {"pk": deep}}}]}}
    assert MAP_KEYS in refusal(requests.BATCH_WRITE_ITEM, write)
