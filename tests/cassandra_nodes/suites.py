"""`python -m tests.cassandra_nodes.suites` runs what must hold on Cassandra, on nodes of its own.

The contract of engines, then the conformance suite (items, PartiQL, streams, time to live,
transactions) against a server. Arguments: the number of nodes (1), then arguments for pytest. With
three nodes it is a short version of the suites; with one, logging in to a node with TLS and
passwords is tried as well. Without Java or Maven it says so and does nothing.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence

from tests.cassandra_nodes.configuration import Nodes
from tests.cassandra_nodes.node import all_nodes
from tests.cassandra_nodes.serving import serving
from tests.cassandra_nodes.starting import say, start

NETWORK = "127.31.0."
CONTRACT = ["contract", "fences", "numbers", "leases", "cassandra"]
SHORT = ["batches", "index_keys", "partiql_groups", "streams", "time_to_live", "transactions"]


def run(module: str, *arguments: str) -> int:
    """Run a module in a process of its own."""
    return subprocess.run([sys.executable, "-m", module, *arguments], check=False).returncode


def main(count: int, arguments: Sequence[str]) -> int:
    nodes = Nodes(count, NETWORK)
    start(nodes)
    points = nodes.addresses
    is_short = count >= 3
    suites = [f"tests/conformance/test_{name}.py" for name in SHORT]
    try:
        contract = [f"tests/engine/test_{name}.py" for name in CONTRACT]
        failed = run("pytest", *contract, f"--cassandra={','.join(points)}", *arguments)
        with serving(nodes) as url:
            chosen = suites if is_short else ["tests/conformance"]
            failed = run("pytest", *chosen, f"--url={url}", *arguments) or failed
        if not is_short:
            failed = run("tests.cassandra_nodes.secured") or failed
    finally:
        for node in all_nodes():
            node.stop()
    return failed


if __name__ == "__main__":
    if shutil.which("java") is None or shutil.which("mvn") is None:
        say("NOT TESTED on Cassandra: Java or Maven is missing.")
        sys.exit(0)
    given = sys.argv[1:]
    number = int(given.pop(0)) if given and given[0].isdigit() else 1
    sys.exit(main(number, given))
