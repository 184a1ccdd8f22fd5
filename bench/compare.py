"""Measures another version of Hashrange beside this one, in turns, and prints the ratios.

    python -m bench.compare ../before/.venv/bin/python [--workloads get,put] [--connections 1,16]
        [--storage memory,disk] [--rounds 5] [--seconds 2]

The argument is a Python that has the other version installed. A ratio above 1 means that this
version answers more requests.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bench.servers import Kind, hashrange_command
from bench.suite import Options, measure_throughput
from bench.workloads import WORKLOADS

_NOW, _BEFORE = "now", "before"


def main() -> None:
    """Measure and print one line per workload and number of connections."""
    options = _arguments()
    kinds = [_kind(_BEFORE, str(Path(options.python).absolute())), _kind(_NOW, sys.executable)]
    measured = Options(
        workloads=options.workloads.split(","),
        connections=[int(number) for number in options.connections.split(",")],
        seconds=options.seconds,
        rounds=options.rounds,
    )
    for storage in options.storage.split(","):
        rows = measure_throughput(kinds, storage == "disk", measured)
        rates = {
            (row["workload"], row["connections"], row["server"]): row["per_second"] for row in rows
        }
        for workload, connections, server in rates:
            if server == _NOW:
                now = rates[workload, connections, _NOW]
                before = rates[workload, connections, _BEFORE]
                sys.stdout.write(
                    f"{storage:6} {workload:12} {connections:3} connections: "
                    f"{before:9,.0f} before {now:9,.0f} now  {now / before:.3f}\n"
                )


def _kind(name: str, python: str) -> Kind:
    command = hashrange_command(python=python)
    return Kind(name, lambda: True, lambda: name, command, "fsync before each acknowledgement")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.compare", description=__doc__)
    parser.add_argument("python")
    parser.add_argument("--workloads", default=",".join(WORKLOADS))
    parser.add_argument("--connections", default="1,16,64")
    parser.add_argument("--storage", default="memory,disk")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=2)
    return parser.parse_args()


if __name__ == "__main__":
    main()
