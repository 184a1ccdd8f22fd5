"""Simulates how a cluster grows: throughput by nodes, processes, shards and writers.

    python -m bench.cluster_growth [--seed 1] [--seconds 10]

A discrete simulation of group commit over shards, pure and seeded. Costs come from measurements
with three Cassandra nodes on two cores (docs/internals/cluster-growth.md); the first table that
is printed shows how well the model repeats these. Writers send the next request when the last one
is answered. A process has one core. A step of a shard reads a view, then sends one conditional
batch; it is lost if another process moved the shard meanwhile. With owner hints a process forwards
a request to the process that rendezvous hashing names for its shard.

Policies: `compete` is what Hashrange does. `turns`: a process that found others at a shard leaves
it to them for half as long as their steps took, and retries after a time that is proportional to a
step. `own tables`: clients send the requests of a table to one process. `hints`: owner hints.
"""

from __future__ import annotations

import argparse
import heapq
import random
import sys
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Final, final

# Milliseconds of CPU, over all replicas, of a conditional batch and of each item in it.
BATCH_MS: Final = 5.5
ITEM_MS: Final = 0.55
# A lost batch costs as much: one hot item with 42 writes and 219 conflicts a second kept two cores
# busy.
# A quorum read: 1,769 a second on two cores.
VIEW_MS: Final = 1.1
# What a batch waits for besides CPU: rounds, and commit logs that sync in groups.
BATCH_WAIT_MS: Final = 22.0
VIEW_WAIT_MS: Final = 1.0
# CPU of a Hashrange process for a request and for a step; it reaches 58 % of the bare driver.
REQUEST_MS: Final = 0.5
STEP_MS: Final = 0.6
# A request that is forwarded: CPU of both processes, and the time on the way.
HOP_MS: Final = 0.2
HOP_WAIT_MS: Final = 1.0
DECISIONS_MAX: Final = 64
REPLICAS: Final = 3
_QUORUM: Final = 2
_BACK_OFF_MS: Final = 2.0
_BACK_OFF_MS_MAX: Final = 200.0
# Of the policy "turns".
_TURN: Final = 0.5
_TURNS_MAX: Final = 4
_FOREIGN_MAX: Final = 16


@dataclass(frozen=True)
class Layout:
    """One cluster under one load."""

    nodes: int = 3
    cores: int = 4
    processes: int = 1
    shards: int = 16
    writers: int = 256
    # The share of requests that go to one shard besides its own share.
    hot: float = 0.0
    policy: str = "compete"
    # As measured: all nodes and the driver on these cores, and nothing of Hashrange.
    is_bare: bool = False


@final
class Cores:
    """Some cores that work on one job after another."""

    def __init__(self, count: int) -> None:
        self._free_at = [0.0] * count
        self.busy = 0.0

    def work(self, now: float, milliseconds: float) -> float:
        """Return when a job that comes now is done."""
        begin = max(now, heapq.heappop(self._free_at))
        heapq.heappush(self._free_at, begin + milliseconds)
        self.busy += milliseconds
        return begin + milliseconds


Request = tuple[float, int]
"""When a request was sent, and to which process."""


@final
class Writer:
    """The steps of one process on one shard."""

    def __init__(self) -> None:
        self.waiting: deque[Request] = deque()
        self.is_busy = False
        # The last step of this process.
        self.own_step = -1
        # How long steps take here, as a moving average.
        self.step_ms = 30.0


