"""A server with several workers, killed while it fills an expiry index and while items expire."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.harness.endpoint import Endpoint
from tests.harness.server import answers, free_port

EXPIRED = 1200
LASTING = 60
SECONDS_MAX = 60.0


class Server:
    """Two workers in a process group of their own, which can be killed as one."""

    def __init__(self, directory: Path) -> None:
        self._port = free_port()
        flags = ["--port", str(self._port), "--workers", "2", "--data-dir", str(directory)]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "hashrange", "serve", *flags],
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_until(self._answers)
        self._endpoint = Endpoint(f"http://127.0.0.1:{self._port}")

    def _answers(self) -> bool:
        assert self._process.poll() is None
        return answers(self._port)

    def kill(self) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._endpoint.close()

    def call(self, operation: str, **request: Any) -> Any:
        reply = self._endpoint.call(operation, {"TableName": "table"} | request)
        assert reply.status == 200, reply
        return reply.body

    def put_all(self, numbers: range, expires: int) -> None:
        for start in range(numbers.start, numbers.stop, 20):
            puts = [
                {
                    "PutRequest": {
                        "Item": {
                            "id": {"S": f"item{number}"},
                            "group": {"S": f"group{number % 7}"},
                            "expires": {"N": str(expires)},
                        }
                    }
                }
                for number in range(start, start + 20)
            ]
            reply = self._endpoint.call("BatchWriteItem", {"RequestItems": {"table": puts}})
            assert reply.status == 200, reply

    def counts(self) -> tuple[int, int]:
        """Return how many items the table and its index say they have."""
        table = self.call("DescribeTable")["Table"]
        return table["ItemCount"], table["GlobalSecondaryIndexes"][0]["ItemCount"]

    def wait_for_expiry(self) -> None:
        """Wait until some more items are gone, or all that may go."""
        before = self.counts()
        wait_until(lambda: self.counts() < before or self.counts() == (LASTING, LASTING))

    def status(self) -> str:
        return str(self.call("DescribeTimeToLive")["TimeToLiveDescription"]["TimeToLiveStatus"])


def wait_until(is_true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS_MAX
    while not is_true():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_killed_while_items_expire_it_goes_on_where_it_was(tmp_path: Path) -> None:
    server = Server(tmp_path / "data")
    server.call(
        "CreateTable",
        BillingMode="PAY_PER_REQUEST",
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[
            {"AttributeName": name, "AttributeType": "S"} for name in ("id", "group")
        ],
        GlobalSecondaryIndexes=[
            {
                "IndexName": "groups",
                "KeySchema": [{"AttributeName": "group", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "KEYS_ONLY"},
            }
        ],
    )
    now = int(time.time())
    server.put_all(range(EXPIRED), now - 60)
    server.put_all(range(EXPIRED, EXPIRED + LASTING), now + 3600)
    specification = {"AttributeName": "expires", "Enabled": True}
    server.call("UpdateTimeToLive", TimeToLiveSpecification=specification)
    server.kill()  # as a rule while the expiry index is being filled
    for _ in range(2):
        server = Server(tmp_path / "data")
        server.wait_for_expiry()
        server.kill()
    server = Server(tmp_path / "data")
    wait_until(lambda: server.counts() == (LASTING, LASTING))
    assert server.status() == "ENABLED"
    for index in ({}, {"IndexName": "groups"}):
        found = {item["id"]["S"] for item in server.call("Scan", **index)["Items"]}
        assert found == {f"item{number}" for number in range(EXPIRED, EXPIRED + LASTING)}
    server.kill()
