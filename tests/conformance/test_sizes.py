"""How items are measured, and the limits of 400 KB items and of keys, to the byte."""

import base64
from typing import Any

import pytest

ITEM_BYTES_MAX = 400 * 1024
TOO_LARGE = "Item size has exceeded the maximum allowed size"
UPDATE_TOO_LARGE = "Item size to update has exceeded the maximum allowed size"

# A value and the bytes DynamoDB counts for it.
SIZES = [
    ({"S": ""}, 0),
    ({"S": "é日"}, 5),
    ({"B": b"\x00\x01\x02"}, 3),
    ({"BOOL": True}, 1),
    ({"NULL": True}, 1),
    ({"N": "1"}, 2),
    ({"N": "12"}, 2),
    ({"N": "123"}, 3),
    ({"N": "-1"}, 3),
    ({"N": "1e20"}, 2),
    ({"N": "12345678901234567890123456789012345678"}, 20),
    ({"SS": ["a", "bc"]}, 3),
    ({"NS": ["1", "-1"]}, 5),
    ({"BS": [b"a", b"bc"]}, 3),
    ({"L": []}, 3),
    ({"L": [{"S": "a"}, {"BOOL": True}]}, 3 + 2 + 2),
    ({"M": {}}, 3),
    ({"M": {"ab": {"S": "c"}}}, 3 + 2 + 1 + 1),
]


def filler(total, *attributes):
    """Return a string that fills an item with these attributes up to a total."""
    used = sum(len(name) + size for name, size in attributes)
    return {"S": "x" * (total - used - len("f"))}


@pytest.mark.parametrize(("value", "size"), SIZES, ids=lambda v: str(v)[:40])
def test_values_are_measured_as_dynamodb_does(client, hash_table, refused, value, size):
    item = {"p": {"S": "k"}, "v": value}
    item["f"] = filler(ITEM_BYTES_MAX, ("p", 1), ("v", size))
    client.put_item(TableName=hash_table, Item=item)
    item["f"]["S"] += "x"
    with refused("ValidationException", TOO_LARGE):
        client.put_item(TableName=hash_table, Item=item)


def test_long_attribute_names_count(client, hash_table, refused):
    name = "n" * 1000
    item: dict[str, Any] = {"p": {"S": "k"}, name: {"BOOL": True}}
    item["f"] = filler(ITEM_BYTES_MAX, ("p", 1), (name, 1))
    client.put_item(TableName=hash_table, Item=item)
    item["f"]["S"] += "x"
    with refused("ValidationException", TOO_LARGE):
        client.put_item(TableName=hash_table, Item=item)


def test_an_update_cannot_grow_an_item_beyond_the_limit(client, hash_table, refused):
    item = {"p": {"S": "k"}, "f": filler(ITEM_BYTES_MAX - 20, ("p", 1))}
    client.put_item(TableName=hash_table, Item=item)
    with refused("ValidationException", UPDATE_TOO_LARGE):
        client.update_item(
            TableName=hash_table,
            Key={"p": {"S": "k"}},
            UpdateExpression="SET v = :v",
            ExpressionAttributeValues={":v": {"S": "x" * 40}},
        )


@pytest.mark.beyond_dynamodb_local("it words it in its own way")
def test_a_partition_key_has_up_to_2048_bytes_and_a_sort_key_1024(client, composite_table, refused):
    item = {"p": {"S": "p" * 2048}, "r": {"S": "r" * 1024}}
    client.put_item(TableName=composite_table, Item=item)
    found = client.get_item(TableName=composite_table, Key=item)["Item"]
    assert found == item
    text = (
        "One or more parameter values were invalid: Size of hashkey has exceeded the maximum size "
        "limit of2048 bytes"
    )
    with refused("ValidationException", text):
        client.put_item(TableName=composite_table, Item={**item, "p": {"S": "p" * 2049}})
    text = (
        "One or more parameter values were invalid: Aggregated size of all range keys has exceeded "
        "the size limit of 1024 bytes"
    )
    with refused("ValidationException", text):
        client.put_item(TableName=composite_table, Item={**item, "r": {"S": "é" * 512 + "r"}})


def test_large_binary_survives(client, hash_table):
    blob = bytes(range(256)) * 1000
    client.put_item(TableName=hash_table, Item={"p": {"S": "k"}, "b": {"B": blob}})
    found = client.get_item(TableName=hash_table, Key={"p": {"S": "k"}})["Item"]["b"]["B"]
    assert found == blob
    assert len(base64.b64encode(found)) > 300_000
