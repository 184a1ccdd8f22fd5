"""Measure Hashrange and whichever peers are installed; write docs/benchmarks.md.

    python -m bench                          everything but the soak; takes about two hours
    python -m bench --quick                  a first impression, in some minutes
    python -m bench --parts throughput --workloads get,put --servers Hashrange,dynalite
    python -m bench --soak 60                an hour at 80 % of the peak
    python -m bench --soak 60 --soak-services  the same while items expire and an index is filled
    python -m bench --parts report           only write the report again

Each part replaces its own numbers in docs/benchmarks/results.json, and of the throughput only the
lines that were measured; the report shows them all. With --quick or a choice of servers nothing is
written.
"""

from __future__ import annotations

import argparse
import datetime
import json
import platform
import signal
import sys
from pathlib import Path
from typing import Any

from bench import report
from bench.growth import measure_growth
from bench.in_process import measure_in_process
from bench.servers import KINDS, OURS, Kind
from bench.soak import measure_soak
from bench.startup import measure_startup
from bench.suite import Options, measure_limits, measure_throughput
from bench.workloads import SIZED, WORKLOADS

_RESULTS = Path("docs/benchmarks/results.json")
_STORAGES = ["memory", "disk"]
_CONNECTIONS = [1, 16, 64]
_PARTS = ["throughput", "limits", "startup", "growth", "in_process", "report"]


def main() -> None:
    arguments = _parse()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))  # so that servers are stopped
    options = Options(
        arguments.workloads, arguments.connections, arguments.seconds, arguments.rounds
    )
    chosen = [kind for kind in KINDS if kind.installed()]
    if arguments.servers:
        chosen = [kind for kind in chosen if kind.name in arguments.servers]
    results: dict[str, Any] = {}
    if _RESULTS.exists() and arguments.is_kept:
        results = json.loads(_RESULTS.read_text())
    for part in arguments.parts:
        if part != "report":
            rows = _run(part, chosen, options, arguments)
            if not rows:
                sys.stdout.write(f"{part}: nothing was measured (see bench/README.md)\n")
                continue
            about = _about(chosen, options)
            if part == "throughput" and part in results:
                earlier = results[part]
                rows = _renewed(earlier["rows"], rows)
                # Lines that stay may be of servers that are not installed any more.
                for what in ("versions", "durability"):
                    about[what] = {**earlier["about"][what], **about[what]}
            results[part] = {"about": about, "rows": rows}
        sys.stdout.write(report.part_text(part, results))
        if arguments.is_kept:
            _RESULTS.parent.mkdir(parents=True, exist_ok=True)
            _RESULTS.write_text(json.dumps(results, indent=1) + "\n")
            report.write(results, _RESULTS.parent.parent)


def _renewed(earlier: list[Any], rows: list[Any]) -> list[Any]:
    """Return the rows measured before with these in place of those of the same lines."""

    def place(row: Any) -> tuple[int, int, int]:
        workloads = list(WORKLOADS)
        return (
            _STORAGES.index(row["storage"]),
            row["connections"],
            workloads.index(row["workload"]),
        )

    measured = {place(row) for row in rows}
    return sorted([row for row in earlier if place(row) not in measured] + rows, key=place)


def _run(part: str, kinds: list[Kind], options: Options, arguments: argparse.Namespace) -> Any:
    match part:
        case "throughput":
            storages = [storage == "disk" for storage in arguments.storage]
            return [
                row for on_disk in storages for row in measure_throughput(kinds, on_disk, options)
            ]
        case "limits":
            return measure_limits(options)
        case "startup":
            return measure_startup(kinds, max(options.rounds, 3))
        case "growth":
            return measure_growth(arguments.growth_items, options)
        case "in_process":
            return measure_in_process(options.seconds)
        case "soak":
            return measure_soak(arguments.soak, with_services=arguments.soak_services)
    raise ValueError(part)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--quick", action="store_true", help="16 connections, one short round")
    parser.add_argument("--parts", type=_names, default=_PARTS, help=f"of {','.join(_PARTS)}")
    parser.add_argument("--servers", type=_names, help=f"of {','.join(k.name for k in KINDS)}")
    parser.add_argument("--workloads", type=_names, help=f"of {','.join(WORKLOADS)}")
    parser.add_argument("--storage", type=_names, default=_STORAGES)
    parser.add_argument("--connections", type=_numbers, default=_CONNECTIONS)
    parser.add_argument("--seconds", type=int, default=3, help="of each measurement")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--growth-items", type=int, default=1_000_000)
    parser.add_argument("--soak", type=int, metavar="MINUTES")
    parser.add_argument(
        "--soak-services",
        action="store_true",
        help="with --soak: items expire, a stream is read, an index is filled; not kept",
    )
    arguments = parser.parse_args()
    arguments.is_kept = (
        not (arguments.quick or arguments.soak_services) and arguments.servers is None
    )
    if arguments.soak:
        arguments.parts = ["soak"]
    if arguments.quick:
        arguments.connections, arguments.seconds, arguments.rounds = [16], 1, 1
        arguments.growth_items = 50_000
        arguments.workloads = arguments.workloads or [w for w in WORKLOADS if w not in SIZED]
    arguments.workloads = arguments.workloads or list(WORKLOADS)
    known = {*_PARTS, "soak", *WORKLOADS, *(kind.name for kind in KINDS)}
    named = {*arguments.parts, *arguments.workloads, *(arguments.servers or [])}
    if unknown := named - known:
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    return arguments


def _names(text: str) -> list[str]:
    return text.split(",")


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def _about(kinds: list[Kind], options: Options) -> dict[str, Any]:
    """Say where and when this was measured."""
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": report.machine(),
        "python": platform.python_version(),
        "rounds": f"{options.rounds} rounds of {options.seconds} s",
        "versions": {k.name: k.version() for k in kinds if k.name not in OURS[1:]},
        "durability": {k.name: k.durability or "keeps nothing on disk" for k in kinds},
    }


if __name__ == "__main__":
    main()
