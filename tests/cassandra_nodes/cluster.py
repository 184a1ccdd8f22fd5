"""`python -m tests.cassandra_nodes.cluster` runs three Cassandra nodes and two Hashrange servers.

Data of an earlier run is kept if its nodes are still running. Ctrl-C stops the servers and nodes.
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys

from tests.cassandra_nodes.configuration import Nodes
from tests.cassandra_nodes.node import Node, all_nodes
from tests.cassandra_nodes.starting import say, start

NODES = 3
PORTS = (8000, 8001)


def main(arguments: list[str]) -> None:
    nodes = Nodes(NODES)
    if len(all_nodes()) != NODES or not all(Node(n + 1).is_up() for n in range(NODES)):
        start(nodes)
    command = [sys.executable, "-m", "hashrange", "serve", "--engine", "cassandra"]
    for number in range(1, NODES + 1):
        command += ["--contact-points", nodes.address(number)]
    servers = [subprocess.Popen([*command, "--port", str(port), *arguments]) for port in PORTS]
    say("Press Ctrl-C to stop the servers and the nodes.")
    # The servers get the signal, too, and take their time.
    with contextlib.suppress(KeyboardInterrupt):
        signal.sigwait({signal.SIGINT, signal.SIGTERM})
    for server in servers:
        server.terminate()
    for server in servers:
        server.wait()
    for node in all_nodes():
        node.stop()


if __name__ == "__main__":
    main(sys.argv[1:])
