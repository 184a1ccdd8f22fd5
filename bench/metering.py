"""Measures what the metrics cost: a server that records them, and one that does not, in turns.

    python -m bench.metering [--workloads get,put] [--connections 16] [--rounds 5] [--seconds 2]

Both keep their data in memory, where a request costs least. A ratio is the share of the throughput
without metrics.
"""

from __future__ import annotations

from pathlib import Path

from bench.servers import Kind, hashrange_command
from bench.shares import parse_arguments, print_shares


def main() -> None:
    """Measure and print one line per workload, number of connections and kind of server."""
    options = parse_arguments("metering", __doc__)
    plain = hashrange_command()

    def without(port: int, directory: Path | None) -> list[str]:
        return [*plain(port, directory), "--metrics", "off"]

    kinds = [
        Kind("without metrics", lambda: True, lambda: "", without, "fsync"),
        Kind("with metrics", lambda: True, lambda: "", plain, "fsync"),
    ]
    print_shares(kinds, False, options)


if __name__ == "__main__":
    main()
