"""`python -m tests.cassandra_nodes ...` starts, stops and hurts a small Cassandra cluster."""

from __future__ import annotations

import argparse
import sys

from tests.cassandra_nodes.configuration import Nodes
from tests.cassandra_nodes.links import NETWORK, cut, drop_namespaces, heal
from tests.cassandra_nodes.node import Node, NodeError, all_nodes
from tests.cassandra_nodes.starting import say, start


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.cassandra_nodes")
    verbs = parser.add_subparsers(dest="verb", required=True)
    starting = verbs.add_parser("start", help="start an empty cluster on loopback addresses")
    starting.add_argument("count", type=int, nargs="?", default=1, choices=range(1, 10))
    starting.add_argument("--network", default="127.0.0.", help="addresses without their last part")
    starting.add_argument("--heap", default="512m")
    starting.add_argument("--commitlog-sync", default="group", choices=("group", "periodic"))
    starting.add_argument("--namespaces", action="store_true", help="links that can be cut (root)")
    for verb, text in (
        ("again", "start one node again, on its data"),
        ("kill", "kill -9 one node"),
        ("pause", "stop one node with SIGSTOP"),
        ("resume", "let it go on"),
        ("cut", "take the link of one node down (with --namespaces)"),
        ("heal", "take it up again"),
    ):
        verbs.add_parser(verb, help=text).add_argument("number", type=int)
    verbs.add_parser("stop", help="stop all nodes")
    verbs.add_parser("status", help="tell which nodes are up")
    given = parser.parse_args()
    try:
        run(given)
    except NodeError as error:
        sys.exit(str(error))


def run(given: argparse.Namespace) -> None:
    """Do what the command line says."""
    if given.verb == "start":
        network = NETWORK if given.namespaces else given.network
        start(
            Nodes(given.count, network, given.heap, given.commitlog_sync, given.namespaces),
        )
    elif given.verb == "stop":
        for node in all_nodes():
            node.stop()
        drop_namespaces()
    elif given.verb == "status":
        for node in all_nodes():
            state = "up" if node.is_up() else "down"
            memory = node.memory_megabytes() if node.process_id() else 0
            say(f"{node.number} {node.address} {state} {memory} MB")
    elif given.verb == "again":
        node = Node(given.number)
        node.start()
        node.wait()
    elif given.verb in ("kill", "pause", "resume"):
        getattr(Node(given.number), given.verb)()
    elif not Node(given.number).nodes.namespaces:
        raise NodeError("links can be cut only between namespaces: start with --namespaces")
    else:
        (cut if given.verb == "cut" else heal)(given.number)


main()
