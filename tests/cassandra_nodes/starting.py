"""Starts an empty cluster, node by node."""

from __future__ import annotations

import sys
import time

from tests.cassandra_nodes.configuration import Nodes
from tests.cassandra_nodes.node import Node, all_nodes, fetch_jars, make_namespaces

_KNOWN_SECONDS_MAX = 60.0


def say(text: str) -> None:
    """Tell people what happens."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def start(nodes: Nodes) -> None:
    """Start an empty cluster; the one that was there is stopped and its data goes."""
    fetch_jars()
    for node in all_nodes():
        node.stop()
    if nodes.namespaces:
        make_namespaces(nodes.count)
    began = time.monotonic()
    for number in range(1, nodes.count + 1):
        node = Node(number)
        node.prepare(nodes)
        node.start()
        node.wait()
        say(f"node {number} at {node.address}: up after {time.monotonic() - began:.0f} s")
    _wait_until_known([nodes.address(number) for number in range(1, nodes.count + 1)])


def _wait_until_known(addresses: list[str]) -> None:
    """Wait until every node knows all others and takes them for living, as gossip tells it."""
    from cassandra.cluster import Cluster, NoHostAvailable
    from cassandra.policies import WhiteListRoundRobinPolicy

    deadline = time.monotonic() + _KNOWN_SECONDS_MAX
    for address in addresses:
        while True:
            cluster = Cluster([address], load_balancing_policy=WhiteListRoundRobinPolicy([address]))
            try:
                hosts = cluster.connect().cluster.metadata.all_hosts()
                if len(hosts) == len(addresses) and all(host.is_up is not False for host in hosts):
                    break
            except NoHostAvailable:
                pass
            finally:
                cluster.shutdown()
            if time.monotonic() > deadline:
                raise RuntimeError(f"{address} does not know all of {', '.join(addresses)}")
            time.sleep(0.5)
