"""Greedy strangers on many connections: the memory stays bounded, a polite client is answered."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.faults.served import HEADERS, Connection, Served, eventually

CONNECTIONS = int(os.environ.get("HASHRANGE_STRANGERS", "40"))
# Of those whose requests take the server long.
COSTLY_CONNECTIONS = int(os.environ.get("HASHRANGE_STRANGERS", "16"))
MEGABYTES = int(os.environ.get("HASHRANGE_STRANGERS_MB", "4"))
MEMORY_BYTES_MAX = 300 << 20
POLITE_CALLS = 40
LARGE_ITEMS = 42
DENSE_ITEMS = 4

Feed = Callable[[socket.socket], None]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    directory = tmp_path_factory.mktemp("strangers") / "data"
    served = Served(directory, "--workers", "1", "--log-level", "error")
    served.start()
    connection = Connection(served.port)
    connection.result(
        "CreateTable",
        TableName="table",
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
    )
    text = {"S": "x" * 390_000}
    for number in range(LARGE_ITEMS):
        item = {"id": {"S": f"large{number}"}, "text": text}
        connection.result("PutItem", TableName="table", Item=item)
    dense = {"L": [{"N": "1"}] * 100_000}
    for number in range(DENSE_ITEMS):
        key = {"S": f"dense{number}"}
        connection.result("PutItem", TableName="table", Item={"id": key, "values": dense})
    connection.close()
    yield served
    assert served.stop() == 0
    served.close()


def head_of(operation: str, length: str) -> bytes:
    headers = {**HEADERS, "Host": "localhost", "X-Amz-Target": f"DynamoDB_20120810.{operation}"}
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"POST / HTTP/1.1\r\n{lines}{length}\r\n\r\n".encode()


def send_tiny_chunks(stranger: socket.socket) -> None:
    """Send a body in chunks of two bytes."""
    stranger.sendall(head_of("PutItem", "Transfer-Encoding: chunked"))
    chunks = b"2\r\nxx\r\n" * 10_000
    for _ in range(MEGABYTES * 50):
        stranger.sendall(chunks)


def send_half_bodies(stranger: socket.socket) -> None:
    """Send a part of a large body, and no more."""
    stranger.sendall(head_of("PutItem", f"Content-Length: {16 << 20}"))
    for _ in range(MEGABYTES * 4):
        stranger.sendall(b"x" * (1 << 18))


def read_nothing(stranger: socket.socket) -> None:
    """Ask for large answers and leave them unread."""
    keys = [{"id": {"S": f"large{number}"}} for number in range(LARGE_ITEMS)]
    body = json.dumps({"RequestItems": {"table": {"Keys": keys}}}).encode()
    stranger.sendall((head_of("BatchGetItem", f"Content-Length: {len(body)}") + body) * 8)


def send_dense_items(stranger: socket.socket) -> None:
    """Send items of very many values, the next when the last one is answered."""
    values = b'{"N":"1"},' * 100_000
    body = b'{"TableName":"table","Item":{"id":{"S":"x"},"l":{"L":[%b{"N":"1"}]}}}' % values
    message = head_of("PutItem", f"Content-Length: {len(body)}") + body
    stranger.sendall(message)
    stranger.recv(65536)


def update_large_items(stranger: socket.socket) -> None:
    """Change many large items in one transaction."""
    update = {
        "TableName": "table",
        "UpdateExpression": "ADD n :one",
        "ExpressionAttributeValues": {":one": {"N": "1"}},
    }
    keys = [{"id": {"S": f"large{number}"}} for number in range(LARGE_ITEMS)]
    ask(
        stranger,
        "TransactWriteItems",
        TransactItems=[{"Update": {**update, "Key": key}} for key in keys],
    )


def filter_dense_items(stranger: socket.socket) -> None:
    """Read pages that have to be decoded."""
    ask(
        stranger,
        "Scan",
        TableName="table",
        FilterExpression="attribute_exists(id)",
        ProjectionExpression="id",
    )


def get_dense_items(stranger: socket.socket) -> None:
    """Read parts of items of very many values together."""
    get = {"TableName": "table", "ProjectionExpression": "id"}
    keys = [{"id": {"S": f"dense{number}"}} for number in range(DENSE_ITEMS)]
    ask(stranger, "TransactGetItems", TransactItems=[{"Get": {**get, "Key": key}} for key in keys])


def ask(stranger: socket.socket, operation: str, **request: object) -> None:
    body = json.dumps(request).encode()
    stranger.sendall(head_of(operation, f"Content-Length: {len(body)}") + body)
    stranger.recv(65536)


def peak_bytes(worker: int) -> int:
    """Return the most memory a process had since the last call of `forget_peak`."""
    status = Path(f"/proc/{worker}/status").read_text()
    (line,) = [line for line in status.splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) * 1024


def forget_peak(worker: int) -> None:
    Path(f"/proc/{worker}/clear_refs").write_text("5")


@pytest.mark.parametrize(
    ("feed", "connections"),
    [
        (send_tiny_chunks, CONNECTIONS),
        (send_half_bodies, CONNECTIONS),
        (read_nothing, CONNECTIONS),
        (send_dense_items, COSTLY_CONNECTIONS),
        (update_large_items, COSTLY_CONNECTIONS),
        (filter_dense_items, COSTLY_CONNECTIONS),
        (get_dense_items, COSTLY_CONNECTIONS),
    ],
)
def test_strangers_do_not_fill_the_memory_nor_disturb_others(
    served: Served, feed: Feed, connections: int
) -> None:
    worker = (served.workers() or [served.process.pid])[0]
    forget_peak(worker)
    descriptors = Path(f"/proc/{worker}/fd")
    before = len(list(descriptors.iterdir()))
    strangers = [socket.create_connection(("127.0.0.1", served.port)) for _ in range(connections)]

    def run(stranger: socket.socket) -> None:
        stranger.settimeout(30)
        with contextlib.suppress(OSError):
            feed(stranger)

    threads = [threading.Thread(target=run, args=(each,), daemon=True) for each in strangers]
    for thread in threads:
        thread.start()
    polite = Connection(served.port)
    key = {"id": {"S": "polite"}}
    for number in range(POLITE_CALLS):
        polite.result("PutItem", TableName="table", Item={**key, "n": {"N": str(number)}})
        polite.result("GetItem", TableName="table", Key=key)
    polite.close()
    for thread in threads:
        thread.join(60)
    peak = peak_bytes(worker)

    for each in strangers:
        each.close()
    eventually(
        lambda: len(list(descriptors.iterdir())) < before + connections, "their connections close"
    )
    assert peak < MEMORY_BYTES_MAX, f"{peak >> 20} MB"
