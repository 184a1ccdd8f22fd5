"""Requests made to break a server: deep, long, mutilated, abandoned. It answers on and stays small.

What never reaches the operations (garbage on the socket, slow clients) is in `tests/wire`.
"""

from __future__ import annotations

import json
import os
import random
import socket
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.faults.requests import KEY, SEEDS, VALUES, mutilated, nested
from tests.faults.served import HEADERS, Connection, Served, eventually

SEED = int(os.environ.get("HASHRANGE_SEED", "1"))
MUTATIONS = int(os.environ.get("HASHRANGE_MUTATIONS", "1500"))
REPETITIONS = int(os.environ.get("HASHRANGE_REPETITIONS", "500"))
GROWTH_BYTES_MAX = 40 << 20


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    served = Served(tmp_path_factory.mktemp("hostile") / "data", "--log-level", "error")
    served.start()
    connection = Connection(served.port)
    connection.result(
        "CreateTable",
        TableName="table",
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
    )
    connection.result("PutItem", TableName="table", Item={**KEY, "n": {"N": "1"}})
    connection.close()
    yield served
    assert served.stop() == 0
    served.close()


@pytest.fixture
def connection(served: Served) -> Iterator[Connection]:
    """A connection; afterwards the server must be the same process and must not have failed."""
    connection = Connection(served.port)
    yield connection
    assert connection.result("GetItem", TableName="table", Key=KEY)["Item"]["id"] == KEY["id"]
    connection.close()
    assert not served.has_ended()
    assert "Traceback" not in served.messages()


@pytest.mark.parametrize("levels", [33, 100, 400])
def test_deep_documents_are_refused(connection: Connection, levels: int) -> None:
    item = {**KEY, "deep": nested(levels)}
    reply = connection.call("PutItem", {"TableName": "table", "Item": item})
    assert (reply.status, reply.error) == (400, "ValidationException")
    request = {
        "TableName": "table",
        "Key": KEY,
        "UpdateExpression": "SET d = :d",
        "ExpressionAttributeValues": {":d": nested(levels)},
    }
    reply = connection.call("UpdateItem", request)
    assert (reply.status, reply.error) == (400, "ValidationException")


DEEP_CONDITIONS = {
    "brackets": "(" * 2000 + "n = :v" + ")" * 2000,
    "open brackets": "(" * 4096,
    "negations": "NOT " * 1000 + "n = :v",
    "conjunctions": " AND ".join(["n = :v"] * 400),
    "a path": ".".join("n" * 2000) + " = :v",
    "indexes": "n" + "[0]" * 1300 + " = :v",
    "calls": "size(" * 800 + "n" + ")" * 800 + " = :v",
    "a list": "n IN (" + ",".join([":v"] * 1300) + ")",
    "too long": "n = :v" + " " * 5000,
    "far too long": "n = :v OR " * 500_000 + "n = :v",
    "a word": "n" * 4000 + " = :v",
    "nothing but spaces": " " * 4000,
    "odd characters": "\u0000\ud7ff\U0001f600 = :v",
}


@pytest.mark.parametrize("expression", DEEP_CONDITIONS.values(), ids=DEEP_CONDITIONS)
def test_deep_and_long_expressions_are_answered(connection: Connection, expression: str) -> None:
    key = {"TableName": "table", "Key": KEY}
    for operation, request in (
        ("DeleteItem", {**key, "ConditionExpression": "NOT " + expression}),
        ("UpdateItem", {**key, "UpdateExpression": "SET a = " + expression}),
        ("UpdateItem", {**key, "UpdateExpression": "SET a = :v, " + expression}),
        ("Scan", {"TableName": "table", "FilterExpression": expression}),
        ("Query", {"TableName": "table", "KeyConditionExpression": expression}),
    ):
        reply = connection.call(operation, {**request, "ExpressionAttributeValues": VALUES})
        assert reply.status in (200, 400), reply
    reply = connection.call("GetItem", {**key, "ProjectionExpression": expression})
    assert reply.status == 400


