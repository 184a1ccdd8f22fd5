"""Does to a running cluster what a schedule says, and undoes it.

Nodes and servers are left running, with all links and clocks right, whatever happens.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import final

from tests.cassandra_nodes.clocks import clock_environment, set_clock
from tests.cassandra_nodes.links import MACHINE, cut, cut_route, heal, heal_route
from tests.cassandra_nodes.node import CLOCK, Node, all_nodes
from tests.cassandra_nodes.schedule import KINDS, Event
from tests.faults.served import ServerProcess


@final
class ClusterServer:
    """A Hashrange server on the cluster, with a clock of its own."""

    def __init__(self, clock: Path, *flags: str) -> None:
        self.clock = clock
        set_clock(clock, 0)
        self.process = ServerProcess("--engine", "cassandra", *flags)
        if CLOCK.exists():
            self.process.environment = clock_environment(CLOCK, clock)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to all its processes."""
        os.killpg(self.process.process.pid, number)


@final
class Faults:
    """The faults of a schedule, one after another; called once for each."""

    def __init__(self, servers: Sequence[ClusterServer], events: Iterator[Event]) -> None:
        self._servers = servers
        self._events = events
        self.done: list[Event] = []

    def __call__(self, rng: random.Random) -> str:
        """Wait for as long as the schedule says, and carry out its next fault."""
        event = next(self._events)
        time.sleep(event.calm)
        self._do(event)
        self.done.append(event)
        return str(event)

    def _do(self, event: Event) -> None:
        assert event.kind in KINDS
        undo: Callable[[], None] = getattr(self, f"_{event.kind.replace('-', '_')}")(event)
        try:
            time.sleep(event.seconds)
        finally:
            undo()

    def _kill_node(self, event: Event) -> Callable[[], None]:
        node = Node(event.node)
        node.kill()
        return partial(_start, [node])

    def _kill_all_nodes(self, event: Event) -> Callable[[], None]:
        for node in all_nodes():
            node.kill()
        return partial(_start, all_nodes())

    def _pause_node(self, event: Event) -> Callable[[], None]:
        node = Node(event.node)
        node.pause()
        return node.resume

    def _jump_node_clock(self, event: Event) -> Callable[[], None]:
        clock = Node(event.node).clock
        set_clock(clock, event.jump)
        return partial(set_clock, clock, 0)

    def _kill_server(self, event: Event) -> Callable[[], None]:
        process = self._servers[event.node - 1].process
        process.kill()
        return process.start

    def _pause_server(self, event: Event) -> Callable[[], None]:
        server = self._servers[event.node - 1]
        server.signal(signal.SIGSTOP)
        return partial(server.signal, signal.SIGCONT)

    def _jump_server_clock(self, event: Event) -> Callable[[], None]:
        clock = self._servers[event.node - 1].clock
        set_clock(clock, event.jump)
        return partial(set_clock, clock, 0)

    def _cut_node(self, event: Event) -> Callable[[], None]:
        cut(event.node)
        return partial(heal, event.node)

    def _lose_answers(self, event: Event) -> Callable[[], None]:
        """The node carries out what servers ask for, and they never hear of it."""
        return _cut_one_way(event.node, MACHINE)

    def _lose_requests(self, event: Event) -> Callable[[], None]:
        return _cut_one_way(MACHINE, event.node)

    def _cut_route(self, event: Event) -> Callable[[], None]:
        return _cut_one_way(event.node, event.other)


def _cut_one_way(source: int, target: int) -> Callable[[], None]:
    cut_route(source, target)
    return partial(heal_route, source, target)


def _start(nodes: Sequence[Node]) -> None:
    for node in nodes:
        node.start()
    for node in nodes:
        node.wait()
