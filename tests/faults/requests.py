"""Requests to begin with, and ways to spoil them."""

from __future__ import annotations

import random
from typing import Any

KEY = {"id": {"S": "one"}}
VALUES = {":v": {"N": "1"}}
NAMES = {"#n": "n"}


def nested(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {"N": "1"}
    for level in range(levels):
        value = {"L": [value]} if level % 2 else {"M": {"m": value}}
    return value


SEEDS: list[tuple[str, dict[str, Any]]] = [
    ("PutItem", {"TableName": "table", "Item": {**KEY, "m": nested(3), "s": {"SS": ["a", "b"]}}}),
    (
        "UpdateItem",
        {
            "TableName": "table",
            "Key": KEY,
            "UpdateExpression": "SET a = if_not_exists(a, :v), l = list_append(l, :v) ADD #n :v",
            "ConditionExpression": "attribute_exists(id) AND NOT (#n BETWEEN :v AND :v)",
            "ExpressionAttributeNames": NAMES,
            "ExpressionAttributeValues": VALUES,
            "ReturnValues": "ALL_NEW",
        },
    ),
    (
        "Query",
        {
            "TableName": "table",
            "KeyConditionExpression": "id = :i",
            "FilterExpression": "size(n) > :v OR contains(n, :v)",
            "ExpressionAttributeValues": {":i": KEY["id"], **VALUES},
            "Limit": 5,
            "ExclusiveStartKey": KEY,
        },
    ),
    ("Scan", {"TableName": "table", "TotalSegments": 4, "Segment": 1, "Select": "COUNT"}),
    (
        "TransactWriteItems",
        {
            "TransactItems": [
                {"Put": {"TableName": "table", "Item": {"id": {"S": "two"}}}},
                {"Delete": {"TableName": "table", "Key": {"id": {"S": "three"}}}},
            ],
            "ClientRequestToken": "token",
        },
    ),
    (
        "BatchWriteItem",
        {"RequestItems": {"table": [{"PutRequest": {"Item": {"id": {"S": "four"}}}}]}},
    ),
    ("BatchGetItem", {"RequestItems": {"table": {"Keys": [KEY], "ProjectionExpression": "n"}}}),
    (
        "CreateTable",
        {
            "TableName": "another",
            "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
            "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1},
            "GlobalSecondaryIndexes": [
                {
                    "IndexName": "index",
                    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
                    "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["a"]},
                    "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1},
                }
            ],
            "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
            "Tags": [{"Key": "k", "Value": "v"}],
        },
    ),
    ("ListTables", {"Limit": 1, "ExclusiveStartTableName": "aaa"}),
    ("DescribeTable", {"TableName": "table"}),
]
STRANGE: list[Any] = [
    *(None, True, 0, -1, 2**63, 1e308, "", "x", "\u0000", "\ud800", "9" * 50, [], {}, [[]]),
    *([None], {"S": None}, {"S": "a", "N": "1"}, {"NULL": False}, {"SS": []}, {"B": "=="}),
    *({"L": [{}]}, {"M": {"": {"S": ""}}}, {"N": "Infinity"}, {"": {}}, "#n", ":v", "a.b[0]"),
]


def mutilated(value: Any, dice: random.Random) -> Any:
    """Return a copy with something strange somewhere."""
    if dice.random() < 0.12:
        return dice.choice(STRANGE)
    if isinstance(value, dict):
        copy = {name: mutilated(part, dice) for name, part in value.items()}
        if copy and dice.random() < 0.05:
            copy.pop(dice.choice(list(copy)))
        if dice.random() < 0.05:
            copy[dice.choice(("S", "N", "TableName", "", "Limit"))] = dice.choice(STRANGE)
        return copy
    if isinstance(value, list):
        return [mutilated(part, dice) for part in value] * dice.choice((1, 1, 1, 2, 40))
    if isinstance(value, str) and value and dice.random() < 0.1:
        cut = dice.randrange(len(value))
        return value[:cut] + dice.choice(("(", ")", ",", "\u00e9", "[", " ")) + value[cut + 1 :]
    return value