@final
class Simulation:
    """One run; `answered` has the latencies of the requests that were answered."""

    def __init__(self, layout: Layout, seed: int) -> None:
        self.layout = layout
        self._random = random.Random(seed)
        self._events: list[tuple[float, int, Callable[[float], None]]] = []
        self._number = 0
        count = 1 if layout.is_bare else layout.nodes
        self.nodes = [Cores(layout.cores) for _ in range(count)]
        self.processes = [Cores(1) for _ in range(layout.processes)]
        self._steps = [0] * layout.shards
        self._writers = [[Writer() for _ in range(layout.shards)] for _ in range(layout.processes)]
        self._owners = [owner_of(shard, layout.processes) for shard in range(layout.shards)]
        self.answered: list[float] = []
        self.batches = 0
        self.lost = 0

    def run(self, seconds: float, warm_up: float = 2.0) -> Simulation:
        """Run for some seconds, after some that do not count."""
        for writer in range(self.layout.writers):
            self._at(self._random.uniform(0, 50), self._asker(writer % self.layout.processes))
        for end in (warm_up * 1000, (warm_up + seconds) * 1000):
            self.answered, self.batches, self.lost = [], 0, 0
            for cores in (*self.nodes, *self.processes):
                cores.busy = 0.0
            while self._events and self._events[0][0] < end:
                now, _, act = heapq.heappop(self._events)
                act(now)
        return self

    def _at(self, time: float, act: Callable[[float], None]) -> None:
        self._number += 1
        heapq.heappush(self._events, (time, self._number, act))

    def _asker(self, process: int) -> Callable[[float], None]:
        """Return what sends the next request of a writer to its process."""
        layout = self.layout

        def ask(now: float) -> None:
            is_hot = self._random.random() < layout.hot
            shard = 0 if is_hot else self._random.randrange(layout.shards)
            if layout.policy == "own tables":
                shard = shard // layout.processes * layout.processes + process
            arrived, target, request = now, process, (now, process)
            if not layout.is_bare:
                arrived = self.processes[process].work(now, REQUEST_MS)
                if layout.policy == "hints" and self._owners[shard] != process:
                    target = self._owners[shard]
                    left = self.processes[process].work(arrived, HOP_MS)
                    self._at(
                        left + HOP_WAIT_MS, lambda at: self._forwarded(at, target, shard, request)
                    )
                    return
            self._at(arrived, lambda at: self._submit(at, target, shard, request))

        return ask

    def _forwarded(self, now: float, process: int, shard: int, request: Request) -> None:
        arrived = self.processes[process].work(now, HOP_MS)
        self._at(arrived, lambda at: self._submit(at, process, shard, request))

    def _submit(self, now: float, process: int, shard: int, request: Request) -> None:
        writer = self._writers[process][shard]
        writer.waiting.append(request)
        if not writer.is_busy:
            writer.is_busy = True
            # Requests of the same turn of the event loop join the step.
            self._at(now + 0.05, lambda at: self._begin(at, process, shard, [], 0))

    def _begin(
        self, now: float, process: int, shard: int, items: list[Request], attempt: int
    ) -> None:
        """Begin a step with what waits, or once more with what was lost."""
        writer = self._writers[process][shard]
        if not items:
            while writer.waiting and len(items) < DECISIONS_MAX:
                items.append(writer.waiting.popleft())
        if self.layout.is_bare:
            self._send(now, process, shard, items, attempt)
            return
        ready = self.processes[process].work(now, STEP_MS)
        seen = self._replicate(ready, shard, VIEW_MS) + VIEW_WAIT_MS
        self._at(seen, lambda at: self._send(at, process, shard, items, attempt))

    def _send(
        self, now: float, process: int, shard: int, items: list[Request], attempt: int
    ) -> None:
        expected = self._steps[shard]
        cost = BATCH_MS + ITEM_MS * len(items)
        done = self._replicate(now, shard, cost) + BATCH_WAIT_MS
        self._at(done, lambda at: self._end(at, process, shard, items, (attempt, expected, now)))

    def _replicate(self, now: float, shard: int, milliseconds: float) -> float:
        """Have replicas share some work; return when a quorum has done it."""
        ends = sorted(
            self.nodes[(shard + replica) % len(self.nodes)].work(now, milliseconds / REPLICAS)
            for replica in range(REPLICAS)
        )
        return ends[_QUORUM - 1]

    def _end(
        self,
        now: float,
        process: int,
        shard: int,
        items: list[Request],
        tried: tuple[int, int, float],
    ) -> None:
        attempt, expected, sent = tried
        writer = self._writers[process][shard]
        writer.step_ms += 0.2 * (now - sent - writer.step_ms)
        if self._steps[shard] != expected:
            self.lost += 1
            pause = min(_BACK_OFF_MS * 2**attempt, _BACK_OFF_MS_MAX)
            if self.layout.policy == "turns":
                pause = _TURN * writer.step_ms * min(attempt, _TURNS_MAX)
            again = now + self._random.uniform(0, pause)
            self._at(again, lambda at: self._begin(at, process, shard, items, attempt + 1))
            return
        self._steps[shard] += 1
        self.batches += 1
        for asked, origin in items:
            self.answered.append(now - asked)
            self._at(now, self._asker(origin))
        foreign = min(expected - writer.own_step - 1, _FOREIGN_MAX)
        writer.own_step = expected
        if writer.waiting:
            pause = 0.0
            if self.layout.policy == "turns":
                pause = _TURN * writer.step_ms * foreign
            self._at(now + pause, lambda at: self._begin(at, process, shard, [], 0))
        else:
            writer.is_busy = False


def owner_of(shard: int, processes: int) -> int:
    """Return the process that rendezvous hashing names for a shard."""
    return max(
        range(processes),
        key=lambda process: blake2b(f"{shard}/{process}".encode(), digest_size=8).digest(),
    )


