"""No request, whatever it contains, keeps the event loop from the others for long.

Counted is the longest callback of the server's loop, in CPU time of its thread. The bound follows
from the speed of the machine: decoding 100,000 values, which the server does in one go.
"""

from __future__ import annotations

import base64
import gc
import json
import time
from collections.abc import Callable, Iterator

import orjson
import pytest

from hashrange.server_process import calm_collector
from hashrange.testing import serve
from tests.harness.held_loop import held_loop
from tests.harness.tracing import traced_factor
from tests.wire.conftest import Client, post

DENSE_ITEMS = 3
ATTEMPTS = 3
# Four times what the server decodes at once: 50 ms where that takes 12.
FACTOR = 4


def unit_seconds() -> float:
    """Return how long this machine takes to decode 100,000 values."""
    body = list_of(b'{"N":"1"}', 100_000)
    seconds = []
    for _ in range(ATTEMPTS):
        before = time.thread_time()
        orjson.loads(body)
        seconds.append(time.thread_time() - before)
    return min(seconds)


def list_of(value: bytes, count: int) -> bytes:
    return b'{"L":[' + b",".join([value] * count) + b"]}"


def put(value: bytes, key: str = "x") -> bytes:
    return b'{"TableName":"table","Item":{"id":{"S":"%b"},"v":%b}}' % (key.encode(), value)


def many(value: bytes, count: int) -> bytes:
    return put(list_of(value, count))


def update(value: bytes, count: int) -> bytes:
    return (
        b'{"TableName":"table","Key":{"id":{"S":"y"}},"UpdateExpression":"SET v=:v",'
        b'"ExpressionAttributeValues":{":v":%b}}' % list_of(value, count)
    )


def query(value: bytes, count: int) -> bytes:
    values = b'{":v":{"S":"y"},":w":%b}' % list_of(value, count)
    return (
        b'{"TableName":"table","KeyConditionExpression":"id=:v","FilterExpression":"v=:w",'
        b'"ExpressionAttributeValues":%b}' % values
    )


def put_set(kind: str, members: list[str]) -> bytes:
    return put(json.dumps({kind: members}).encode())


def write_batch() -> bytes:
    puts = [
        b'{"PutRequest":{"Item":{"id":{"S":"w%d"},"v":%b}}}'
        % (number, list_of(b'{"B":"QQ=="}', 100_000))
        for number in range(2)
    ]
    return b'{"RequestItems":{"table":[%b]}}' % b",".join(puts)


def update_dense() -> bytes:
    updates = [
        {
            "Update": {
                "TableName": "table",
                "Key": {"id": {"S": f"dense{number}"}},
                "UpdateExpression": "SET a = :v",
                "ExpressionAttributeValues": {":v": {"N": "1"}},
            }
        }
        for number in range(DENSE_ITEMS)
    ]
    return json.dumps({"TransactItems": updates}).encode()


def statement(value: bytes, count: int) -> bytes:
    text = b"UPDATE \\\"table\\\" SET v=? WHERE id='dense0'"
    return b'{"Statement":"%b","Parameters":[%b]}' % (text, list_of(value, count))


NUMBERS = [str(100_000 + number) for number in range(90_000)]
BINARIES = [base64.b64encode(b"%d" % number).decode() for number in range(60_000)]

REQUESTS: dict[str, tuple[str, int, Callable[[], bytes]]] = {
    "nulls": ("PutItem", 200, lambda: many(b'{"NULL":true}', 200_000)),
    "empty strings": ("PutItem", 200, lambda: many(b'{"S":""}', 400_000)),
    "empty lists": ("PutItem", 400, lambda: many(b'{"L":[]}', 400_000)),
    "binaries": ("PutItem", 200, lambda: many(b'{"B":"QQ=="}', 130_000)),
    "sets of one": ("PutItem", 200, lambda: many(b'{"NS":["1"]}', 80_000)),
    "a wrong value at the end": (
        "PutItem",
        400,
        lambda: put(list_of(b'{"N":"1"}', 120_000)[:-2] + b',{"N":"x"}]}'),
    ),
    "a set of numbers": ("PutItem", 200, lambda: put_set("NS", NUMBERS)),
    "a set of binaries": ("PutItem", 200, lambda: put_set("BS", BINARIES)),
    "an update": ("UpdateItem", 200, lambda: update(b'{"NULL":true}', 190_000)),
    "a query": ("Query", 200, lambda: query(b'{"B":"QQ=="}', 130_000)),
    "a batch": ("BatchWriteItem", 200, write_batch),
    "a statement": ("ExecuteStatement", 200, lambda: statement(b'{"B":"QQ=="}', 100_000)),
    "updates of dense items": ("TransactWriteItems", 200, update_dense),
}


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """A server with a few dense items, and the cycle collector set as a server process does."""
    thresholds = gc.get_threshold()
    calm_collector()
    with serve() as server:
        found = int(server.endpoint_url.rpartition(":")[2])
        client = Client(found)
        client.socket.settimeout(60)
        definition = {
            "TableName": "table",
            "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
        }
        assert client.call("CreateTable", json.dumps(definition).encode())[0] == 200
        numbers = list_of(b'{"N":"1"}', 130_000)
        for number in range(DENSE_ITEMS):
            assert client.call("PutItem", put(numbers, f"dense{number}"))[0] == 200
        client.close()
        yield found
    gc.unfreeze()
    gc.set_threshold(*thresholds)


@pytest.mark.parametrize("name", REQUESTS)
def test_no_request_holds_the_event_loop(port: int, name: str) -> None:
    operation, expected, make = REQUESTS[name]
    request = post(operation, make())
    client = Client(port)
    client.socket.settimeout(60)
    bound = FACTOR * unit_seconds() * traced_factor()
    longest: list[float] = []
    while len(longest) < ATTEMPTS and min(longest, default=bound) >= bound:
        with held_loop() as holds:
            client.send(request)
            status, _, answer = client.response()
        assert status == expected, answer[:300]
        longest.append(holds.longest_seconds)
    client.close()
    assert min(longest) < bound, longest
