"""In-process calls: boto3 on `hashrange.testing` against boto3 on moto, without any server.

Each runs in a process of its own, since both hook into botocore:

    python -m bench.in_process hashrange|moto SECONDS
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

from bench.servers import PEERS
from bench.workloads import (
    FEEDS,
    PARTITION_ITEMS,
    TABLE,
    Call,
    Requests,
    feed_item,
    order_item,
    table_definitions,
)

_MOTO_PYTHON = PEERS / "moto/bin/python"
_ITEMS = 200
_METHODS = {
    "get": "get_item",
    "put": "put_item",
    "update": "update_item",
    "query": "query",
    "batch_get": "batch_get_item",
    "transact": "transact_write_items",
}


def measure_in_process(seconds: int) -> list[dict[str, Any]]:
    """Return the microseconds each call takes; nothing when moto is not installed."""
    if not _MOTO_PYTHON.exists():
        return []
    ours = _run(sys.executable, "hashrange", seconds)
    moto = _run(str(_MOTO_PYTHON), "moto", seconds)
    return [
        {"call": name, "hashrange_us": ours[name], "moto_us": moto[name]}
        for name in ours
        if name in moto
    ]


def _run(python: str, name: str, seconds: int) -> dict[str, float]:
    environment = {
        **os.environ,
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    command = [python, "-m", "bench.in_process", name, str(seconds)]
    output = subprocess.run(command, env=environment, capture_output=True, check=True).stdout
    times: dict[str, float] = json.loads(output)
    return times


@contextlib.contextmanager
def _hashrange() -> Iterator[None]:
    from hashrange import testing

    with testing.local():
        yield


def _moto() -> AbstractContextManager[Any]:
    from moto import mock_aws

    context: AbstractContextManager[Any] = mock_aws()
    return context


def _times(start: Callable[[], AbstractContextManager[Any]], seconds: float) -> dict[str, float]:
    """Return microseconds by call, for one library."""
    import boto3

    with start():
        boto3.client("dynamodb")  # the first one loads boto3's models
    times = {"set up and make a client": _set_up_time(start)}
    with start():
        client = boto3.client("dynamodb")
        for definition in table_definitions():
            client.create_table(**definition)
        rng = random.Random(1)
        for index in range(_ITEMS):
            client.put_item(TableName=TABLE, Item=order_item(rng, index, "0"))
        for feed in range(FEEDS // 10):
            for number in range(PARTITION_ITEMS):
                client.put_item(TableName=TABLE, Item=feed_item(rng, feed, number))
        requests = Requests("in-process", _ITEMS, feeds=FEEDS // 10)
        for workload, method in _METHODS.items():
            make: Callable[[], Call] = getattr(requests, workload)
            times[workload] = _call_time(getattr(client, method), make, seconds)
    return times


def _set_up_time(start: Callable[[], AbstractContextManager[Any]]) -> float:
    import boto3

    samples = []
    for _ in range(20):
        begin = time.perf_counter()
        with start():
            boto3.client("dynamodb")
            samples.append(time.perf_counter() - begin)
    return statistics.median(samples) * 1e6


def _call_time(method: Callable[..., Any], make: Callable[[], Call], seconds: float) -> float:
    """Return the median microseconds of a call."""
    samples: list[float] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(samples) < 20:
        body = make().body
        begin = time.perf_counter()
        method(**body)
        samples.append(time.perf_counter() - begin)
    return statistics.median(samples) * 1e6


if __name__ == "__main__":
    library = {"hashrange": _hashrange, "moto": _moto}[sys.argv[1]]
    sys.stdout.write(json.dumps(_times(library, float(sys.argv[2]))) + "\n")
