"""Checks a server under faults for consistency: python -m tests.consistency [--seconds 60].

Starts a server on a fresh directory for each number of workers, lets clients work while workers
and whole servers are killed and paused, and has every history checked: registers by porcupine,
lists for cycles, a bank, counters, the stream and the index. Needs Go for porcupine.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

from tests.consistency.campaign import Campaign, Fault, Plan
from tests.consistency.history import OK, REFUSED, UNKNOWN
from tests.consistency.registers import build, check_registers
from tests.consistency.replay import check_index, check_stream
from tests.consistency.workloads import Bank, Counters, Lists, Registers
from tests.faults.served import Connection, Served
from tests.harness.endpoint import Endpoint


def main() -> None:
    """Run a campaign for each number of workers; exit with 1 if anything is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.consistency")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--workers", default="1,2")
    given = parser.parse_args()
    _say(f"seed {given.seed}")
    problems = 0
    with tempfile.TemporaryDirectory() as directory:
        judge = partial(check_registers, build(Path(directory)))
        for workers in given.workers.split(","):
            data = Path(directory) / f"data-{workers}"
            served = Served(data, "--workers", workers)
            served.start()
            try:
                plan = Plan(given.seed, given.seconds)
                problems += _run(served, judge, plan, f"{workers} workers")
            finally:
                served.close()
    _say(f"{0 if problems else 1} passed, {problems} failed")
    sys.exit(1 if problems else 0)


def _run(served: Served, judge: partial[list[str]], plan: Plan, name: str) -> int:
    workloads = [Registers(judge), Lists(), Bank(), Counters()]
    campaign = Campaign(lambda rng: Connection(served.port), workloads, faults_of(served), plan)
    found = campaign.run()
    connection = Connection(served.port)
    streams = Endpoint(f"http://127.0.0.1:{served.port}", access_key="local")
    found["index"] = check_index(connection)
    found["stream"] = check_stream(connection, partial(_send, streams))
    _say(f"{name}: {campaign.faults_done} faults")
    for workload in workloads:
        history = workload.history
        counts = ", ".join(f"{history.count(kind)} {kind}" for kind in (OK, REFUSED, UNKNOWN))
        _say(f"  {workload.name}: {counts}")
    for checker, problems in found.items():
        _say(f"  {checker}: {len(problems)} problems")
        for problem in problems[:5]:
            _say(f"    {problem}")
    return sum(map(len, found.values()))


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _send(streams: Endpoint, operation: str, request: dict[str, Any]) -> Any:
    return streams.send(operation, json.dumps(request).encode(), "streams").body


def faults_of(served: Served) -> list[Fault]:
    """Return what can be done to a server with a data directory."""

    def kill_worker(rng: random.Random) -> str:
        workers = served.workers()
        if workers:
            served.kill_worker(rng.choice(workers))
        return "killed a worker"

    def kill_all(rng: random.Random) -> str:
        served.kill()
        served.start()
        return "killed all and started again"

    def pause_worker(rng: random.Random) -> str:
        workers = served.workers()
        if not workers:
            return "no worker to pause"
        worker = rng.choice(workers)
        seconds = rng.uniform(0.1, 2.0)
        try:
            os.kill(worker, signal.SIGSTOP)
            time.sleep(seconds)
            os.kill(worker, signal.SIGCONT)
        except ProcessLookupError:
            return "a paused worker was ended"
        return f"paused a worker for {seconds:.1f} s"

    return [kill_worker, kill_all, pause_worker]


if __name__ == "__main__":
    main()
