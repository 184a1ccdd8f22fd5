"""Random requests of four kinds against a database in this process; none may fail with a 500.

    python -m tests.faults.fuzz [COUNT] [SEED] [KIND]     a million of each unless told otherwise

A request is decided by its seed and its number alone, so a failure can be repeated.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import orjson

from hashrange.api.registry import DYNAMODB, STREAMS
from hashrange.api.shapes.structures import AttributeMap, AttributeValue, ListOf, MapOf, Structure
from hashrange.app.database import Database
from hashrange.clock import SystemClock
from hashrange.engine.memory.engine import MemoryEngine
from hashrange.wire.http.bounds import DEFAULT_BOUNDS
from hashrange.wire.http.connection import Connection
from hashrange.wire.http.messages import Head, HttpRequest
from hashrange.wire.http.router import Router
from hashrange.wire.http.server import Server
from hashrange.wire.http.visitors import Visitors
from hashrange.wire.services import Neighbours
from tests.faults.requests import SEEDS, STRANGE, mutilated

NAMES = ["table", "another", "third", "absent", "f:zz", "x", "a" * 256]
AUTHORIZATION = (
    b"AWS4-HMAC-SHA256 Credential=local/20260101/us-east-1/dynamodb/aws4_request, "
    b"SignedHeaders=host;x-amz-date;x-amz-target, Signature=00"
)
VOCABULARY = """
SELECT * FROM WHERE INSERT INTO VALUE UPDATE SET REMOVE DELETE RETURNING ALL OLD NEW MODIFIED EXISTS
AND OR NOT IN BETWEEN IS NULL MISSING begins_with contains size attribute_type ORDER BY DESC ( ) [ ]
{ } << >> , . : ; = <> < <= > >= + - ? ' " "table" "table"."index" table id n a.b[0] 'one' 'x' 1
-1.5e3 1e999 true false null `x` list_append set_add {'id':'a'} ['a',1] "f:zz" "" \u00e9 \u0000 --
"""
WORDS = VOCABULARY.split()
OPERATIONS = ["ExecuteStatement"] * 6 + ["BatchExecuteStatement", "ExecuteTransaction"]
STATEMENTS = [
    "SELECT * FROM \"table\" WHERE id = 'one' AND n > 1",
    "SELECT id, n[0].a FROM \"table\" WHERE id IN ['one', ?] OR begins_with(id, 'o')",
    "INSERT INTO \"table\" VALUE {'id': ?, 'n': 1, 'm': {'a': [1, <<'x'>>]}}",
    "UPDATE \"table\" SET n = n + 1 SET l = list_append(l, [1]) REMOVE m.a WHERE id = 'one' "
    "RETURNING ALL NEW *",
    "DELETE FROM \"table\" WHERE id = 'two' AND NOT (n BETWEEN 1 AND 2) RETURNING ALL OLD *",
    "EXISTS(SELECT * FROM \"table\" WHERE id = 'one' AND n = 1)",
    'SELECT * FROM "table"."index" WHERE n = 1 ORDER BY n DESC',
]

Request = tuple[str, bytes]


def make_item_request(dice: random.Random) -> Request:
    """Return a request about items or tables, with something strange in it."""
    operation, request = dice.choice(SEEDS)
    return operation, _dump(mutilated(request, dice))


def make_control_request(dice: random.Random) -> Request:
    """Return a request of any operation, made by its shape."""
    service = dice.choice((DYNAMODB, DYNAMODB, STREAMS))
    operation = dice.choice(list(service.operations.values()))
    shape = operation.shape
    request = _made(shape, dice, "", 0) if isinstance(shape, Structure) else {}
    return f"{service.target_prefix}.{operation.name}", _dump(request)


def make_statement_request(dice: random.Random) -> Request:
    """Return a request with one or more statements."""
    operation = dice.choice(OPERATIONS)
    if operation == "ExecuteStatement":
        request: dict[str, Any] = _statement(dice)
        if dice.random() < 0.2:
            request["Limit"] = dice.choice((1, 0, 5))
        if dice.random() < 0.1:
            request["NextToken"] = dice.choice(("x", "", "AAAA", "9" * 50))
    else:
        name = "Statements" if operation == "BatchExecuteStatement" else "TransactStatements"
        request = {name: [_statement(dice) for _ in range(dice.randrange(4))]}
    return operation, _dump(request)


def _statement(dice: random.Random) -> dict[str, Any]:
    if dice.random() < 0.3:
        text = " ".join(dice.choices(WORDS, k=dice.randrange(1, 25)))
    else:
        words = dice.choice(STATEMENTS).split(" ")
        for _ in range(dice.randrange(4)):
            position = dice.randrange(len(words))
            others = dice.choices(WORDS, k=dice.randrange(3))
            words[position : position + dice.randrange(3)] = others
            if not words:
                words = ["SELECT"]
        text = " ".join(words)
    statement: dict[str, Any] = {"Statement": text}
    if "?" in text or dice.random() < 0.1:
        count = text.count("?") if dice.random() < 0.8 else dice.randrange(3)
        statement["Parameters"] = [_value(dice) for _ in range(count)]
    return statement


def _made(shape: Any, dice: random.Random, name: str, level: int) -> Any:
    """Return a value that a shape may accept, more often than not."""
    if dice.random() < 0.03 or level > 6:
        return dice.choice(STRANGE)
    if isinstance(shape, Structure):
        needed = {*shape.required, *shape.parameters}
        return {
            member: _made(inner, dice, member, level + 1)
            for member, inner in shape.members.items()
            if dice.random() < (0.97 if member in needed else 0.3)
        }
    if isinstance(shape, ListOf):
        count = dice.choice((0, 1, 1, 2))
        return [_made(shape.member, dice, name, level + 1) for _ in range(count)]
    if isinstance(shape, MapOf):
        keys = dice.sample(NAMES, dice.choice((0, 1, 1, 2)))
        return {key: _made(shape.member, dice, name, level + 1) for key in keys}
    if isinstance(shape, AttributeMap):
        return {"id": _value(dice)} if dice.random() < 0.8 else {"n": _value(dice)}
    if isinstance(shape, AttributeValue):
        return _value(dice)
    enum = getattr(shape, "enum", None)
    if enum:
        return dice.choice(list(enum))
    return _scalar(shape, dice, name)


def _scalar(shape: Any, dice: random.Random, name: str) -> Any:
    kind = type(shape).__name__
    if kind == "Boolean":
        return dice.random() < 0.5
    if kind in ("Integer", "Long", "Number", "Double", "Timestamp"):
        return dice.choice((0, 1, 5, 100, -1))
    if "Arn" in name:
        return "arn:aws:dynamodb:us-east-1:000000000000:table/" + dice.choice(NAMES)
    if "Expression" in name or name == "Statement":
        return dice.choice(("id = :v", "SET n = :v", "n", "#n", "id", "ADD n :v", "("))
    if "AttributeName" in name:
        return dice.choice(("id", "n", "m", ""))
    if "IndexName" in name:
        return dice.choice(("index", "other", "x"))
    return dice.choice(NAMES)


VALUES: list[Any] = [{"S": "one"}, {"S": "two"}, {"N": "1"}, {"N": "x"}, {"NULL": True}, {}, None]
VALUES += [{"L": [{"N": "1"}]}, {"M": {"a": {"S": ""}}}, {"SS": ["a"]}, {"B": "AAA="}, "one"]


def _value(dice: random.Random) -> Any:
    return dice.choice(VALUES)


def _dump(request: Any) -> bytes:
    try:
        return orjson.dumps(request)
    except TypeError:  # lone surrogates, integers of more than 64 bits
        return json.dumps(request).encode("utf-8", "surrogatepass")


KINDS: dict[str, Callable[[random.Random], Request]] = {
    "items": make_item_request,
    "control": make_control_request,
    "statements": make_statement_request,
}


async def _prepared() -> Database:
    database = Database(MemoryEngine(), SystemClock())
    request = {
        "TableName": "table",
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [
            {"AttributeName": "id", "AttributeType": "S"},
            {"AttributeName": "n", "AttributeType": "N"},
        ],
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
        "GlobalSecondaryIndexes": [
            {
                "IndexName": "index",
                "KeySchema": [{"AttributeName": "n", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "ALL"},
            }
        ],
        "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    }
    await _send(database, ("CreateTable", _dump(request)))
    item = {"TableName": "table", "Item": {"id": {"S": "one"}, "n": {"N": "1"}, "l": {"L": []}}}
    await _send(database, ("PutItem", _dump(item)))
    return database


async def _send(database: Database, request: Request) -> int:
    operation, body = request
    target = operation if "." in operation else f"DynamoDB_20120810.{operation}"
    headers = {
        b"x-amz-target": target.encode(),
        b"authorization": AUTHORIZATION,
        b"x-amz-date": b"20260101T000000Z",
        b"content-type": b"application/x-amz-json-1.0",
    }
    head = Head(b"POST", b"/", headers)
    return (await database.answer(HttpRequest(head, body, keep_alive=True))).status


async def fuzz(kind: str, count: int, seed: int) -> Counter[int]:
    """Send requests; return how often each status was answered. A 500 is an AssertionError."""
    make = KINDS[kind]
    statuses: Counter[int] = Counter()
    database = await _prepared()
    for number in range(count):
        if number % 20_000 == 19_999:
            # What was created so far would only slow the rest down.
            await database.close()
            database = await _prepared()
        request = make(random.Random(f"{seed}/{kind}/{number}"))
        status = await _send(database, request)
        assert status < 500, f"seed {seed}, number {number}: {request}"
        statuses[status] += 1
    await database.close()
    return statuses


class _Wire:
    """A transport that keeps what is written to it."""

    def __init__(self) -> None:
        self.written = bytearray()
        self.is_closed = False

    def get_extra_info(self, name: str) -> object:
        return ("127.0.0.1", 1) if name == "peername" else None

    def get_write_buffer_size(self) -> int:
        return 0

    def is_closing(self) -> bool:
        return self.is_closed

    def write(self, data: bytes) -> None:
        self.written += data

    def close(self) -> None:
        self.is_closed = True

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        pass

    abort = close

    def pause_reading(self) -> None:
        pass

    resume_reading = pause_reading


HEADS = (
    b"POST / HTTP/1.1\r\nHost: localhost\r\nX-Amz-Target: DynamoDB_20120810.ListTables\r\n"
    b"Authorization: " + AUTHORIZATION + b"\r\nX-Amz-Date: 20260101T000000Z\r\n"
    b"Content-Type: application/x-amz-json-1.0\r\nContent-Length: 2\r\n\r\n{}",
    b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nX-Amz-Target: DynamoDB_"
    b"20120810.ListTables\r\n\r\n1\r\n{\r\n1;x=y\r\n}\r\n0\r\nTrailer: x\r\n\r\n",
    b"GET /?Action=x&Version=2012-11-05 HTTP/1.1\r\nHost: localhost\r\n"
    b"Expect: 100-continue\r\n\r\n",
    b"POST /2015-03-31/event-source-mappings/ HTTP/1.0\r\nHost: localhost\r\n"
    b"Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\nabcd",
    b"OPTIONS * HTTP/1.1\r\nHost: localhost\r\nOrigin: http://x\r\nConnection: Upgrade\r\n"
    b"Upgrade: h2c\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n"
    b"Content-Length: 24\r\n\r\nAction=GetCallerIdentity",
)
PIECES: tuple[bytes, ...] = (
    b"\r\n",
    b"\n",
    b" ",
    b"\x00",
    b"\xff",
    b":",
    b"chunked",
    b"Content-Length: 5\r\n",
    b"-1",
)
PIECES += (b"999999999999999999999", b"gzip", b"HTTP/9.9", b"{", b"[" * 50, b"AWS4-HMAC-SHA256 ")


def make_http_bytes(dice: random.Random) -> bytes:
    """Return one or two HTTP requests with some bytes replaced."""
    data = bytearray(b"".join(dice.choices(HEADS, k=dice.choice((1, 1, 2)))))
    for _ in range(dice.randrange(4)):
        position = dice.randrange(len(data))
        data[position : position + dice.choice((0, 1, 1, 5, 30))] = dice.choice(PIECES)
        if not data:
            data += b"x"
    return bytes(data)


async def fuzz_http(count: int, seed: int) -> Counter[int]:
    """Feed connections with bytes; return how often each status was answered."""
    loop = asyncio.get_running_loop()
    failures: list[Any] = []
    loop.set_exception_handler(lambda _, context: failures.append(context))
    database = await _prepared()
    services = (DYNAMODB, STREAMS)
    router = Router(database.pipeline, services, Neighbours([]), Visitors(), DEFAULT_BOUNDS)
    server = Server(router, DEFAULT_BOUNDS)
    statuses: Counter[int] = Counter()
    for number in range(count):
        dice = random.Random(f"{seed}/http/{number}")
        data = make_http_bytes(dice)
        connection: Any = Connection(server)
        wire = _Wire()
        connection.connection_made(wire)
        cut = dice.randrange(len(data) + 1)
        for piece in (data[:cut], data[cut:]):
            if piece and not wire.is_closed:
                connection.data_received(piece)
                await asyncio.sleep(0)
        connection.eof_received()
        for _ in range(4):
            await asyncio.sleep(0)
        connection.connection_lost(None)
        where = f"seed {seed}, number {number}: {data!r}"
        assert not failures, f"{where}: {failures}"
        for line in bytes(wire.written).split(b"HTTP/1.1 ")[1:]:
            if not line[:3].isdigit():
                continue  # part of a request that is repeated in an answer
            # AWS, too, answers so to a body that cannot be decompressed.
            assert not line.startswith(b"500") or b"InternalFailure" in line, where
            statuses[int(line[:3])] += 1
    assert server.buffered_bytes == 0, "bytes of bodies were lost count of"
    await database.close()
    return statuses


def run(kind: str, count: int, seed: int) -> Counter[int]:
    """Fuzz one kind: items, control, statements or http."""
    return asyncio.run(fuzz_http(count, seed) if kind == "http" else fuzz(kind, count, seed))


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    kinds = sys.argv[3:] or [*KINDS, "http"]
    for kind in kinds:
        began = time.monotonic()
        statuses = run(kind, count, seed)
        seconds = time.monotonic() - began
        sys.stdout.write(f"{kind}: {count} requests, {dict(statuses)}, {seconds:.0f} s\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
