"""Starts an empty cluster, node by node."""

from __future__ import annotations

import sys
import time

from tests.cassandra_nodes.clocks import build_clock
from tests.cassandra_nodes.configuration import Nodes
from tests.cassandra_nodes.links import make_namespaces
from tests.cassandra_nodes.node import CLOCK, Node, all_nodes, fetch_jars

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
    if nodes.clocks:
        build_clock(CLOCK.parent)
    began = time.monotonic()
    for number in range(1, nodes.count + 1):
        node = Node(number)
        node.prepare(nodes)
        node.start()
        node.wait()
        say(f"node {number} at {node.address}: up after {time.monotonic() - began:.0f} s")
    if not nodes.secured:
        wait_until_known(nodes)


def wait_until_known(nodes: Nodes) -> None:
    """Wait until every node knows all others and takes them for living, as gossip tells it."""
    from cassandra.cluster import Cluster, NoHostAvailable
    from cassandra.policies import WhiteListRoundRobinPolicy

    addresses = nodes.addresses
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
