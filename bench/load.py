"""Load: replay a workload against a server for some seconds, with every answer checked.

The client is `wrk` with a small script (replay.lua); where wrk is not installed, two Python
processes (replay.py), which reach their limit sooner. Both read the same file of requests.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from bench.servers import TICKS, Server
from bench.workloads import Call

_FOLDER = Path(__file__).parent
_LINGER_SECONDS = 1  # to receive the last answers
HAS_WRK = shutil.which("wrk") is not None


class Sample(NamedTuple):
    """One measurement."""

    per_second: float
    p50_ms: float
    p99_ms: float
    wrong_share: float
    server_cpu_us: float  # per request
    client_cores: float
    other_cores: float  # used by processes that are neither the client nor the server
    memory_mb: float


def measure(
    server: Server,
    requests: list[Call],
    *,
    connections: int,
    seconds: int,
    rate: int = 0,
    awake: bool = False,
) -> Sample:
    """Replay requests, at most `rate` a second if given; raise when the client itself failed.

    A client that is to be `awake` does not sleep between the answers of its only connection.
    """
    with tempfile.NamedTemporaryFile(dir=_memory_folder()) as file:
        for call in requests:
            file.write(_record(server, call))
        file.flush()
        client, busy, used = _children_seconds(), _busy_seconds(), server.cpu_seconds()
        begin = time.monotonic()
        if HAS_WRK and not awake:
            result = _wrk(server, file.name, connections, seconds, rate)
        else:
            result = _python(server, file.name, connections, seconds, awake)
        elapsed = time.monotonic() - begin
        used = server.cpu_seconds() - used
        client, busy = _children_seconds() - client, _busy_seconds() - busy
    answered = max(result["answered"], 1)
    return Sample(
        per_second=result["answered"] / seconds,
        p50_ms=result["p50"] / 1000,
        p99_ms=result["p99"] / 1000,
        wrong_share=(result["wrong"] + result["broken"]) / answered,
        server_cpu_us=used / answered * 1e6,
        client_cores=client / seconds,
        other_cores=max(0.0, busy - client - used) / elapsed,
        memory_mb=server.memory_mb(),
    )


def _record(server: Server, call: Call) -> bytes:
    message = server.signer.message(call.operation, call.body)
    stamp = "*"
    if call.operation == "UpdateItem":
        stamp = call.body["ExpressionAttributeValues"][":m"]["S"].rpartition(".")[2]
    head = f"{call.name} {call.marks} {call.bytes_min} {len(message)} {stamp}\n"
    return head.encode() + message


def _wrk(server: Server, path: str, connections: int, seconds: int, rate: int) -> dict[str, int]:
    threads = min(connections, 2)
    command = ["wrk", f"-t{threads}", f"-c{connections}", f"-d{seconds + _LINGER_SECONDS}s"]
    command += ["--timeout", "30s", "-s", str(_FOLDER / "replay.lua"), f"http://{server.host}/"]
    command += ["--", path, str(threads), str(seconds), str(rate)]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    for line in output.splitlines():
        if line.startswith("WRONG "):
            sys.stderr.write(f"{server.name}: wrong answer: {line[6:]}\n")
        if line.startswith("RESULT "):
            pairs = (pair.split("=") for pair in line.split()[1:])
            result = {name: int(value) for name, value in pairs}
    return result


def _python(
    server: Server, path: str, connections: int, seconds: int, awake: bool
) -> dict[str, int]:
    processes = min(connections, 2)
    command = [sys.executable, str(_FOLDER / "replay.py"), str(server.port)]
    last = ["awake"] if awake else []
    running = [
        subprocess.Popen(
            [
                *command,
                str(connections // processes),
                str(seconds),
                path,
                f"{n}/{processes}",
                *last,
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        for n in range(processes)
    ]
    results = [json.loads(process.communicate()[0]) for process in running]
    total = {name: sum(r[name] for r in results) for name in ("answered", "wrong", "broken")}
    worst = {name: max(r[name] for r in results) for name in ("p50", "p99")}
    return {**total, **worst}


def _memory_folder() -> str | None:
    return "/dev/shm" if os.path.isdir("/dev/shm") else None


def _children_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _busy_seconds() -> float:
    fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:4]
    return sum(int(field) for field in fields) / TICKS
