"""Numbers to the last digit, and values that are refused with AWS's words."""

from typing import Any

import pytest

NORMALISED = [
    ("0", "0"),
    ("-0", "0"),
    ("0.0", "0"),
    ("00012", "12"),
    ("+7", "7"),
    ("1.50", "1.5"),
    (".5", "0.5"),
    ("5.", "5"),
    ("1e2", "100"),
    ("1E+20", "100000000000000000000"),
    ("123e-5", "0.00123"),
    ("-1.0e-3", "-0.001"),
    ("1E-130", "0." + "0" * 129 + "1"),
    ("9.9999999999999999999999999999999999999E+125", "9" * 38 + "0" * 88),
    ("12345678901234567890123456789012345678", "12345678901234567890123456789012345678"),
    ("1" + "0" * 50, "1" + "0" * 50),
]


@pytest.mark.parametrize(("given", "kept"), NORMALISED)
def test_numbers_are_kept_in_plain_notation(client, hash_table, given, kept):
    item = {"p": {"S": "k"}, "n": {"N": given}, "ns": {"NS": [given]}}
    client.put_item(TableName=hash_table, Item=item)
    found = client.get_item(TableName=hash_table, Key={"p": {"S": "k"}})["Item"]
    assert (found["n"]["N"], found["ns"]["NS"]) == (kept, [kept])


TOO_PRECISE = "Attempting to store more than 38 significant digits in a Number"
TOO_LARGE = (
    "Number overflow. Attempting to store a number with magnitude larger than supported range"
)
TOO_SMALL = (
    "Number underflow. Attempting to store a number with magnitude smaller than supported range"
)
NOT_A_NUMBER = "The parameter cannot be converted to a numeric value"
BAD_NUMBERS = [
    ("1" * 39, TOO_PRECISE),
    ("1." + "0" * 37 + "1", TOO_PRECISE),
    ("1e126", TOO_LARGE),
    ("-1e126", TOO_LARGE),
    ("1e-131", TOO_SMALL),
    ("-1e-131", TOO_SMALL),
    ("abc", f"{NOT_A_NUMBER}: abc"),
    ("1 ", f"{NOT_A_NUMBER}: 1 "),
    ("NaN", f"{NOT_A_NUMBER}: NaN"),
    ("Infinity", f"{NOT_A_NUMBER}: Infinity"),
    ("0x10", f"{NOT_A_NUMBER}: 0x10"),
    ("", f"{NOT_A_NUMBER}: "),
]


@pytest.mark.beyond_dynamodb_local("it words numbers it refuses in its own way")
@pytest.mark.parametrize(("given", "text"), BAD_NUMBERS)
def test_numbers_beyond_the_range_are_refused(client, hash_table, refused, given, text):
    with refused("ValidationException", text, is_enveloped=True):
        client.put_item(TableName=hash_table, Item={"p": {"S": "k"}, "n": {"N": given}})


def test_number_keys_equal_by_value(client, tables):
    table = tables.create("p:N")
    client.put_item(TableName=table, Item={"p": {"N": "1.0"}, "a": {"S": "first"}})
    client.put_item(TableName=table, Item={"p": {"N": "1e0"}, "a": {"S": "second"}})
    found = client.scan(TableName=table)["Items"]
    assert found == [{"p": {"N": "1"}, "a": {"S": "second"}}]


def test_number_sort_keys_order_by_value(client, tables):
    table = tables.create("p:S", "r:N")
    numbers = [
        "-1e125",
        "-100",
        "-1.5",
        "-1",
        "-0.001",
        "0",
        "1e-130",
        "0.5",
        "1",
        "9",
        "10",
        "1e20",
    ]
    for number in reversed(numbers):
        client.put_item(TableName=table, Item={"p": {"S": "k"}, "r": {"N": number}})
    found = client.query(
        TableName=table,
        KeyConditionExpression="p = :p",
        ExpressionAttributeValues={":p": {"S": "k"}},
    )["Items"]
    assert [float(item["r"]["N"]) for item in found] == [float(number) for number in numbers]


ARITHMETIC = [
    ("1", "+", "2", "3"),
    ("1", "-", "2", "-1"),
    ("0.1", "+", "0.2", "0.3"),
    ("9" * 38, "+", "1", "1" + "0" * 38),
    ("5", "-", "5.000", "0"),
    ("-1e-130", "+", "1e-130", "0"),
]


