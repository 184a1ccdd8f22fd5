"""`python -m tests.cassandra_nodes.cluster` runs three Cassandra nodes and two Hashrange servers.

Data of an earlier run is kept if its nodes are still running. Ctrl-C stops the servers and nodes,
and so does a server that ends by itself.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time

from tests.cassandra_nodes.configuration import Nodes
from tests.cassandra_nodes.node import NodeError, all_nodes
from tests.cassandra_nodes.starting import say, start
from tests.harness.server import answers

NODES = Nodes(3)
PORTS = (8000, 8001)
_POLL_SECONDS = 0.2


def main(arguments: list[str]) -> int:
    # Whatever ends this process, nodes and servers end with it.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    servers: list[subprocess.Popen[bytes]] = []
    try:
        if not _is_running():
            start(NODES)
        servers += [_serve(port, arguments) for port in PORTS]
        while not all(map(answers, PORTS)):
            if not _all_live(servers):
                return 1
            time.sleep(_POLL_SECONDS)
        say(f"Nodes: {', '.join(NODES.addresses)}, port 9042")
        say(f"Servers: {', '.join(f'http://127.0.0.1:{port}' for port in PORTS)}")
        say("Press Ctrl-C to stop the servers and the nodes.")
        while _all_live(servers):
            time.sleep(_POLL_SECONDS)
    except KeyboardInterrupt:
        return 0
    except NodeError as error:
        say(str(error))
    finally:
        _stop(servers)
    return 1


def _is_running() -> bool:
    found = all_nodes()
    return len(found) == NODES.count and all(node.nodes == NODES and node.is_up() for node in found)


def _serve(port: int, arguments: list[str]) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "hashrange", "serve", "--engine", "cassandra"]
    for address in NODES.addresses:
        command += ["--contact-points", address]
    # Their own session: Ctrl-C is for this process, which tells them.
    return subprocess.Popen([*command, "--port", str(port), *arguments], start_new_session=True)


def _all_live(servers: list[subprocess.Popen[bytes]]) -> bool:
    for server, port in zip(servers, PORTS, strict=True):
        if server.poll() is not None:
            say(f"The server on port {port} has ended; stopping the others and the nodes.")
            return False
    return True


def _stop(servers: list[subprocess.Popen[bytes]]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C would leave nodes behind
    for server in servers:
        server.terminate()
    for server in servers:
        server.wait()
    for node in all_nodes():
        node.stop()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
