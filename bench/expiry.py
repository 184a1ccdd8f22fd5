"""Time to live: many items that expire together, while requests go on.

    python -m bench.expiry [ITEMS]           100,000 unless told otherwise; takes about a minute

The items lie in a table with a global index, on disk with full durability. They have expired
already when time to live is enabled, so first the expiry index is filled with all of them, then
all of them go. Meanwhile another table gets puts and gets, one at a time, whose latency is told.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from bench.prepare import create_tables, load_items
from bench.servers import KINDS, Server, running

_ITEMS = 100_000
_BODY = "x" * 200
_IDLE_SECONDS = 5.0
_LIMIT_SECONDS = 300.0

Json = dict[str, Any]


def main() -> None:
    items = int(sys.argv[1]) if len(sys.argv) > 1 else _ITEMS
    with running([KINDS[0]], on_disk=True) as (server,):
        create_tables(server, [_definition("expiring"), _definition("busy")])
        load_items(server, _expired_items(items))
        with contextlib.closing(Traffic(server)) as traffic:
            end = time.monotonic() + _IDLE_SECONDS
            _report("idle", items, traffic.run_until(lambda: time.monotonic() > end))
            specification = {"AttributeName": "expires", "Enabled": True}
            traffic.call(
                "UpdateTimeToLive",
                {"TableName": "expiring", "TimeToLiveSpecification": specification},
            )
            _report("filling", items, traffic.run_until(traffic.is_enabled))
            _report("expiring", items, traffic.run_until(traffic.is_empty))


def _definition(name: str) -> Json:
    return {
        "TableName": name,
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [
            {"AttributeName": "id", "AttributeType": "S"},
            {"AttributeName": "group", "AttributeType": "S"},
        ],
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
        "GlobalSecondaryIndexes": [
            {
                "IndexName": "groups",
                "KeySchema": [{"AttributeName": "group", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "ALL"},
            }
        ],
    }


def _item(number: int, expires: int) -> Json:
    return {
        "id": {"S": f"item{number}"},
        "group": {"S": f"group{number % 100}"},
        "expires": {"N": str(expires)},
        "body": {"S": _BODY},
    }


def _expired_items(count: int) -> Iterator[tuple[str, Json]]:
    expires = int(time.time()) - 10
    return (("expiring", _item(number, expires)) for number in range(count))


class Traffic:
    """Puts and gets, one after the other, on a connection of its own."""

    def __init__(self, server: Server) -> None:
        self._signer = server.signer
        self._connection = http.client.HTTPConnection(server.host, timeout=60)
        self._count = 0

    def call(self, operation: str, request: Json) -> Json:
        body = json.dumps(request).encode()
        self._connection.request("POST", "/", body, self._signer.headers(operation, body))
        response = self._connection.getresponse()
        answer: Json = json.loads(response.read())
        if response.status != 200:
            raise RuntimeError(f"{operation} answered {response.status}: {answer}")
        return answer

    def run_until(self, is_over: Callable[[], bool]) -> tuple[float, list[float]]:
        """Send requests until something has come about; return how long it took, and latencies."""
        begin = time.monotonic()
        latencies: list[float] = []
        while not is_over():
            if time.monotonic() - begin > _LIMIT_SECONDS:
                raise TimeoutError("it takes too long")
            latencies += [self._timed_request() for _ in range(20)]
        return time.monotonic() - begin, latencies

    def is_enabled(self) -> bool:
        answer = self.call("DescribeTimeToLive", {"TableName": "expiring"})
        return bool(answer["TimeToLiveDescription"]["TimeToLiveStatus"] == "ENABLED")

    def is_empty(self) -> bool:
        table = self.call("DescribeTable", {"TableName": "expiring"})["Table"]
        return bool(table["ItemCount"] == 0)

    def close(self) -> None:
        self._connection.close()

    def _timed_request(self) -> float:
        self._count += 1
        item = _item(self._count // 2, 0)
        begin = time.perf_counter()
        if self._count % 2:
            self.call("GetItem", {"TableName": "busy", "Key": {"id": item["id"]}})
        else:
            self.call("PutItem", {"TableName": "busy", "Item": item})
        return time.perf_counter() - begin


def _report(phase: str, items: int, measured: tuple[float, list[float]]) -> None:
    seconds, latencies = measured
    milliseconds = sorted(latency * 1000 for latency in latencies)
    p50 = milliseconds[len(milliseconds) // 2]
    p99 = milliseconds[len(milliseconds) * 99 // 100]
    rate = "" if phase == "idle" else f", {items / seconds:,.0f} items/s"
    sys.stdout.write(
        f"{phase}: {seconds:.1f} s{rate}; {len(latencies) / seconds:,.0f} requests/s, "
        f"p50 {p50:.2f} ms, p99 {p99:.2f} ms, max {milliseconds[-1]:.1f} ms\n"
    )


if __name__ == "__main__":
    main()
