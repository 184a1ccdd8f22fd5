"""All clients together: lanes that write items and one that makes indexes, in threads."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tests.faults.contents import LATE_INDEX, IndexMaker, check_table, create_tables, describe
from tests.faults.lanes import COUNTERS, PAIRS, THINGS, Counts, Item, Lane, State
from tests.faults.served import Connection, eventually

LANES = 5


class Load:
    """The clients of one server, and what they know together."""

    def __init__(self, port: int, seed: int) -> None:
        self._port = port
        self._counts = Counts()
        self._lanes = [
            Lane(number, port, self._counts, random.Random(f"{seed}/{number}"))
            for number in range(LANES)
        ]
        self._maker = IndexMaker(port, random.Random(seed))

    @property
    def acknowledged(self) -> int:
        """How many writes were acknowledged so far."""
        return sum(lane.acknowledged for lane in self._lanes)

    @property
    def indexes_made(self) -> int:
        """How many times an index was created."""
        return self._maker.made

    def prepare(self) -> None:
        """Create the tables."""
        create_tables(self._port)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Let all clients work during the block."""
        stop = threading.Event()
        clients: tuple[Lane | IndexMaker, ...] = (*self._lanes, self._maker)
        threads = [threading.Thread(target=client.run, args=(stop,)) for client in clients]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        assert not self._failures()

    def wait_for_writes(self, count: int) -> None:
        """Wait until this many more writes are acknowledged, or something has gone wrong."""
        goal = self.acknowledged + count
        eventually(
            lambda: self.acknowledged >= goal or bool(self._failures()),
            f"{count} writes are acknowledged",
        )

    def check(self, *, repeat: bool = True) -> tuple[int, int]:
        """Check all that is known; return the number of doubts, and of those that were done.

        With `repeat`, transactions are sent again first.
        """
        if repeat:
            for lane in self._lanes:
                lane.repeat_transactions()
        connection = Connection(self._port)
        try:
            things, pairs = check_table(connection, THINGS), check_table(connection, PAIRS)
            self._maker.settle(LATE_INDEX in describe(connection, THINGS))
        finally:
            connection.close()
        states, counters = _sorted_out(things, pairs)
        for name, count in counters.items():
            self._counts.settle(name, count)
        settled = [lane.settle(states.pop(lane.name, {})) for lane in self._lanes]
        assert not states, f"items of nobody: {states}"
        return sum(doubts for doubts, _ in settled), sum(done for _, done in settled)

    def _failures(self) -> list[str]:
        clients: tuple[Lane | IndexMaker, ...] = (*self._lanes, self._maker)
        return [failure for client in clients for failure in client.failures]


def _sorted_out(things: list[Item], pairs: list[Item]) -> tuple[dict[str, State], dict[str, int]]:
    """Return each lane's items, and the shared counters."""
    states: dict[str, State] = {}
    counters = dict.fromkeys(COUNTERS, 0)
    for item in things:
        states.setdefault(item["pk"]["S"], {})[THINGS, item["sk"]["S"]] = item
    for item in pairs:
        owner, _, name = item["id"]["S"].partition("/")
        if item["id"]["S"] in counters:
            counters[item["id"]["S"]] = int(item["n"]["N"])
        else:
            states.setdefault(owner, {})[PAIRS, name] = item
    return states, counters
