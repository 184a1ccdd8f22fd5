"""Cold start until the first answer, and the memory of a server nobody uses."""

from __future__ import annotations

import statistics
import time

from bench.servers import Kind, Server
from bench.suite import Row

_SETTLE_SECONDS = 2.0


def measure_startup(kinds: list[Kind], rounds: int) -> list[Row]:
    """Start each server several times, on disk where it can, one after another."""
    starts: dict[str, list[float]] = {kind.name: [] for kind in kinds}
    memory: dict[str, list[float]] = {kind.name: [] for kind in kinds}
    for _ in range(rounds):
        for kind in kinds:
            begin = time.perf_counter()
            server = Server(kind, on_disk=kind.durability is not None)
            try:
                server.wait_ready()
                starts[kind.name].append(time.perf_counter() - begin)
                time.sleep(_SETTLE_SECONDS)
                memory[kind.name].append(server.memory_mb())
            finally:
                server.stop()
    return [
        {
            "server": kind.name,
            "start_seconds": statistics.median(starts[kind.name]),
            "idle_mb": statistics.median(memory[kind.name]),
        }
        for kind in kinds
    ]