@pytest.mark.parametrize(
    "text",
    ["1e999999999", "9" * 100_000, "-" * 100_000, "1." + "0" * 99_999 + "1"],
    ids=["exponent", "digits", "signs", "zeros"],
)
def test_numbers_without_end_are_refused(connection: Connection, text: str) -> None:
    item = {**KEY, "n": {"N": text}}
    reply = connection.call("PutItem", {"TableName": "table", "Item": item})
    assert (reply.status, reply.error) == (400, "ValidationException")


def test_mutilated_requests_are_refused_and_nothing_fails(connection: Connection) -> None:
    dice = random.Random(SEED)
    statuses = {200: 0, 400: 0}
    for _ in range(MUTATIONS):
        operation, request = dice.choice(SEEDS)
        reply = connection.call(operation, mutilated(request, dice))
        assert reply.status in statuses, f"seed {SEED}: {operation}: {reply}"
        statuses[reply.status] += 1
    assert min(statuses.values()) > MUTATIONS // 100, "most are of one kind, which tests little"
    connection.call("PutItem", {"TableName": "table", "Item": KEY})


# What a server must not keep, each made differently every time.

Act = Callable[[Served, Connection, int], None]


def abandon_writes(served: Served, connection: Connection, number: int) -> None:
    """Send a write and be gone before its answer, or in the middle of it."""
    body = json.dumps({"TableName": "table", "Item": {"id": {"S": "gone"}, "x": {"S": "x" * 5000}}})
    headers = {**HEADERS, "X-Amz-Target": "DynamoDB_20120810.PutItem", "Host": "localhost"}
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    whole = f"POST / HTTP/1.1\r\n{head}Content-Length: {len(body)}\r\n\r\n{body}".encode()
    with socket.create_connection(("127.0.0.1", served.port)) as client:
        client.sendall(whole[: len(whole) if number % 2 else -1 - number])
        # Reset instead of an orderly close.
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def use_new_expressions(served: Served, connection: Connection, number: int) -> None:
    """Send an expression that was never seen before."""
    condition = f"name{number:09} = :v AND " * 50 + "n = :v"
    connection.call(
        "Scan",
        {
            "TableName": "table",
            "FilterExpression": condition,
            "ExpressionAttributeValues": VALUES,
        },
    )


def name_new_tables(served: Served, connection: Connection, number: int) -> None:
    """Ask for a table that is not there."""
    connection.call("GetItem", {"TableName": f"absent{number}" + "x" * 200, "Key": KEY})


def invent_regions(served: Served, connection: Connection, number: int) -> None:
    """Come from a region, with a key, that were never seen before."""
    other = Connection(served.port, access_key=f"{number:012}", region=f"region-{number}")
    other.result("ListTables")
    other.close()


def send_large_refused_bodies(served: Served, connection: Connection, number: int) -> None:
    """Send megabytes that lead to nothing."""
    if number % 50 == 0:
        text = "x" * (4 << 20)
        item = {"id": {"S": "large"}, "a": {"S": text}, "b": {"S": text}, "c": {"S": text}}
        reply = connection.call("PutItem", {"TableName": "table", "Item": item})
        assert reply.error == "ValidationException"


def memory_of(served: Served) -> int:
    """Return how much memory of its own a server of one process has."""
    status = Path(f"/proc/{served.process.pid}/status").read_text()
    (line,) = [line for line in status.splitlines() if line.startswith("RssAnon")]
    return int(line.split()[1]) * 1024


@pytest.mark.parametrize(
    "act",
    [
        abandon_writes,
        use_new_expressions,
        name_new_tables,
        invent_regions,
        send_large_refused_bodies,
    ],
)
def test_memory_does_not_grow(served: Served, connection: Connection, act: Act) -> None:
    for number in range(100):
        act(served, connection, number)
    before = memory_of(served)
    for number in range(100, 100 + REPETITIONS):
        act(served, connection, number)
    eventually(lambda: memory_of(served) - before < GROWTH_BYTES_MAX, f"memory stays near {before}")


def test_nothing_is_left_of_clients_that_vanished(served: Served, connection: Connection) -> None:
    descriptors = Path(f"/proc/{served.process.pid}/fd")
    before = len(list(descriptors.iterdir()))
    for number in range(300):
        abandon_writes(served, connection, number)
    eventually(
        lambda: len(list(descriptors.iterdir())) <= before + 2, "their connections are closed"
    )
