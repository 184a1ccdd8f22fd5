"""Triggers: how long it takes from a write to the function that is called for it.

    python -m bench.triggers [WRITES]        500 unless told otherwise

A Python function writes down when it is called, and puts carry the time at which they were sent, so
the time of a put itself is part of what is measured. Puts come one at a time with a pause between
them, as somebody waiting for the effect would send them; then a burst is sent without pauses, and
the rate at which the function gets through it is measured.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench.servers import KINDS, running
from hashrange.cli.http_calls import Endpoint

_PAUSE_SECONDS = 0.01
_WAIT_SECONDS_MAX = 120.0
_BATCH = 25
_FUNCTION = """
import json, time
file = open("called.jsonl", "a")

def handler(event, context):
    now = time.time()
    for record in event["Records"]:
        file.write(json.dumps([now, float(record["dynamodb"]["NewImage"]["sent"]["N"])]) + "\\n")
    file.flush()
"""


def main() -> None:
    writes = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    for on_disk in (True, False):
        with (
            running([KINDS[0]], on_disk=on_disk) as (server,),
            tempfile.TemporaryDirectory() as home,
        ):
            (Path(home) / "bench_function.py").write_text(_FUNCTION)
            endpoint = Endpoint(f"http://{server.host}", "us-east-1", {})
            _prepare(endpoint, home)
            sys.stdout.write(f"{'on disk' if on_disk else 'in memory'}\n")
            _measure_latency(endpoint, Path(home), writes)
            _measure_rate(endpoint, Path(home), writes * 20)


def _prepare(endpoint: Endpoint, home: str) -> None:
    created = endpoint.call(
        "CreateTable",
        {
            "TableName": "bench_triggers",
            "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
            "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
            "BillingMode": "PAY_PER_REQUEST",
            "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
        },
    )
    function = {"Kind": "python", "Target": "bench_function:handler", "Directory": home}
    endpoint.send("PUT", "/_hashrange/functions/bench", function)
    mapping = {
        "FunctionName": "bench",
        "EventSourceArn": created["TableDescription"]["LatestStreamArn"],
        "StartingPosition": "LATEST",
    }
    endpoint.send("POST", "/2015-03-31/event-source-mappings", mapping)


def _measure_latency(endpoint: Endpoint, home: Path, writes: int) -> None:
    # The first puts also wait for the process to start.
    for number in range(-10, writes):
        item = {"id": {"S": str(number)}, "sent": {"N": f"{time.time():.6f}"}}
        endpoint.call("PutItem", {"TableName": "bench_triggers", "Item": item})
        time.sleep(_PAUSE_SECONDS)
    _wait(lambda: len(_called(home)) >= writes + 10)
    took = sorted((called - sent) * 1000 for called, sent in _called(home)[10:])
    p50, p99 = (took[int(len(took) * part)] for part in (0.5, 0.99))
    sys.stdout.write(f"write to function: p50 {p50:.1f} ms, p99 {p99:.1f} ms\n")


def _measure_rate(endpoint: Endpoint, home: Path, writes: int) -> None:
    before = len(_called(home))
    for first in range(0, writes, _BATCH):
        puts = [
            {"PutRequest": {"Item": {"id": {"S": f"r{number}"}, "sent": {"N": "0"}}}}
            for number in range(first, first + _BATCH)
        ]
        endpoint.call("BatchWriteItem", {"RequestItems": {"bench_triggers": puts}})
    expected = before + -(-writes // _BATCH) * _BATCH
    _wait(lambda: len(_called(home)) >= expected)
    times = [called for called, _ in _called(home)[before:]]
    seconds = max(times) - min(times)
    sys.stdout.write(f"burst: {len(times) / seconds:,.0f} records/s in batches of 100\n")


def _called(home: Path) -> list[tuple[float, float]]:
    path = home / "called.jsonl"
    return (
        [tuple(json.loads(line)) for line in path.read_text().splitlines()] if path.exists() else []
    )


def _wait(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _WAIT_SECONDS_MAX
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("the function was not called for all writes")
        time.sleep(0.05)


if __name__ == "__main__":
    main()
