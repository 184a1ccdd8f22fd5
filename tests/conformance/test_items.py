"""PutItem, GetItem and DeleteItem: what is kept, what comes back, what is refused."""

import pytest

ALL_TYPES = {
    "string": {"S": "text"},
    "empty string": {"S": ""},
    "number": {"N": "-12.5"},
    "binary": {"B": b"\x00\xff"},
    "empty binary": {"B": b""},
    "yes": {"BOOL": True},
    "no": {"BOOL": False},
    "nothing": {"NULL": True},
    "strings": {"SS": ["a", "b"]},
    "numbers": {"NS": ["1", "2"]},
    "binaries": {"BS": [b"a", b"b"]},
    "list": {"L": [{"S": "a"}, {"L": []}, {"M": {}}, {"NULL": True}]},
    "map": {"M": {"a": {"M": {"b": {"L": [{"N": "1"}]}}}}},
}


def test_an_item_of_every_type_comes_back_as_it_was_put(client, hash_table):
    item = {"p": {"S": "k"}, **ALL_TYPES}
    client.put_item(TableName=hash_table, Item=item)
    found = client.get_item(TableName=hash_table, Key={"p": {"S": "k"}})["Item"]
    for kind in ("SS", "NS", "BS"):
        for value in found.values():
            if kind in value:
                value[kind] = sorted(value[kind])
    assert found == item


def test_a_missing_item_gives_an_answer_without_item(client, hash_table):
    answer = client.get_item(TableName=hash_table, Key={"p": {"S": "absent"}})
    assert "Item" not in answer


def test_put_replaces_the_whole_item_and_returns_the_old_one_on_request(client, hash_table):
    old = {"p": {"S": "k"}, "a": {"N": "1"}}
    new = {"p": {"S": "k"}, "b": {"N": "2"}}
    first = client.put_item(TableName=hash_table, Item=old, ReturnValues="ALL_OLD")
    assert "Attributes" not in first
    second = client.put_item(TableName=hash_table, Item=new, ReturnValues="ALL_OLD")
    assert second["Attributes"] == old
    assert client.get_item(TableName=hash_table, Key={"p": {"S": "k"}})["Item"] == new


def test_delete_returns_the_old_item_on_request_and_forgives_a_missing_one(client, hash_table):
    item = {"p": {"S": "k"}, "a": {"N": "1"}}
    client.put_item(TableName=hash_table, Item=item)
    request = {"TableName": hash_table, "Key": {"p": {"S": "k"}}, "ReturnValues": "ALL_OLD"}
    assert client.delete_item(**request)["Attributes"] == item
    assert "Attributes" not in client.delete_item(**request)


@pytest.mark.beyond_dynamodb_local("it words it in its own way")
@pytest.mark.parametrize("operation", ["put_item", "delete_item"])
@pytest.mark.parametrize("choice", ["ALL_NEW", "UPDATED_NEW", "UPDATED_OLD"])
def test_put_and_delete_return_no_new_values(client, hash_table, refused, operation, choice):
    part = "Item" if operation == "put_item" else "Key"
    with refused(
        "ValidationException", "ReturnValues can only be ALL_OLD or NONE", is_enveloped=True
    ):
        getattr(client, operation)(
            TableName=hash_table, ReturnValues=choice, **{part: {"p": {"S": "k"}}}
        )


def test_projection_takes_nested_parts_and_keeps_their_places(client, hash_table):
    item = {
        "p": {"S": "k"},
        "m": {"M": {"a": {"N": "1"}, "b": {"M": {"c": {"S": "x"}, "d": {"S": "y"}}}}},
        "l": {"L": [{"S": "zero"}, {"S": "one"}, {"M": {"z": {"N": "2"}, "y": {"N": "3"}}}]},
    }
    client.put_item(TableName=hash_table, Item=item)
    found = client.get_item(
        TableName=hash_table,
        Key={"p": {"S": "k"}},
        ProjectionExpression="m.b.c, l[2].z, l[0], absent.part, #a",
        ExpressionAttributeNames={"#a": "also-absent"},
    )["Item"]
    assert found == {
        "m": {"M": {"b": {"M": {"c": {"S": "x"}}}}},
        "l": {"L": [{"S": "zero"}, {"M": {"z": {"N": "2"}}}]},
    }


def test_a_projection_of_nothing_that_is_there_gives_an_empty_item(client, hash_table):
    client.put_item(TableName=hash_table, Item={"p": {"S": "k"}})
    answer = client.get_item(
        TableName=hash_table, Key={"p": {"S": "k"}}, ProjectionExpression="absent"
    )
    assert answer["Item"] == {}


def test_parameters_an_operation_does_not_have_are_not_looked_at(raw, hash_table):
    reply = raw.call(
        "GetItem",
        {
            "TableName": hash_table,
            "Key": {"p": {"S": "k"}},
            "ProjectionExpression": "p",
            "ExpressionAttributeValues": {":v": {"S": "v"}},
            "Unheard": {"Of": [1]},
        },
    )
    assert (reply.status, reply.body) == (200, {})


