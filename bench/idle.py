"""Measures a server that nobody uses: start, memory, wake-ups and processor time.

    python -m bench.idle [--seconds 10] [--rounds 3]

A wake-up is a voluntary context switch of any of its processes: it had gone to sleep. In memory the
server has one process, on disk two workers and their supervisor.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path

from bench.servers import Kind, Server, hashrange_command

# Longer than loops stay attentive after the last change.
_SETTLE_SECONDS = 5.0


def main() -> None:
    """Measure and print one line for each way of keeping data."""
    options = _arguments()
    kind = Kind("hashrange", lambda: True, lambda: "", hashrange_command(), "fsync")
    disk = kind._replace(command=hashrange_command(workers=2))
    for name, measured, on_disk in (("memory", kind, False), ("disk, 2 workers", disk, True)):
        rows = [_measure(measured, on_disk, options.seconds) for _ in range(options.rounds)]
        start, megabytes, wake_ups, share = map(statistics.median, zip(*rows, strict=True))
        sys.stdout.write(
            f"{name:16} start {start:.2f} s  {megabytes:.0f} MB  {wake_ups:.1f} wake-ups/s  "
            f"{share:.3%} of a core\n"
        )


def _measure(kind: Kind, on_disk: bool, seconds: float) -> tuple[float, float, float, float]:
    began = time.perf_counter()
    server = Server(kind, on_disk=on_disk)
    try:
        server.wait_ready()
        start = time.perf_counter() - began
        time.sleep(_SETTLE_SECONDS)
        switches, nanoseconds = _usage(server)
        began = time.perf_counter()
        time.sleep(seconds)
        elapsed = time.perf_counter() - began
        switches_after, nanoseconds_after = _usage(server)
        return (
            start,
            server.memory_mb(),
            (switches_after - switches) / elapsed,
            (nanoseconds_after - nanoseconds) / 1e9 / elapsed,
        )
    finally:
        server.stop()


def _usage(server: Server) -> tuple[int, int]:
    """Return the voluntary switches and the processor time, in nanoseconds, of all threads."""
    switches = nanoseconds = 0
    for pid in server.process_ids():
        for task in Path(f"/proc/{pid}/task").iterdir():
            status = (task / "status").read_text().splitlines()
            switches += sum(int(line.split()[1]) for line in status if line.startswith("volu"))
            nanoseconds += int((task / "schedstat").read_text().split()[0])
    return switches, nanoseconds


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.idle", description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--rounds", type=int, default=3)
    return parser.parse_args()


if __name__ == "__main__":
    main()
