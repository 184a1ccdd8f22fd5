"""Starts an empty cluster, node by node."""

from __future__ import annotations

import sys
import time

from tests.cassandra_nodes.configuration import Nodes
from tests.cassandra_nodes.node import Node, all_nodes, fetch_jars, make_namespaces


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
