"""Requests that cost a server much, for `neighbours`: each is made once and sent many times."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

TABLE = "hostile"
SCANNED = "scanned"
_LARGE_ITEMS = 42
_SET_ITEMS = 10

Json = dict[str, Any]


class Attack(NamedTuple):
    """A request, how many connections send it, and how many of it each sends ahead of answers."""

    name: str
    operation: str
    make: Callable[[], bytes]
    connections: int = 4
    ahead: int = 1


def definitions() -> list[Json]:
    """Return the tables that the requests need."""
    return [
        {
            "TableName": name,
            "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
        }
        for name in (TABLE, SCANNED)
    ]


def items() -> Iterator[tuple[str, bytes]]:
    """Return PutItem requests for the items that the requests need."""
    for number in range(_LARGE_ITEMS):
        yield "PutItem", _put(f"dense{number}", _numbers(130_000))
    for number in range(_SET_ITEMS):
        members = json.dumps({"NS": [str(100_000 + member) for member in range(90_000)]})
        yield "PutItem", _put(f"set{number}", members.encode())
    for start in range(0, 10_000, 25):
        puts = [
            {"PutRequest": {"Item": {"id": {"S": f"item{start + number}"}, "n": {"N": "7"}}}}
            for number in range(25)
        ]
        yield "BatchWriteItem", _encoded({"RequestItems": {SCANNED: puts}})


def _numbers(count: int) -> bytes:
    return b'{"L":[' + b",".join([b'{"N":"1"}'] * count) + b"]}"


def _put(key: str, value: bytes) -> bytes:
    return b'{"TableName":"%b","Item":{"id":{"S":"%b"},"v":%b}}' % (
        TABLE.encode(),
        key.encode(),
        value,
    )


def _encoded(request: Json) -> bytes:
    return json.dumps(request).encode()


def _long_list() -> bytes:
    return _put("x", _numbers(1_300_000))


def _batch_of_numbers() -> bytes:
    puts = [
        b'{"PutRequest":{"Item":{"id":{"S":"w%d"},"v":%b}}}' % (number, _numbers(60_000))
        for number in range(25)
    ]
    return b'{"RequestItems":{"%b":[%b]}}' % (TABLE.encode(), b",".join(puts))


def _projected_gets() -> bytes:
    keys = [{"id": {"S": f"dense{number}"}} for number in range(_LARGE_ITEMS)]
    return _encoded({"RequestItems": {TABLE: {"Keys": keys, "ProjectionExpression": "id"}}})


def _additions_to_sets() -> bytes:
    updates = [
        {
            "Update": {
                "TableName": TABLE,
                "Key": {"id": {"S": f"set{number}"}},
                "UpdateExpression": "ADD v :v",
                "ExpressionAttributeValues": {":v": {"NS": ["1", "2"]}},
            }
        }
        for number in range(_SET_ITEMS)
    ]
    return _encoded({"TransactItems": updates})


def _dense_updates() -> bytes:
    updates = [
        {
            "Update": {
                "TableName": TABLE,
                "Key": {"id": {"S": f"dense{number}"}},
                "UpdateExpression": "SET a = :v",
                "ExpressionAttributeValues": {":v": {"N": "1"}},
            }
        }
        for number in range(_LARGE_ITEMS)
    ]
    return _encoded({"TransactItems": updates})


def _repeated(value: bytes, count: int) -> bytes:
    return _put("x", b'{"L":[' + b",".join([value] * count) + b"]}")


def _number_set() -> bytes:
    return _put("x", _encoded({"NS": [str(100_000 + number) for number in range(90_000)]}))


def _many_values() -> bytes:
    request = {
        "TableName": TABLE,
        "Key": {"id": {"S": "x"}},
        "UpdateExpression": "SET v = :v1",
        "ExpressionAttributeValues": {f":v{number}": {"N": "1"} for number in range(100_000)},
    }
    return _encoded(request)


def _alternatives() -> bytes:
    tests = " OR ".join(f"n={number + 1000}" for number in range(690))
    return _encoded({"Statement": f"SELECT * FROM {SCANNED} WHERE {tests}"[:8192]})


def _filtered_scan() -> bytes:
    request = {
        "TableName": SCANNED,
        "FilterExpression": "n = :v",
        "ExpressionAttributeValues": {":v": {"N": "8"}},
    }
    return _encoded(request)


ATTACKS = [
    Attack("PutItem of a 13 MB list", "PutItem", _long_list),
    Attack("BatchWriteItem of 15 MB of numbers", "BatchWriteItem", _batch_of_numbers),
    Attack("BatchGetItem of 42 large items, projected", "BatchGetItem", _projected_gets),
    Attack("TransactWriteItems, ADD to 10 large sets", "TransactWriteItems", _additions_to_sets),
    Attack("TransactWriteItems, 42 updates of large items", "TransactWriteItems", _dense_updates),
    Attack("PutItem of 200,000 nulls", "PutItem", lambda: _repeated(b'{"NULL":true}', 200_000)),
    Attack("PutItem of 400,000 empty texts", "PutItem", lambda: _repeated(b'{"S":""}', 400_000)),
    Attack("PutItem of a set of 90,000 numbers", "PutItem", _number_set),
    Attack("100,000 expression values", "UpdateItem", _many_values),
    Attack("PartiQL of 690 alternatives", "ExecuteStatement", _alternatives),
    Attack("16 parallel scans with a filter", "Scan", _filtered_scan, connections=16),
    Attack("200 connections that pipeline", "ListTables", lambda: b"{}", 200, 50),
]
