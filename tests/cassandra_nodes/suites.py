"""`python -m tests.cassandra_nodes.suites` runs what must hold on Cassandra, on nodes of its own.

The contract of engines, then the conformance suite (items, PartiQL, streams, time to live,
transactions) against a server. Arguments: the number of nodes (1), then arguments for pytest.
Without Java or Maven it says so and does nothing.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence

from tests.cassandra_nodes.configuration import Nodes
from tests.cassandra_nodes.node import all_nodes
from tests.cassandra_nodes.starting import start
from tests.harness.server import free_port, running

NETWORK = "127.31.0."
CONTRACT = ["test_contract.py", "test_fences.py", "test_numbers.py", "test_leases.py"]


def pytest(*arguments: str) -> int:
    """Run pytest in a process of its own."""
    return subprocess.run([sys.executable, "-m", "pytest", *arguments], check=False).returncode


def main(count: int, arguments: Sequence[str]) -> int:
    nodes = Nodes(count, NETWORK)
    start(nodes)
    points = [nodes.address(number) for number in range(1, count + 1)]
    try:
        contract = [f"tests/engine/{name}" for name in [*CONTRACT, "test_cassandra.py"]]
        failed = pytest(*contract, f"--cassandra={','.join(points)}", *arguments)
        port = free_port()
        replication = ["--replication", str(min(count, 3)), "--table-shards", "4"]
        command = [sys.executable, "-m", "hashrange", "serve", "--engine", "cassandra"]
        command += ["--contact-points", points[0], *replication, "--port", str(port)]
        with running(command, port) as url:
            failed = pytest("tests/conformance", f"--url={url}", *arguments) or failed
    finally:
        for node in all_nodes():
            node.stop()
    return failed


if __name__ == "__main__":
    if shutil.which("java") is None or shutil.which("mvn") is None:
        sys.exit("NOT TESTED on Cassandra: Java or Maven is missing.")
    given = sys.argv[1:]
    number = int(given.pop(0)) if given and given[0].isdigit() else 1
    sys.exit(main(number, given))