@pytest.mark.beyond_dynamodb_local("it keeps the trailing zeros of a sum")
@pytest.mark.parametrize(("left", "sign", "right", "result"), ARITHMETIC)
def test_arithmetic_is_decimal_and_exact(client, hash_table, left, sign, right, result):
    client.put_item(TableName=hash_table, Item={"p": {"S": "k"}, "n": {"N": left}})
    answer = client.update_item(
        TableName=hash_table,
        Key={"p": {"S": "k"}},
        UpdateExpression=f"SET n = n {sign} :v",
        ExpressionAttributeValues={":v": {"N": right}},
        ReturnValues="UPDATED_NEW",
    )
    assert answer["Attributes"]["n"]["N"] == result


@pytest.mark.beyond_dynamodb_local("it words numbers it refuses in its own way")
def test_a_sum_beyond_the_range_is_refused(client, hash_table, refused):
    largest = "9.9999999999999999999999999999999999999E+125"
    client.put_item(TableName=hash_table, Item={"p": {"S": "k"}, "n": {"N": largest}})
    with refused("ValidationException", TOO_LARGE):
        client.update_item(
            TableName=hash_table,
            Key={"p": {"S": "k"}},
            UpdateExpression="ADD n :v",
            ExpressionAttributeValues={":v": {"N": largest}},
        )


def nested(depth: int) -> dict:
    value: dict = {"S": "deep"}
    for _ in range(depth):
        value = {"L": [value]}
    return value


def test_values_nest_to_the_limit_and_no_deeper(client, hash_table, refused):
    item = {"p": {"S": "k"}, "deep": nested(31)}
    client.put_item(TableName=hash_table, Item=item)
    assert client.get_item(TableName=hash_table, Key={"p": {"S": "k"}})["Item"] == item
    text = (
        "Nesting Levels have exceeded supported limits: Attributes in the item have nested "
        "levels beyond supported limit"
    )
    for depth in (32, 61):
        with refused("ValidationException", text, is_enveloped=True):
            client.put_item(TableName=hash_table, Item={"p": {"S": "k"}, "deep": nested(depth)})
    with refused("ValidationException", text):
        client.put_item(TableName=hash_table, Item={"p": {"S": "k"}, "deep": nested(63)})


@pytest.mark.beyond_dynamodb_local("it words it in its own way")
def test_values_of_expressions_nest_no_deeper(client, hash_table, refused):
    def update(depth):
        client.update_item(
            TableName=hash_table,
            Key={"p": {"S": "k"}},
            UpdateExpression="SET a = :a",
            ConditionExpression="v = :deep",
            ExpressionAttributeValues={":a": {"S": "a"}, ":deep": nested(depth)},
        )

    text = (
        "Nesting Levels have exceeded supported limits: Attributes in the item have nested "
        "levels beyond supported limit"
    )
    with refused("ConditionalCheckFailedException", "The conditional request failed"):
        update(31)
    with refused("ValidationException", text, is_enveloped=True):
        update(32)
    named = f"ExpressionAttributeValues contains invalid value: {text} for key :deep"
    with refused("ValidationException", named):
        update(63)


BAD_VALUES = [
    ({}, "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"),
    (
        {"S": "a", "N": "1"},
        "Supplied AttributeValue has more than one datatypes set, must contain exactly one of "
        "the supported datatypes",
    ),
]


@pytest.mark.parametrize(("value", "text"), BAD_VALUES)
def test_malformed_values_are_refused(client, hash_table, refused, value, text):
    with refused("ValidationException", text):
        client.put_item(TableName=hash_table, Item={"p": {"S": "k"}, "v": value})


EMPTY_SETS = [
    ("SS", "An string set  may not be empty"),
    ("NS", "An number set  may not be empty"),
    ("BS", "Binary sets should not be empty"),
]


@pytest.mark.parametrize(("kind", "text"), EMPTY_SETS)
def test_sets_are_not_empty(raw, hash_table, kind, text):
    value: dict = {kind: []}
    reply = raw.call("PutItem", {"TableName": hash_table, "Item": {"p": {"S": "k"}, "v": value}})
    assert reply.error == "ValidationException"
    assert "One or more parameter values were invalid: " in reply.message
    assert text in reply.message


