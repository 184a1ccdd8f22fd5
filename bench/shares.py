"""Measures kinds of this server in turns, and prints the share of the first one's throughput.

The last figure is the share by processor time per request, which other processes disturb less.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from bench.servers import Kind
from bench.suite import Options, measure_throughput


def parse_arguments(module: str, description: str | None) -> argparse.Namespace:
    """Read the arguments of such a measurement."""
    parser = argparse.ArgumentParser(prog=f"python -m bench.{module}", description=description)
    parser.add_argument("--workloads", default="get,put")
    parser.add_argument("--connections", default="16")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=2)
    return parser.parse_args()


def print_shares(kinds: Sequence[Kind], on_disk: bool, options: argparse.Namespace) -> None:
    """Measure and print one line per workload, number of connections and kind of server."""
    measured = Options(
        workloads=options.workloads.split(","),
        connections=[int(number) for number in options.connections.split(",")],
        seconds=options.seconds,
        rounds=options.rounds,
    )
    rows = measure_throughput(list(kinds), on_disk, measured)
    found = {(row["workload"], row["connections"], row["server"]): row for row in rows}
    for (workload, connections, server), row in found.items():
        first = found[workload, connections, kinds[0].name]
        rate, share = row["per_second"], row["per_second"] / first["per_second"]
        by_time = first["server_cpu_us"] / row["server_cpu_us"]
        sys.stdout.write(
            f"{workload:12} {connections:3} connections, {server:24} {rate:9,.0f}  {share:.3f}"
            f"  by processor time {by_time:.3f}\n"
        )
