"""`python -m tests.cassandra_nodes.survival` hurts nodes under load and checks what was promised.

Two processes increment counters and read them strongly, on a cluster of three nodes that is
running, while nodes are killed, paused and started again, one at a time. Afterwards each counter
must be what was acknowledged, plus at most the writes of unknown outcome; no outcome may be told
twice, and no strong read may go back. Arguments: contact points, seconds (60), seed (1).
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import sys
import uuid
from time import monotonic
from typing import Any

from hashrange.engine.base import STRONG
from hashrange.engine.cassandra.engine import CassandraEngine
from hashrange.errors import EngineError, UnknownOutcomeError
from tests.cassandra_nodes.node import Node, all_nodes
from tests.cassandra_nodes.starting import say
from tests.engine.decisions import increment, plain
from tests.harness.cassandra import cassandra_engine

COUNTERS = 4
WRITERS = 6


class Load:
    """What writers and readers of one run were told."""

    def __init__(self, seconds: float) -> None:
        self.deadline = monotonic() + seconds
        self.told: dict[int, list[int]] = {n: [] for n in range(COUNTERS)}
        self.unknown: dict[int, int] = dict.fromkeys(range(COUNTERS), 0)
        self.refused = 0
        self.reads = 0
        self.slowest = 0.0

    async def write(self, engine: CassandraEngine, number: int) -> None:
        while monotonic() < self.deadline:
            began = monotonic()
            try:
                self.told[number].append(
                    int(str(await engine.write(increment("t", b"%d" % number))))
                )
            except UnknownOutcomeError:
                self.unknown[number] += 1
            except EngineError:
                self.refused += 1
            self.slowest = max(self.slowest, monotonic() - began)

    async def read(self, engine: CassandraEngine, number: int) -> None:
        seen = 0
        while monotonic() < self.deadline:
            least = max([seen, *self.told[number][-1:]])
            try:
                [row] = await engine.read([("t", 0, b"%d" % number)], STRONG)
            except EngineError:
                self.refused += 1
                continue
            seen = int(row or b"0")
            assert seen >= least, f"counter {number} went back from {least} to {seen}"
            self.reads += 1


async def hurt(seed: int, deadline: float) -> None:
    """Kill, pause and restart nodes in turn, leaving two of three alone."""
    chance = random.Random(seed)
    while monotonic() < deadline - 25:
        node = Node(chance.choice([1, 2, 3]))
        await asyncio.sleep(chance.uniform(1, 4))
        if chance.random() < 0.5:
            say(f"pause node {node.number}")
            node.pause()
            await asyncio.sleep(chance.uniform(2, 10))
            node.resume()
        else:
            say(f"kill node {node.number}")
            node.kill()
            await asyncio.sleep(chance.uniform(1, 5))
            node.start()
            await asyncio.to_thread(node.wait)
        say(f"node {node.number} is back")
        await asyncio.sleep(5)


async def main(points: str, seconds: float, seed: int) -> None:
    prefix = f"x{uuid.uuid4().hex[:12]}"
    engines = [cassandra_engine(points, prefix) for _ in range(2)]
    await engines[0].write(plain(creates=["t"]))
    load = Load(seconds)
    work: list[Any] = [hurt(seed, load.deadline)]
    work += [load.write(engines[n % 2], n % COUNTERS) for n in range(WRITERS)]
    work += [load.read(engines[n % 2], n) for n in range(COUNTERS)]
    try:
        await asyncio.gather(*work)
        for number in range(COUNTERS):
            [row] = await engines[0].read([("t", 0, b"%d" % number)], STRONG)
            told, unknown = load.told[number], load.unknown[number]
            assert len(set(told)) == len(told), f"counter {number}: an outcome was told twice"
            assert len(told) <= int(row or b"0") <= len(told) + unknown, (number, row, len(told))
    finally:
        for node in all_nodes():
            node.resume()
        for engine in engines:
            say(str(engine.counts))
            with contextlib.suppress(EngineError):
                await engine.close()
    writes = sum(map(len, load.told.values()))
    say(
        f"right: {writes} writes, {sum(load.unknown.values())} unknown, {load.refused} refused, "
        f"{load.reads} strong reads, slowest write {load.slowest:.1f} s"
    )


if __name__ == "__main__":
    default = ["127.0.0.1,127.0.0.2,127.0.0.3", "60", "1"]
    given = [*sys.argv[1:], *default[len(sys.argv) - 1 :]]
    asyncio.run(main(given[0], float(given[1]), int(given[2])))