def test_sets_hold_no_duplicates(raw, hash_table):
    for value in ({"SS": ["a", "b", "a"]}, {"NS": ["1", "1.0"]}, {"BS": ["YQ==", "YQ=="]}):
        item = {"p": {"S": "k"}, "v": value}
        reply = raw.call("PutItem", {"TableName": hash_table, "Item": item})
        assert reply.error == "ValidationException"
        assert "Input collection" in reply.message
        assert "contains duplicates" in reply.message


def test_null_is_true(raw, hash_table):
    value = {"NULL": False}
    reply = raw.call("PutItem", {"TableName": hash_table, "Item": {"p": {"S": "k"}, "v": value}})
    assert reply.error == "ValidationException"
    assert "Null attribute value types must have the value of true" in reply.message


@pytest.mark.beyond_dynamodb_local("it takes some mistyped values")
@pytest.mark.parametrize(
    "value",
    [{"S": 5}, {"N": 5}, {"BOOL": "maybe"}, {"SS": "a"}, {"L": {"S": "a"}}, {"M": []}, "text", 7],
    ids=repr,
)
def test_mistyped_json_is_a_serialization_error(raw, hash_table, value):
    reply = raw.call("PutItem", {"TableName": hash_table, "Item": {"p": {"S": "k"}, "v": value}})
    assert (reply.status, reply.error) == (400, "SerializationException")


SORTED: dict[str, Any] = {
    "ss": {"SS": ["", "A", "B", "a", "b", "ä", "日", "🙂"]},
    "ns": {"NS": ["-10", "-9", "-0.5", "0", "0.05", "2", "10"]},
    "bs": {"BS": [b"", b"\x00", b"\x00\x00", b"\x01", b"a", b"\xfb", b"\xff"]},
}


@pytest.mark.beyond_dynamodb_local("it sorts bytes as signed numbers")
def test_sets_come_back_sorted(client, hash_table):
    item = {"p": {"S": "k"}}
    backwards = {
        name: {kind: members[::-1]}
        for name, value in SORTED.items()
        for kind, members in value.items()
    }
    nested = {"M": {"l": {"L": [backwards["ns"]]}}}
    client.put_item(TableName=hash_table, Item={**item, **backwards, "m": nested})
    found = client.get_item(TableName=hash_table, Key=item)["Item"]
    assert found == {**item, **SORTED, "m": {"M": {"l": {"L": [SORTED["ns"]]}}}}


def test_sets_stay_sorted_when_members_come_and_go(client, hash_table):
    key = {"p": {"S": "k"}}
    values = {
        f":{name}": {kind: members[::-2]}
        for name, value in SORTED.items()
        for kind, members in value.items()
    }
    others = {
        f":{name}": {kind: members[-2::-2]}
        for name, value in SORTED.items()
        for kind, members in value.items()
    }
    answer = {}
    for given in (values, others):
        answer = client.update_item(
            TableName=hash_table,
            Key=key,
            UpdateExpression="ADD ss :ss, ns :ns, bs :bs",
            ExpressionAttributeValues=given,
            ReturnValues="UPDATED_NEW",
        )
    assert answer["Attributes"] == SORTED
    answer = client.update_item(
        TableName=hash_table,
        Key=key,
        UpdateExpression="DELETE ss :ss, ns :ns, bs :bs",
        ExpressionAttributeValues=others,
        ReturnValues="UPDATED_NEW",
    )
    assert answer["Attributes"] == {
        name: {kind: members[1::2] if len(members) % 2 == 0 else members[::2]}
        for name, value in SORTED.items()
        for kind, members in value.items()
    }


@pytest.mark.beyond_dynamodb_local("it keeps the order of the statement")
def test_sets_in_statements_come_back_sorted(client, hash_table):
    statement = (
        f"INSERT INTO \"{hash_table}\" VALUE {{'p': 'k', 's': <<'b', 'a'>>, 'n': <<10, 9>>}}"
    )
    client.execute_statement(Statement=statement)
    found = client.get_item(TableName=hash_table, Key={"p": {"S": "k"}})["Item"]
    assert (found["s"], found["n"]) == ({"SS": ["a", "b"]}, {"NS": ["9", "10"]})
