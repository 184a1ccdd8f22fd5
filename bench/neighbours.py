"""A polite client beside greedy ones: how long its small requests take.

    python -m bench.neighbours [--write] [SCALE]     about three minutes with a scale of 1

The polite client sends a GetItem and a PutItem in turn, one every 5 ms, on one connection, to a
server on disk with one and with two workers. Beside it, other processes send the requests of
`hostile`, or the server has work in the background. SCALE multiplies the amount of that work: 1
stands for 30,000 items that expire, 50,000 that are indexed, 50 tables made and 100 MB dropped.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import multiprocessing
import platform
import socket
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench import hostile, report
from bench.hostile import Attack, Json
from bench.prepare import create_tables
from bench.servers import KINDS, Kind, Server, hashrange_command, running

_RESULTS = Path("docs/benchmarks/results.json")
_SECONDS = 4.0
_GAP_SECONDS = 0.005
_LIMIT_SECONDS = 120.0
_POLITE = "polite"


class Polite:
    """Small requests one after the other, and how long each took."""

    def __init__(self, server: Server) -> None:
        self._signer = server.signer
        self._connection = http.client.HTTPConnection(server.host, timeout=60)
        self._count = 0

    def call(self, operation: str, request: Json | bytes) -> Json:
        """Send any request; a refusal is an error."""
        body = request if isinstance(request, bytes) else json.dumps(request).encode()
        self._connection.request("POST", "/", body, self._signer.headers(operation, body))
        response = self._connection.getresponse()
        answer: Json = json.loads(response.read())
        if response.status != 200:
            raise RuntimeError(f"{operation} answered {response.status}: {str(answer)[:300]}")
        return answer

    def run_until(self, is_over: Callable[[], bool]) -> list[float]:
        """Send requests until something has come about; return their latencies in ms."""
        begin = time.monotonic()
        latencies: list[float] = []
        while not is_over():
            if time.monotonic() - begin > _LIMIT_SECONDS:
                raise TimeoutError("it takes too long")
            for _ in range(20):
                latencies.append(self._timed_request() * 1000)
                time.sleep(_GAP_SECONDS)
        return latencies

    def run_for(self, seconds: float) -> list[float]:
        """Send requests for some time; return their latencies in ms."""
        end = time.monotonic() + seconds
        return self.run_until(lambda: time.monotonic() > end)

    def close(self) -> None:
        self._connection.close()

    def _timed_request(self) -> float:
        self._count += 1
        key = {"id": {"S": f"key{self._count % 100}"}}
        begin = time.perf_counter()
        if self._count % 2:
            self.call("PutItem", {"TableName": _POLITE, "Item": {**key, "n": {"N": "1"}}})
        else:
            self.call("GetItem", {"TableName": _POLITE, "Key": key})
        return time.perf_counter() - begin


def _attack(address: tuple[str, int], message: bytes, attack: Attack) -> None:
    """Send a request on all connections, for ever; what is answered is thrown away."""
    sockets = [socket.create_connection(address) for _ in range(attack.connections)]
    for each in sockets:
        each.settimeout(60)
    while True:
        for each in sockets:
            each.sendall(message * attack.ahead)
        for each in sockets:
            for _ in range(attack.ahead):
                _read_answer(each)


def _read_answer(connection: socket.socket) -> None:
    """Read one response, a little at a time only as far as its head is concerned."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        piece = connection.recv(1)
        if not piece:
            raise ConnectionError("the server closed the connection")
        head += piece
    length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
    while length:
        length -= len(connection.recv(min(length, 1 << 20)))


@contextlib.contextmanager
def _under_attack(server: Server, attack: Attack) -> Iterator[None]:
    body = attack.make()
    headers = server.signer.headers(attack.operation, body)
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    message = f"POST / HTTP/1.1\r\n{head}\r\n".encode() + body
    process = multiprocessing.Process(
        target=_attack, args=(("127.0.0.1", server.port), message, attack), daemon=True
    )
    process.start()
    try:
        yield
        if not process.is_alive():
            raise RuntimeError(f"the client of {attack.name!r} ended")
    finally:
        process.terminate()
        process.join()


def _load(polite: Polite, table: str, count: int, text: str, **attributes: Json) -> None:
    for start in range(0, count, 25):
        puts = [
            {"PutRequest": {"Item": {"id": {"S": f"i{n}"}, "body": {"S": text}, **attributes}}}
            for n in range(start, min(start + 25, count))
        ]
        polite.call("BatchWriteItem", {"RequestItems": {table: puts}})


def _expiring(polite: Polite, count: int) -> list[float]:
    """Let many items expire together."""
    polite.call("CreateTable", _definition("expiring"))
    past = str(int(time.time()) - 10)
    _load(polite, "expiring", count, "x" * 100, expires={"N": past})
    specification = {"AttributeName": "expires", "Enabled": True}
    request = {"TableName": "expiring", "TimeToLiveSpecification": specification}
    polite.call("UpdateTimeToLive", request)
    described = {"TableName": "expiring"}
    return polite.run_until(
        lambda: polite.call("DescribeTable", described)["Table"]["ItemCount"] == 0
    )