KEY_MISMATCH = "The provided key element does not match the schema"


@pytest.mark.parametrize(
    "key",
    [
        {"p": {"S": "k"}},
        {"p": {"S": "k"}, "r": {"N": "1"}},
        {"p": {"S": "k"}, "r": {"S": "k"}, "x": {"S": "k"}},
        {"p": {"S": "k"}, "other": {"S": "k"}},
        {},
    ],
    ids=["too few", "wrong type", "too many", "wrong name", "none"],
)
@pytest.mark.beyond_dynamodb_local("it words some mismatches in its own way")
@pytest.mark.parametrize("operation", ["get_item", "delete_item", "update_item"])
def test_a_key_has_to_match_the_schema(client, composite_table, refused, operation, key):
    with refused("ValidationException", KEY_MISMATCH):
        getattr(client, operation)(TableName=composite_table, Key=key)


@pytest.mark.beyond_dynamodb_local("it words a missing key in its own way")
def test_an_item_needs_its_keys(client, composite_table, refused):
    text = "One or more parameter values were invalid: Missing the key r in the item"
    with refused("ValidationException", text):
        client.put_item(TableName=composite_table, Item={"p": {"S": "k"}})


@pytest.mark.beyond_dynamodb_local("it leaves the key out of the text")
def test_an_items_keys_have_the_types_of_the_schema(client, composite_table, refused):
    text = (
        "One or more parameter values were invalid: Type mismatch for key r expected: S actual: N"
    )
    with refused("ValidationException", text):
        client.put_item(TableName=composite_table, Item={"p": {"S": "k"}, "r": {"N": "1"}})


def test_key_values_are_not_empty(client, composite_table, refused):
    text = (
        "One or more parameter values are not valid. The AttributeValue for a key attribute "
        "cannot contain an empty string value. Key: r"
    )
    with refused("ValidationException", text):
        client.put_item(TableName=composite_table, Item={"p": {"S": "k"}, "r": {"S": ""}})
    with refused("ValidationException", text):
        client.get_item(TableName=composite_table, Key={"p": {"S": "k"}, "r": {"S": ""}})


def test_index_keys_are_not_empty(client, tables, refused):
    table = tables.create("p:S", indexes={"by_s": ("s:S",)})
    text = (
        "One or more parameter values are not valid. A value specified for a secondary index "
        "key is not supported. The AttributeValue for a key attribute cannot contain an empty "
        "string value. IndexName: by_s, IndexKey: s"
    )
    with refused("ValidationException", text):
        client.put_item(TableName=table, Item={"p": {"S": "k"}, "s": {"S": ""}})


@pytest.mark.beyond_dynamodb_local("it leaves the key out of the text")
def test_index_keys_have_the_right_type(client, tables, refused):
    table = tables.create("p:S", indexes={"by_s": ("s:S",)})
    text = (
        "One or more parameter values were invalid: Type mismatch for Index Key s Expected: S "
        "Actual: N IndexName: by_s"
    )
    with refused("ValidationException", text):
        client.put_item(TableName=table, Item={"p": {"S": "k"}, "s": {"N": "1"}})


@pytest.mark.beyond_dynamodb_local("it words a missing table in its own way")
@pytest.mark.parametrize("operation", ["get_item", "delete_item", "update_item"])
def test_a_table_has_to_exist(client, refused, operation):
    with refused("ResourceNotFoundException", "Requested resource not found"):
        getattr(client, operation)(TableName="no-such-table", Key={"p": {"S": "k"}})


def test_binary_keys_order_by_unsigned_bytes(client, tables):
    table = tables.create("p:S", "r:B")
    keys = [b"\x00", b"\x00\x00", b"\x01", b"\x7f", b"\x80", b"\xff", b"\xff\x00"]
    for key in reversed(keys):
        client.put_item(TableName=table, Item={"p": {"S": "k"}, "r": {"B": key}})
    found = client.query(
        TableName=table,
        KeyConditionExpression="p = :p",
        ExpressionAttributeValues={":p": {"S": "k"}},
    )
    assert [item["r"]["B"] for item in found["Items"]] == keys


def test_string_keys_order_by_utf8_bytes(client, composite_table):
    keys = ["", "A", "Z", "a", "aa", "b", "é", "日本", "🂡"][1:]
    for key in reversed(keys):
        client.put_item(TableName=composite_table, Item={"p": {"S": "k"}, "r": {"S": key}})
    found = client.query(
        TableName=composite_table,
        KeyConditionExpression="p = :p",
        ExpressionAttributeValues={":p": {"S": "k"}},
    )
    assert [item["r"]["S"] for item in found["Items"]] == keys
