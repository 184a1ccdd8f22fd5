"""Before measuring: create the tables, load the items, and try every workload once."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any, NamedTuple

from bench.servers import Server
from bench.workloads import Call, Json, calls, initial_items, table_definitions, wrong_answer


def prepare(server: Server) -> None:
    """Create the tables and load the items."""
    extra = {"SSESpecification": {"Enabled": True}} if server.kind.seals_tables else {}
    create_tables(server, [{**definition, **extra} for definition in table_definitions()])
    load_items(server, initial_items())


def create_tables(server: Server, definitions: list[Json]) -> None:
    for definition in definitions:
        _succeed(server, "CreateTable", definition)
        _wait_active(server, definition["TableName"])


def load_items(server: Server, items: Iterable[tuple[str, Json]]) -> None:
    """Write (table, item) pairs, 25 at a time, fewer when they are large."""
    batch: dict[str, list[Json]] = {}
    count = size = 0
    for table, item in items:
        batch.setdefault(table, []).append({"PutRequest": {"Item": item}})
        count += 1
        size += len(item["body"]["S"])
        if count == 25 or size > 1_000_000:
            _write_batch(server, batch)
            batch, count, size = {}, 0, 0
    _write_batch(server, batch)


def _write_batch(server: Server, batch: dict[str, list[Json]]) -> None:
    while batch:
        answer = _succeed(server, "BatchWriteItem", {"RequestItems": batch})
        batch = answer.get("UnprocessedItems", {})


class Trial(NamedTuple):
    """What a few requests of a workload showed."""

    refusal: str | None  # why the server cannot take part
    seconds: float  # per request


def attempt(server: Server, workload: str) -> Trial:
    """Send a few requests of a workload and look at all of their answers."""
    begin = time.perf_counter()
    requests = calls(workload, "check", 5)
    for call in requests:
        status, answer = server.call(call.operation, call.body)
        if status != 200:
            error = str(answer.get("__type", status)).rpartition("#")[2]
            is_unknown = "UnknownOperation" in error or status in (404, 501)
            return Trial("not supported" if is_unknown else error, 0.0)
        wrong = wrong_answer(call, answer) or _wrong_write(server, call)
        if wrong:
            return Trial(f"wrong answer: {wrong}", 0.0)
    return Trial(None, (time.perf_counter() - begin) / len(requests))


def _wrong_write(server: Server, call: Call) -> str | None:
    """Read back what a put wrote."""
    body: dict[str, Any] = call.body
    if call.operation == "TransactWriteItems":
        body = body["TransactItems"][0]["Put"]
    elif call.operation != "PutItem":
        return None
    item = body["Item"]
    key = {"pk": item["pk"], "sk": item["sk"]}
    request = {"TableName": body["TableName"], "Key": key, "ConsistentRead": True}
    _, answer = server.call("GetItem", request)
    return None if answer.get("Item", {}).get("mark") == item["mark"] else "not what was written"


def _succeed(server: Server, operation: str, request: Json) -> Json:
    status, answer = server.call(operation, request)
    if status != 200:
        raise RuntimeError(f"{server.name}: {operation} answered {status}: {answer}")
    return answer


def _is_active(description: Json) -> bool:
    table = description.get("Table", {})
    indexes = table.get("GlobalSecondaryIndexes", [])
    return table.get("TableStatus") == "ACTIVE" and all(
        index.get("IndexStatus") == "ACTIVE" for index in indexes
    )


def _wait_active(server: Server, table: str, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not _is_active(server.call("DescribeTable", {"TableName": table})[1]):
        if time.monotonic() > deadline:
            raise TimeoutError(f"{server.name}: table {table} did not become active")
        time.sleep(0.02)
