"""Streams: what a stream costs the writers of its table, and how fast it is read.

    python -m bench.streams [SECONDS]        each measurement, 5 unless told otherwise

Two tables have the same items; one has a stream with both images. The same puts and updates go to
one and the other in turns, and the medians are compared. Then the stream is read, a page of up to
1,000 records after the other, on one connection.
"""

from __future__ import annotations

import http.client
import json
import random
import statistics
import sys
import time
from typing import Any

from bench.load import Sample, measure
from bench.prepare import create_tables, load_items
from bench.servers import KINDS, Server, running
from bench.workloads import TABLE, Call, calls, order_item, table_definitions

_STREAMED = "bench_streamed"
_ITEMS = 2_000
_ROUNDS = 5
_CONNECTIONS = 16
_READ_SECONDS = 3.0

Json = dict[str, Any]


def main() -> None:
    seconds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    for on_disk in (True, False):
        with running([KINDS[0]], on_disk=on_disk) as (server,):
            _prepare(server)
            sys.stdout.write(f"{'on disk' if on_disk else 'in memory'}\n")
            for workload in ("put", "update"):
                _compare(server, workload, seconds)
            _read(server)


def _prepare(server: Server) -> None:
    plain = table_definitions()[0]
    stream = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
    create_tables(server, [plain, {**plain, "TableName": _STREAMED, "StreamSpecification": stream}])
    rng = random.Random(1)
    items = [order_item(rng, index, "0") for index in range(_ITEMS)]
    load_items(server, ((table, item) for table in (TABLE, _STREAMED) for item in items))


def _compare(server: Server, workload: str, seconds: int) -> None:
    samples: dict[str, list[Sample]] = {TABLE: [], _STREAMED: []}
    for number in range(_ROUNDS):
        requests = calls(workload, str(number), items=_ITEMS)
        for table, measured in samples.items():
            aimed = [_aim(call, table) for call in requests]
            measured.append(measure(server, aimed, connections=_CONNECTIONS, seconds=seconds))
    without, with_stream = (
        (
            statistics.median(sample.per_second for sample in measured),
            statistics.median(sample.server_cpu_us for sample in measured),
        )
        for measured in samples.values()
    )
    sys.stdout.write(
        f"{workload}: {without[0]:,.0f}/s without a stream, {with_stream[0]:,.0f}/s with "
        f"({with_stream[0] / without[0] - 1:+.0%}); CPU {without[1]:.0f} and "
        f"{with_stream[1]:.0f} us each ({with_stream[1] / without[1] - 1:+.0%})\n"
    )


def _aim(call: Call, table: str) -> Call:
    return call._replace(body={**call.body, "TableName": table})


def _read(server: Server) -> None:
    """Read the stream over and over for some seconds."""
    connection = http.client.HTTPConnection(server.host, timeout=60)

    def call(operation: str, **request: Any) -> Json:
        body = json.dumps(request).encode()
        headers = server.signer.headers(operation, body)
        headers["X-Amz-Target"] = f"DynamoDBStreams_20120810.{operation}"
        connection.request("POST", "/", body, headers)
        response = connection.getresponse()
        answer: Json = json.loads(response.read())
        if response.status != 200:
            raise RuntimeError(f"{operation} answered {response.status}: {answer}")
        return answer

    arn = call("ListStreams", TableName=_STREAMED)["Streams"][0]["StreamArn"]
    shard = call("DescribeStream", StreamArn=arn)["StreamDescription"]["Shards"][0]["ShardId"]
    position = {"StreamArn": arn, "ShardId": shard, "ShardIteratorType": "TRIM_HORIZON"}
    records = pages = 0
    begin, used = time.monotonic(), server.cpu_seconds()
    iterator: str | None = None
    while time.monotonic() - begin < _READ_SECONDS:
        iterator = iterator or call("GetShardIterator", **position)["ShardIterator"]
        page = call("GetRecords", ShardIterator=iterator)
        records += len(page["Records"])
        pages += 1
        iterator = page.get("NextShardIterator") if page["Records"] else None
    seconds, used = time.monotonic() - begin, server.cpu_seconds() - used
    connection.close()
    sys.stdout.write(
        f"GetRecords: {records / seconds:,.0f} records/s in pages of "
        f"{records / max(pages, 1):,.0f}, {used / max(records, 1) * 1e6:.1f} us CPU each\n"
    )


if __name__ == "__main__":
    main()