@dataclass(frozen=True)
class Figures:
    """What a run came to."""

    writes: float
    p50: float
    p99: float
    batch: float
    lost: float
    nodes: float
    processes: float


def simulate(layout: Layout, seed: int, seconds: float) -> Figures:
    """Run once."""
    run = Simulation(layout, seed).run(seconds)
    latencies = sorted(run.answered) or [0.0]
    milliseconds = seconds * 1000
    return Figures(
        writes=len(run.answered) / seconds,
        p50=latencies[len(latencies) // 2],
        p99=latencies[len(latencies) * 99 // 100],
        batch=len(run.answered) / max(1, run.batches),
        lost=run.lost / max(1, run.lost + run.batches),
        nodes=max(node.busy for node in run.nodes) / milliseconds / layout.cores,
        processes=max(process.busy for process in run.processes) / milliseconds,
    )


BARE: Final = Layout(cores=2, is_bare=True)
MEASURED: Final[list[tuple[str, Layout, int]]] = [
    ("16 shards, 16 writers", replace(BARE, writers=16), 273),
    ("16 shards, 64 writers", replace(BARE, writers=64), 605),
    ("16 shards, 256 writers", replace(BARE, writers=256), 1325),
    ("16 shards, 512 writers", replace(BARE, writers=512), 2332),
    ("4 shards, 64 writers", replace(BARE, shards=4, writers=64), 1057),
    ("4 shards, 256 writers", replace(BARE, shards=4, writers=256), 2773),
    ("64 shards, 64 writers", replace(BARE, shards=64, writers=64), 347),
    ("hot item, 16 writers", replace(BARE, shards=1, writers=16), 280),
    ("hot partition key, 64 writers", replace(BARE, shards=1, writers=64), 1158),
]
POLICIES: Final = ("turns", "own tables", "hints")
GROWTH: Final[list[tuple[str, list[Layout]]]] = [
    (
        "processes, 3 nodes, 16 shards, 256 writers",
        [Layout(processes=count) for count in (1, 2, 4, 8)],
    ),
    (
        "writers, 3 nodes, 4 processes, 16 shards",
        [Layout(processes=4, writers=count) for count in (64, 256, 1024, 4096)],
    ),
    (
        "shards, 6 nodes, 4 processes, 1024 writers",
        [Layout(6, processes=4, writers=1024, shards=count) for count in (4, 16, 64, 256)],
    ),
    (
        "nodes, with 2 processes, 16 shards and 512 writers for each 3 nodes",
        [
            Layout(
                nodes, processes=2 * nodes // 3, shards=16 * nodes // 3, writers=512 * nodes // 3
            )
            for nodes in (3, 6, 12, 24)
        ],
    ),
    (
        "one hot shard with half of all requests, 6 nodes, 4 processes, 32 shards, 1024 writers",
        [Layout(6, processes=4, shards=32, writers=1024, hot=0.5)],
    ),
    (
        "nothing but one hot key, 3 nodes, 256 writers",
        [Layout(processes=count, shards=1) for count in (1, 2, 4)],
    ),
]


def _line(name: str, figures: Figures) -> str:
    return (
        f"| {name} | {figures.writes:,.0f} | {figures.p50:.0f} / {figures.p99:.0f} "
        f"| {figures.batch:.1f} | {figures.lost:.0%} | {figures.nodes:.0%} "
        f"| {figures.processes:.0%} |\n"
    )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=10.0)
    options = parser.parse_args()
    write = sys.stdout.write
    write("| as measured | writes/s measured | simulated | ratio |\n|---|---|---|---|\n")
    for name, layout, measured in MEASURED:
        found = simulate(layout, options.seed, options.seconds).writes
        write(f"| {name} | {measured:,} | {found:,.0f} | {found / measured:.2f} |\n")
    head = "writes/s | p50 / p99 ms | items per batch | lost batches | busiest node | process"
    for title, layouts in GROWTH:
        write(f"\n{title}\n\n| layout | {head} |\n|---|---|---|---|---|---|---|\n")
        for layout in layouts:
            name = (
                f"{layout.nodes} nodes, {layout.processes} processes, {layout.shards} shards, "
                f"{layout.writers} writers"
            )
            write(_line(name, simulate(layout, options.seed, options.seconds)))
            for policy in POLICIES if layout.processes > 1 else ():
                if policy != "own tables" or (not layout.hot and layout.shards >= layout.processes):
                    other = replace(layout, policy=policy)
                    write(_line(f"… {policy}", simulate(other, options.seed, options.seconds)))


if __name__ == "__main__":
    main()
