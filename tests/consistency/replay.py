"""The stream replays to the table, and the index equals the table, once all is at rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.consistency.workloads import INDEX, TABLE
from tests.faults.served import Connection

Item = dict[str, Any]
Send = Callable[[str, dict[str, Any]], Any]
"""Sends a request to DynamoDB Streams and returns the answer."""


def check_index(connection: Connection, name: str = INDEX) -> list[str]:
    """Return the items in which a global index differs from the table."""
    table = _by_key(connection.pages("Scan", TableName=TABLE, ConsistentRead=True))
    index = _by_key(connection.pages("Scan", TableName=TABLE, IndexName=name))
    indexed = {key: item for key, item in table.items() if "group" in item}
    return [
        f"{key} differs in the index {name}"
        for key in indexed.keys() | index.keys()
        if indexed.get(key) != index.get(key)
    ]


def check_stream(connection: Connection, send: Send) -> list[str]:
    """Replay the stream; return gaps in the versions of items, and items that end otherwise."""
    arn = connection.result("DescribeTable", TableName=TABLE)["Table"]["LatestStreamArn"]
    items: dict[str, Item] = {}
    problems: list[str] = []
    for record in _records(arn, send):
        change = record["dynamodb"]
        name = change["Keys"]["pk"]["S"]
        if items.get(name) != change.get("OldImage"):
            problems.append(f"the old image of {name} is not the image before it")
        if "NewImage" in change:
            items[name] = change["NewImage"]
        else:
            items.pop(name, None)
    table = _by_key(connection.pages("Scan", TableName=TABLE, ConsistentRead=True))
    problems += [
        f"{name} is not what its stream says"
        for name in table.keys() | items.keys()
        if table.get(name) != items.get(name)
    ]
    return problems


def _by_key(items: list[Item]) -> dict[str, Item]:
    return {item["pk"]["S"]: item for item in items}


def _records(arn: str, send: Send) -> list[dict[str, Any]]:
    """Return all records of a stream; parents before their children."""
    shards: list[dict[str, Any]] = []
    start: dict[str, Any] = {}
    while True:
        page = send("DescribeStream", {"StreamArn": arn, **start})["StreamDescription"]
        shards += page["Shards"]
        if "LastEvaluatedShardId" not in page:
            break
        start = {"ExclusiveStartShardId": page["LastEvaluatedShardId"]}
    found: list[dict[str, Any]] = []
    done: set[str] = set()
    known = {shard["ShardId"] for shard in shards}
    while len(done) < len(shards):
        for shard in shards:
            parent = shard.get("ParentShardId")
            if shard["ShardId"] in done or (parent in known and parent not in done):
                continue
            found += _records_of(arn, shard, send)
            done.add(shard["ShardId"])
    return found


def _records_of(arn: str, shard: dict[str, Any], send: Send) -> list[dict[str, Any]]:
    request = {
        "StreamArn": arn,
        "ShardId": shard["ShardId"],
        "ShardIteratorType": "TRIM_HORIZON",
    }
    iterator: str | None = send("GetShardIterator", request)["ShardIterator"]
    found: list[dict[str, Any]] = []
    empty = 0
    # An open shard never ends: two empty answers in a row mean that there is nothing more.
    while iterator is not None and empty < 2:
        page = send("GetRecords", {"ShardIterator": iterator})
        found += page["Records"]
        empty = 0 if page["Records"] else empty + 1
        iterator = page.get("NextShardIterator")
    return found
