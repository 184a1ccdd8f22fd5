"""Soak: many minutes at 80 % of the peak rate; memory, latency and files must not drift."""

from __future__ import annotations

import sys

from bench.load import measure
from bench.prepare import prepare
from bench.servers import KINDS, running
from bench.soak_services import Services
from bench.suite import Row
from bench.workloads import calls

_CONNECTIONS = 16
_PEAK_SECONDS = 15
_STEP_SECONDS = 59  # and one more to receive the last answers


def measure_soak(minutes: int, *, with_services: bool = False) -> dict[str, object]:
    """Load Hashrange on disk for some minutes and note its state after each.

    With services, items expire, a stream is read and an index is filled meanwhile.
    """
    with running([KINDS[0]], on_disk=True) as (server,):
        prepare(server)
        services = Services(server) if with_services else None
        if services is not None:
            services.start()
        peak = measure(
            server, calls("soak", "peak"), connections=_CONNECTIONS, seconds=_PEAK_SECONDS
        ).per_second
        rate = round(0.8 * peak)
        rows: list[Row] = []
        for minute in range(1, minutes + 1):
            sample = measure(
                server,
                calls("soak", str(minute)),
                connections=_CONNECTIONS,
                seconds=_STEP_SECONDS,
                rate=rate,
            )
            files = server.file_sizes_mb()
            wal_mb = sum(size for name, size in files.items() if name.endswith("-wal"))
            row = {
                "minute": minute,
                "per_second": sample.per_second,
                "p50_ms": sample.p50_ms,
                "p99_ms": sample.p99_ms,
                "wrong_share": sample.wrong_share,
                "memory_mb": sample.memory_mb,
                "wal_mb": wal_mb,
                "file_mb": sum(files.values()) - wal_mb,
                "other_cores": sample.other_cores,
            }
            if services is not None:
                services.check()
                row |= {
                    "puts": services.puts,
                    "records": services.records,
                    "removals": services.removals,
                    "fills": services.fills,
                }
            rows.append(row)
            sys.stderr.write(
                f"minute {minute}: {sample.per_second:,.0f}/s, p99 {sample.p99_ms:.2f} ms, "
                f"{sample.memory_mb:.0f} MB, WAL {wal_mb:.1f} MB, files {row['file_mb']:.1f} MB\n"
            )
            if services is not None:
                sys.stderr.write(
                    f"  services: {services.puts} put, {services.removals} expired, "
                    f"{services.records} records read, {services.fills} indexes filled\n"
                )
        if services is not None:
            services.stop()
        return {"peak": peak, "rate": rate, "rows": rows}
