"""The parameters that expressions have replaced."""

import pytest

KEY = {"p": {"S": "k"}}
ITEM = {
    **KEY,
    "n": {"N": "5"},
    "s": {"S": "hello"},
    "ss": {"SS": ["a", "b"]},
    "l": {"L": [{"S": "x"}]},
}


@pytest.fixture
def table(client, hash_table):
    client.put_item(TableName=hash_table, Item=ITEM)
    return hash_table


def condition(operator, *values):
    found = {"ComparisonOperator": operator}
    if values:
        found["AttributeValueList"] = list(values)
    return found


MATCHES = [
    ("n", condition("EQ", {"N": "5.0"}), True),
    ("n", condition("NE", {"N": "5"}), False),
    ("absent", condition("NE", {"N": "5"}), True),
    ("n", condition("LT", {"N": "6"}), True),
    ("n", condition("GE", {"S": "5"}), False),
    ("n", condition("BETWEEN", {"N": "1"}, {"N": "5"}), True),
    ("n", condition("IN", {"N": "1"}, {"N": "5"}), True),
    ("s", condition("BEGINS_WITH", {"S": "he"}), True),
    ("s", condition("CONTAINS", {"S": "ell"}), True),
    ("ss", condition("CONTAINS", {"S": "a"}), True),
    ("ss", condition("NOT_CONTAINS", {"S": "z"}), True),
    ("l", condition("CONTAINS", {"S": "x"}), True),
    ("absent", condition("NULL"), True),
    ("n", condition("NULL"), False),
    ("n", condition("NOT_NULL"), True),
]


@pytest.mark.parametrize(("name", "test", "expected"), MATCHES)
def test_comparison_operators(client, table, name, test, expected):
    found = client.scan(TableName=table, ScanFilter={name: test})
    assert found["Count"] == int(expected)
    both = {name: test, "s": condition("EQ", {"S": "other"})}
    if name != "s":
        either = client.scan(TableName=table, ScanFilter=both, ConditionalOperator="OR")
        assert either["Count"] == int(expected)
        assert client.scan(TableName=table, ScanFilter=both)["Count"] == 0


def test_expected_guards_writes(client, table, refused):
    def put(**expected):
        client.put_item(TableName=table, Item=ITEM, Expected=expected)

    put(n={"Value": {"N": "5"}})
    put(n={"Exists": True, "Value": {"N": "5"}}, absent={"Exists": False})
    put(n=condition("GT", {"N": "1"}))
    with refused("ConditionalCheckFailedException", "The conditional request failed"):
        put(n={"Value": {"N": "6"}})
    with refused("ConditionalCheckFailedException", "The conditional request failed"):
        put(n={"Exists": False})


def test_attribute_updates(client, table):
    answer = client.update_item(
        TableName=table,
        Key=KEY,
        AttributeUpdates={
            "n": {"Action": "ADD", "Value": {"N": "2"}},
            "s": {"Action": "PUT", "Value": {"S": "new"}},
            "ss": {"Action": "DELETE", "Value": {"SS": ["a"]}},
            "l": {"Action": "ADD", "Value": {"L": [{"S": "y"}]}},
            "fresh": {"Action": "ADD", "Value": {"N": "1"}},
        },
        ReturnValues="ALL_NEW",
    )
    assert answer["Attributes"] == {
        **KEY,
        "n": {"N": "7"},
        "s": {"S": "new"},
        "ss": {"SS": ["b"]},
        "l": {"L": [{"S": "x"}, {"S": "y"}]},
        "fresh": {"N": "1"},
    }
    client.update_item(TableName=table, Key=KEY, AttributeUpdates={"s": {"Action": "DELETE"}})
    assert "s" not in client.get_item(TableName=table, Key=KEY)["Item"]


@pytest.mark.beyond_dynamodb_local("it ignores an update without action")
def test_put_is_the_default_action(client, table):
    client.update_item(TableName=table, Key=KEY, AttributeUpdates={"s": {"Value": {"S": "new"}}})
    assert client.get_item(TableName=table, Key=KEY)["Item"]["s"] == {"S": "new"}


def test_key_conditions_and_query_filter(client, composite_table):
    for n in range(5):
        item = {"p": {"S": "k"}, "r": {"S": f"r{n}"}, "n": {"N": str(n)}}
        client.put_item(TableName=composite_table, Item=item)
    found = client.query(
        TableName=composite_table,
        KeyConditions={
            "p": condition("EQ", {"S": "k"}),
            "r": condition("BETWEEN", {"S": "r1"}, {"S": "r3"}),
        },
        QueryFilter={"n": condition("NE", {"N": "2"})},
        AttributesToGet=["n"],
    )
    assert found["Items"] == [{"n": {"N": "1"}}, {"n": {"N": "3"}}]
    assert found["ScannedCount"] == 3


def test_old_and_new_parameters_do_not_mix(client, table, refused):
    text = (
        "Can not use both expression and non-expression parameters in the same request: "
        "Non-expression parameters: {Expected} Expression parameters: {ConditionExpression}"
    )
    with refused("ValidationException", text, is_enveloped=True):
        client.put_item(
            TableName=table,
            Item=ITEM,
            Expected={"n": {"Exists": False}},
            ConditionExpression="attribute_exists(n)",
        )


NAMES = [
    ("", "Empty attribute name"),
    ("x" * 65536, "Attribute name is too large, must be less than 65536 bytes"),
]


@pytest.mark.parametrize(("name", "text"), NAMES, ids=["empty", "long"])
def test_names_obey_the_rules_for_attribute_names(client, table, refused, name, text):
    request = {"TableName": table}
    missing = {name: {"ComparisonOperator": "NULL"}}
    with refused("ValidationException", text, is_enveloped=True):
        client.update_item(**request, Key=KEY, AttributeUpdates={name: {"Action": "DELETE"}})
    with refused("ValidationException", text, is_enveloped=True):
        client.put_item(**request, Item=KEY, Expected=missing)
    with refused("ValidationException", text):
        client.scan(**request, ScanFilter=missing)


@pytest.mark.parametrize(("name", "text"), NAMES, ids=["empty", "long"])
@pytest.mark.beyond_dynamodb_local("it takes long names")
def test_names_of_attributes_to_get_obey_them_too(client, table, refused, name, text):
    with refused("ValidationException", text):
        client.get_item(TableName=table, Key=KEY, AttributesToGet=[name])
    with refused("ValidationException", text):
        client.scan(TableName=table, AttributesToGet=["s", name])
    with refused("ValidationException", text):
        client.batch_get_item(RequestItems={table: {"Keys": [KEY], "AttributesToGet": [name]}})


def test_an_attribute_name_of_64_kilobytes_is_not_too_long(client, table):
    client.get_item(TableName=table, Key=KEY, AttributesToGet=["x" * 65535])