def _filling(polite: Polite, count: int) -> list[float]:
    """Add an index to a table with many items."""
    polite.call("CreateTable", _definition("filled"))
    _load(polite, "filled", count, "x" * 100, group={"S": "g"})
    index = {
        "IndexName": "groups",
        "KeySchema": [
            {"AttributeName": "group", "KeyType": "HASH"},
            {"AttributeName": "id", "KeyType": "RANGE"},
        ],
        "Projection": {"ProjectionType": "ALL"},
    }
    request = {
        "TableName": "filled",
        "AttributeDefinitions": [
            {"AttributeName": "id", "AttributeType": "S"},
            {"AttributeName": "group", "AttributeType": "S"},
        ],
        "GlobalSecondaryIndexUpdates": [{"Create": index}],
    }
    polite.call("UpdateTable", request)

    def is_active() -> bool:
        table = polite.call("DescribeTable", {"TableName": "filled"})["Table"]
        return bool(table["GlobalSecondaryIndexes"][0]["IndexStatus"] == "ACTIVE")

    return polite.run_until(is_active)


def _dropping(polite: Polite, megabytes: int) -> list[float]:
    """Drop a large table."""
    polite.call("CreateTable", _definition("dropped"))
    _load(polite, "dropped", megabytes * 10, "x" * 100_000)
    polite.call("DeleteTable", {"TableName": "dropped"})
    return polite.run_for(_SECONDS)


def _making(server: Server, polite: Polite, count: int) -> list[float]:
    """Make many tables."""
    process = multiprocessing.Process(target=_make_tables, args=(server, count), daemon=True)
    process.start()
    try:
        return polite.run_until(lambda: not process.is_alive())
    finally:
        process.terminate()
        process.join()


def _make_tables(server: Server, count: int) -> None:
    for number in range(count):
        server.call("CreateTable", _definition(f"made{number}"))


def _definition(name: str) -> Json:
    return {**hostile.definitions()[0], "TableName": name}


def _row(name: str, workers: int, latencies: list[float]) -> Json:
    ordered = sorted(latencies)
    row = {
        "case": name,
        "workers": workers,
        "requests": len(ordered),
        "p50_ms": ordered[len(ordered) // 2],
        "p99_ms": ordered[len(ordered) * 99 // 100],
        "worst_ms": ordered[-1],
    }
    cells = [f"{row[column]:8.1f}" for column in ("p50_ms", "p99_ms", "worst_ms")]
    sys.stdout.write(f"{workers} worker(s)  {name:45}{' '.join(cells)} ms\n")
    sys.stdout.flush()
    return row


def measure(workers: int, scale: float) -> list[Json]:
    """Return the latencies of the polite client beside each case."""
    kind: Kind = KINDS[0]._replace(command=hashrange_command(workers))
    rows: list[Json] = []
    with running([kind], on_disk=True) as (server,), contextlib.closing(Polite(server)) as polite:
        create_tables(server, [*hostile.definitions(), _definition(_POLITE)])
        for operation, request in hostile.items():
            polite.call(operation, request)
        rows.append(_row("nothing else", workers, polite.run_for(_SECONDS)))
        for attack in hostile.ATTACKS:
            with _under_attack(server, attack):
                rows.append(_row(attack.name, workers, polite.run_for(_SECONDS)))
        tables, megabytes = int(50 * scale), int(100 * scale)
        for name, latencies in (
            (f"{tables:,} tables made", lambda: _making(server, polite, tables)),
            ("many items expire", lambda: _expiring(polite, int(30_000 * scale))),
            ("an index is filled", lambda: _filling(polite, int(50_000 * scale))),
            (f"a table of {megabytes:,} MB dropped", lambda: _dropping(polite, megabytes)),
        ):
            rows.append(_row(name, workers, latencies()))
    return rows


def main() -> None:
    arguments = [argument for argument in sys.argv[1:] if argument != "--write"]
    scale = float(arguments[0]) if arguments else 1.0
    rows = [row for workers in (1, 2) for row in measure(workers, scale)]
    if "--write" in sys.argv:
        about: dict[str, Any] = {
            "date": datetime.now(UTC).date().isoformat(),
            "machine": report.machine(),
            "python": platform.python_version(),
            "rounds": f"{_SECONDS:.0f} s for each request",
            "versions": {KINDS[0].name: KINDS[0].version()},
        }
        results = json.loads(_RESULTS.read_text())
        results["neighbours"] = {"about": about, "rows": rows}
        _RESULTS.write_text(json.dumps(results, indent=1) + "\n")
        report.write(results, _RESULTS.parent.parent)


if __name__ == "__main__":
    main()
