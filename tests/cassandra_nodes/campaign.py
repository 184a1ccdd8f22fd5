"""`python -m tests.cassandra_nodes.campaign` hurts a cluster under load and checks every history.

Starts three Cassandra nodes and two Hashrange servers. Clients work through both servers while
nodes and servers are killed, paused, cut off and have their clocks moved, and while tables and
indexes are made and deleted. Afterwards histories, indexes, stream and what is left behind are
checked. The faults follow from the seed alone; `--seed` repeats them in the same order. Needs Java
17, Maven and Go; root for cuts and a C compiler for clocks, which are else left out, loudly.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from tests.cassandra_nodes import clocks, links
from tests.cassandra_nodes.configuration import Nodes
from tests.cassandra_nodes.faults import ClusterServer, Faults
from tests.cassandra_nodes.leftovers import check_leftovers
from tests.cassandra_nodes.node import ROOT, all_nodes
from tests.cassandra_nodes.schedule import KINDS, NEED_CLOCKS, NEED_LINKS, NODES, SERVERS, draw
from tests.cassandra_nodes.starting import say, start, wait_until_known
from tests.consistency.campaign import Campaign, Plan
from tests.consistency.history import OK, REFUSED, UNKNOWN
from tests.consistency.promises import Renewals, Tokens
from tests.consistency.registers import build, check_registers
from tests.consistency.replay import check_index, check_stream
from tests.consistency.schemas import Patient, Schemas
from tests.consistency.workloads import TABLE, Bank, Caller, Counters, Lists, Registers, Workload
from tests.faults.served import Connection, NoAnswerError
from tests.harness.endpoint import Endpoint, Reply

NETWORK = "127.51.0."
KEYSPACE = "faults"
SHORT_LONGEST = 12.0
LONGEST = 60.0
_INDEX_SECONDS_MAX = 120.0


class AnyServer:
    """A connection to one of several servers, which goes to another one when it fails."""

    def __init__(self, ports: list[int], rng: random.Random) -> None:
        # Not the one that steps are drawn from: those must not depend on failures.
        self._rng = random.Random(rng.random())
        self._connections = [Connection(port) for port in ports]
        self._current = self._rng.choice(self._connections)

    def call(self, operation: str, request: dict[str, Any]) -> Reply:
        """Send a request to the current server."""
        try:
            return self._current.call(operation, request)
        except (NoAnswerError, ConnectionError):
            self._current = self._rng.choice(self._connections)
            raise

    def close(self) -> None:
        """Close all connections."""
        for connection in self._connections:
            connection.close()


def main() -> int:
    """Run a campaign; return 1 if anything is wrong."""
    given = _arguments()
    missing = [tool for tool in ("java", "mvn", "go") if shutil.which(tool) is None]
    if missing:
        say(f"NOT TESTED on Cassandra: {', '.join(missing)} missing.")
        return 0
    kinds = _possible([kind for kind in given.kinds.split(",") if kind])
    has_links = bool(NEED_LINKS & set(kinds))
    nodes = Nodes(
        NODES,
        links.NETWORK if has_links else NETWORK,
        namespaces=has_links,
        clocks=bool(NEED_CLOCKS & set(kinds)),
    )
    say(f"seed {given.seed}, {given.minutes:g} minutes, {', '.join(kinds)}")
    with ExitStack() as stack:
        if has_links:
            stack.callback(links.drop_namespaces)
        stack.callback(_stop_all)
        start(nodes)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        judge = partial(check_registers, build(folder))
        servers = [_server(folder / f"clock{number}", nodes) for number in range(SERVERS)]
        for server in servers:
            stack.callback(server.process.close)
            server.process.start()
        longest = given.longest or (LONGEST if given.minutes > 10 else SHORT_LONGEST)
        faults = Faults(servers, draw(given.seed, kinds, longest))
        workloads = [Registers(judge), Lists(), Bank(), Counters(), Tokens(), Renewals(), Schemas()]
        plan = Plan(given.seed, given.minutes * 60, clients=3, pause_seconds=(0, 0))
        return _run(Trial(nodes, servers, faults, workloads), plan)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.cassandra_nodes.campaign")
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--kinds", default=",".join(KINDS), help="faults, separated by commas")
    parser.add_argument("--longest", type=float, help="seconds that a fault may last")
    return parser.parse_args()


def _possible(kinds: list[str]) -> list[str]:
    """Leave out what cannot be done on this machine, and say so."""
    for needing, why in (
        (NEED_LINKS, links.why_impossible()),
        (NEED_CLOCKS, clocks.why_impossible()),
    ):
        if why and (left_out := sorted(needing & set(kinds))):
            say(f"NOT TESTED: {', '.join(left_out)}, because {why}.")
            kinds = [kind for kind in kinds if kind not in needing]
    return kinds


def _stop_all() -> None:
    for node in all_nodes():
        node.stop()


def _server(clock: Path, nodes: Nodes) -> ClusterServer:
    flags = ["--replication", str(NODES), "--table-shards", "4", "--keyspace", KEYSPACE]
    for address in nodes.addresses:
        flags += ["--contact-points", address]
    return ClusterServer(clock, *flags, "--log-level", "error")


class Trial:
    """The cluster, what happens to it, and who uses it."""

    def __init__(
        self,
        nodes: Nodes,
        servers: list[ClusterServer],
        faults: Faults,
        workloads: list[Workload],
    ) -> None:
        self.nodes = nodes
        self.servers = servers
        self.faults = faults
        self.workloads = workloads
        self.ports = [server.process.port for server in servers]

    def connect(self, rng: random.Random) -> Caller:
        """Return a connection of a client."""
        return AnyServer(self.ports, rng)


def _run(trial: Trial, plan: Plan) -> int:
    began = time.monotonic()

    def report(line: str) -> None:
        say(f"{time.monotonic() - began:6.0f} s  {line}")

    campaign = Campaign(trial.connect, trial.workloads, [trial.faults], plan, report)
    campaign.last_caller = Patient(trial.connect(random.Random(plan.seed)))
    found = campaign.run()
    wait_until_known(trial.nodes)
    found["leftovers"] = check_leftovers(trial.nodes, KEYSPACE)
    connection = Connection(trial.ports[0])
    found["indexes"] = _settled_indexes(connection)
    streams = Endpoint(f"http://127.0.0.1:{trial.ports[1]}", access_key="local")
    found["stream"] = check_stream(connection, partial(_send, streams))
    _tell(trial, found)
    problems = sum(map(len, found.values()))
    if problems:
        _keep(trial, plan.seed, found)
    say(f"{campaign.faults_done} faults, {problems} problems, seed {plan.seed}")
    return 1 if problems else 0


def _settled_indexes(connection: Connection) -> list[str]:
    """Return in what the indexes differ from the table, once they had time to follow."""
    table = connection.result("DescribeTable", TableName=TABLE)["Table"]
    names = [index["IndexName"] for index in table["GlobalSecondaryIndexes"]]
    deadline = time.monotonic() + _INDEX_SECONDS_MAX
    while True:
        found = [problem for name in names for problem in check_index(connection, name)]
        if not found or time.monotonic() > deadline:
            return found
        time.sleep(0.5)


def _send(streams: Endpoint, operation: str, request: dict[str, Any]) -> Any:
    return streams.send(operation, json.dumps(request).encode(), "streams").body


def _tell(trial: Trial, found: dict[str, list[str]]) -> None:
    for workload in trial.workloads:
        history = workload.history
        counts = ", ".join(f"{history.count(kind)} {kind}" for kind in (OK, REFUSED, UNKNOWN))
        say(f"  {workload.name}: {counts}")
    for port in trial.ports:
        with urlopen(f"http://127.0.0.1:{port}/healthz/engine") as answer:
            say(f"  server on port {port}: {answer.read().decode()}")
    for checker, problems in found.items():
        say(f"  {checker}: {len(problems)} problems")
        for problem in problems[:5]:
            say(f"    {problem}")


def _keep(trial: Trial, seed: int, found: dict[str, list[str]]) -> None:
    """Write down all that happened, for whoever looks for the reason."""
    folder = ROOT / f"faults-{seed}"
    folder.mkdir(exist_ok=True)
    (folder / "problems.json").write_text(json.dumps(found, indent=1))
    (folder / "schedule.json").write_text(json.dumps([asdict(e) for e in trial.faults.done]))
    for workload in trial.workloads:
        lines = (json.dumps(asdict(operation)) for operation in workload.history.operations)
        (folder / f"{workload.name}.jsonl").write_text("\n".join(lines))
    for number, server in enumerate(trial.servers):
        (folder / f"server{number}.log").write_text(server.process.messages())
    for node in all_nodes():
        shutil.copy(node.folder / "log/system.log", folder / f"node{node.number}.log")
    say(f"histories and logs are in {folder}")


if __name__ == "__main__":
    sys.exit(main())
