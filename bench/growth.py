"""Growth: what requests cost in a small and in a large table, and whether a Scan stays flat.

Measured on Hashrange with one worker, on disk. A table grows from 10,000 to a million items of
1 KB; one partition of another table, and one of its index, from 100 to 100,000 items.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Iterator

from bench.prepare import create_tables, load_items
from bench.servers import ONE_WORKER, Server, running
from bench.suite import Options, Row, measure_quietly
from bench.workloads import (
    FEEDS,
    INDEX,
    INDEXED_TABLE,
    PARTITION_ITEMS,
    TABLE,
    Call,
    Json,
    calls,
    feed_item,
    mark,
    order_item,
    table_definitions,
)

_WORKLOADS = ["get", "put", "update", "query"]
_CONNECTIONS = 16
_PAGE_ITEMS = 20
_PARTITIONS = {"small": 100, "large": 100_000}


def measure_growth(items_max: int, options: Options) -> dict[str, list[Row]]:
    """Measure at 10,000 items and at items_max, partitions of both sizes, and a full Scan."""
    with running([ONE_WORKER], on_disk=True) as (server,):
        create_tables(server, table_definitions())
        load_items(server, _feeds())
        tables: list[Row] = []
        scan: list[Row] = []
        loaded = 0
        for items in (10_000, items_max):
            load_items(server, _orders(loaded, items))
            loaded = items
            # Also lets the server see every page once: a table just loaded is not what is measured.
            scan = _scan(server)
            tables += [_table_row(server, workload, items, options) for workload in _WORKLOADS]
        load_items(server, _partitions())
        partitions = [
            _partition_row(server, partition, through_index, forward, options)
            for through_index in (False, True)
            for forward in (True, False)
            for partition in _PARTITIONS
        ]
        return {"tables": tables, "partitions": partitions, "scan": scan}


def _feeds() -> Iterator[tuple[str, Json]]:
    rng = random.Random(3)
    for feed in range(FEEDS):
        for number in range(PARTITION_ITEMS):
            yield TABLE, feed_item(rng, feed, number)


def _orders(start: int, end: int) -> Iterator[tuple[str, Json]]:
    rng = random.Random(4)
    for index in range(start, end):
        yield TABLE, order_item(rng, index, "0")


def _partitions() -> Iterator[tuple[str, Json]]:
    rng = random.Random(5)
    for partition, count in _PARTITIONS.items():
        for number in range(count):
            item = feed_item(rng, 0, number)
            item |= {"pk": {"S": partition}, "sk": {"S": f"{number:06d}"}}
            item |= {"gpk": {"S": partition}, "gsk": {"N": str(number)}}
            item["mark"] = mark(partition, "0")
            yield INDEXED_TABLE, item


def _table_row(server: Server, workload: str, items: int, options: Options) -> Row:
    samples = [
        measure_quietly(
            server,
            calls(workload, str(number), count=20_000, items=items),
            _CONNECTIONS,
            options.seconds,
        )
        for number in range(options.rounds)
    ]
    rate = statistics.median(sample.per_second for sample in samples)
    return {
        "workload": workload,
        "items": items,
        "per_second": rate,
        "p99_ms": statistics.median(sample.p99_ms for sample in samples),
        "wrong_share": max(sample.wrong_share for sample in samples),
        "file_mb": sum(server.file_sizes_mb().values()),
        "memory_mb": server.memory_mb(),
    }


def _page_calls(partition: str, through_index: bool, forward: bool) -> list[Call]:
    """Pages of 20 items from random places of a partition, far enough from its end."""
    rng = random.Random(6)
    count = _PARTITIONS[partition]
    requests = []
    for _ in range(2_000):
        start = rng.randrange(_PAGE_ITEMS, count - _PAGE_ITEMS)
        body: Json = {
            "TableName": INDEXED_TABLE,
            "Limit": _PAGE_ITEMS,
            "ScanIndexForward": forward,
        }
        comparison = ">=" if forward else "<="
        names = ("gpk", "gsk") if through_index else ("pk", "sk")
        body["KeyConditionExpression"] = f"{names[0]} = :p AND {names[1]} {comparison} :s"
        if through_index:
            body["IndexName"] = INDEX
        place = {"N": str(start)} if through_index else {"S": f"{start:06d}"}
        body["ExpressionAttributeValues"] = {":p": {"S": partition}, ":s": place}
        requests.append(Call("Query", body, partition, _PAGE_ITEMS, 4_000))
    return requests


def _partition_row(
    server: Server, partition: str, through_index: bool, forward: bool, options: Options
) -> Row:
    requests = _page_calls(partition, through_index, forward)
    samples = [
        measure_quietly(server, requests, _CONNECTIONS, options.seconds)
        for _ in range(options.rounds)
    ]
    return {
        "partition_items": _PARTITIONS[partition],
        "source": "index" if through_index else "table",
        "direction": "forwards" if forward else "backwards",
        "per_second": statistics.median(sample.per_second for sample in samples),
        "wrong_share": max(sample.wrong_share for sample in samples),
    }


def _scan(server: Server) -> list[Row]:
    """Scan the table page by page; note memory and time on the way."""
    request: Json = {"TableName": TABLE}
    rows: list[Row] = [{"items": 0, "seconds": 0.0, "memory_mb": server.memory_mb()}]
    items = pages = 0
    begin = time.perf_counter()
    while True:
        status, answer = server.call("Scan", request)
        if status != 200:
            raise RuntimeError(f"Scan answered {status}: {answer}")
        items += answer["Count"]
        pages += 1
        is_last = "LastEvaluatedKey" not in answer
        if is_last or pages % 50 == 0:
            seconds = time.perf_counter() - begin
            rows.append({"items": items, "seconds": seconds, "memory_mb": server.memory_mb()})
        if is_last:
            return rows
        request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]
