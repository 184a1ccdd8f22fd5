"""Hashrange servers on Cassandra nodes, for suites that speak to any endpoint."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator

from tests.cassandra_nodes.configuration import Nodes
from tests.cassandra_nodes.node import all_nodes
from tests.cassandra_nodes.starting import start
from tests.harness.server import free_port, hashrange, running

_NODES = Nodes(1, "127.71.0.")


@contextlib.contextmanager
def server_on(engine: str) -> Iterator[str]:
    """Start a server in memory, or with "cassandra" on an empty node of its own; yields its URL."""
    if engine != "cassandra":
        with hashrange() as url:
            yield url
        return
    try:
        start(_NODES)
        with serving(_NODES) as url:
            yield url
    finally:
        for node in all_nodes():
            node.stop()


@contextlib.contextmanager
def serving(nodes: Nodes) -> Iterator[str]:
    """Run a server on nodes that are there; yields its URL."""
    port = free_port()
    command = [sys.executable, "-m", "hashrange", "serve", "--engine", "cassandra"]
    command += ["--contact-points", nodes.address(1), "--replication", str(min(nodes.count, 3))]
    with running([*command, "--table-shards", "4", "--port", str(port)], port) as url:
        yield url
