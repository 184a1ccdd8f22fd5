"""What benchmarks of jobs share: calls, waiting, a line for each rate, and reads beside jobs."""

from __future__ import annotations

import base64
import random
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from bench.load import measure
from bench.prepare import load_items
from bench.servers import Server
from bench.workloads import TABLE, calls, order_item

_WAIT_SECONDS = 120.0
_BESIDE_SECONDS = 6
_CONNECTIONS = 4
ITEMS = 2_000
"""Of the table that is read beside jobs."""

Json = dict[str, Any]


def succeed(server: Server, operation: str, **request: Any) -> Json:
    """Call an operation; raise an error unless it succeeds."""
    status, answer = server.call(operation, request)
    if status != 200:
        raise RuntimeError(f"{operation} answered {status}: {answer}")
    return answer


def protect(server: Server, table: str) -> None:
    """Switch on point-in-time recovery of a table."""
    succeed(
        server,
        "UpdateContinuousBackups",
        TableName=table,
        PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True},
    )


def text(rng: random.Random) -> str:
    """Return a text of a kilobyte that hardly compresses."""
    return base64.b64encode(rng.randbytes(735)).decode()


def wait(condition: Callable[[], bool], what: str) -> None:
    """Wait until a condition holds."""
    deadline = time.monotonic() + _WAIT_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise RuntimeError(f"{what} was never ready")
        time.sleep(0.02)


def say(server: Server, what: str, items: int, begin: tuple[float, float]) -> None:
    """Report the rate since the beginning, and the server's CPU, which other load hardly alters."""
    seconds, used = time.monotonic() - begin[0], server.cpu_seconds() - begin[1]
    sys.stdout.write(
        f"{what}: {items / seconds:,.0f} items/s, {used / items * 1e6:.0f} us CPU each\n"
    )


def load_orders(server: Server, *tables: str) -> None:
    """Fill tables with the items that are read and written beside jobs."""
    rng = random.Random(1)
    items = [order_item(rng, index, "0") for index in range(ITEMS)]
    load_items(server, ((table, item) for table in tables for item in items))


def read_latency(server: Server, seconds: int) -> float:
    """Return the 99th percentile of GetItem on four connections, in milliseconds."""
    requests = [
        call._replace(body={**call.body, "TableName": TABLE})
        for call in calls("get", "0", items=ITEMS)
    ]
    return measure(server, requests, connections=_CONNECTIONS, seconds=seconds).p99_ms


def latency_beside(server: Server, work: Callable[[int], None]) -> float:
    """Return the same while some work is done again and again, with the number of the time."""
    stop = threading.Event()

    def repeat() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            work(number)

    worker = threading.Thread(target=repeat)
    worker.start()
    try:
        return read_latency(server, _BESIDE_SECONDS)
    finally:
        stop.set()
        worker.join()
