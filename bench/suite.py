"""The main measurement: every workload on every server, interleaved, the median counting."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from bench.limits import RESPONDER, sqlite_puts_per_second
from bench.load import Sample, measure
from bench.prepare import attempt, prepare
from bench.servers import COMPILED, KINDS, Kind, Server, running
from bench.workloads import SIZED, Call, calls

Row = dict[str, Any]

_WRONG_SHARE_MAX = 0.001
_SLOW_SECONDS = 0.1  # a request that takes longer is timed alone: load would only queue up
_QUIET_CORES = 0.2  # used by other processes; above it a measurement is made again
_RETRIES = 2


class Options(NamedTuple):
    """What to measure, and for how long."""

    workloads: list[str]
    connections: list[int]
    seconds: int
    rounds: int


def lines(options: Options) -> list[tuple[str, int]]:
    """Return the (workload, connections) pairs: other item sizes only with the middle number."""
    middle = options.connections[len(options.connections) // 2]
    return [
        (workload, connections)
        for connections in options.connections
        for workload in options.workloads
        if workload not in SIZED or connections == middle
    ]


def measure_throughput(kinds: list[Kind], on_disk: bool, options: Options) -> list[Row]:
    """Start the servers, load them and measure all lines."""
    if on_disk:
        taking_part = [kind for kind in kinds if kind.durability]
    else:
        taking_part = [kind for kind in kinds if not kind.disk_only]
    rows: list[Row] = []
    with running(taking_part, on_disk) as servers:
        for server in servers:
            begin = time.monotonic()
            prepare(server)
            _say(f"{server.name}: loaded in {time.monotonic() - begin:.1f} s")
        for workload, connections in lines(options):
            rows += _measure_line(servers, workload, connections, options)
    return rows


def _measure_line(
    servers: list[Server], workload: str, connections: int, options: Options
) -> list[Row]:
    samples: dict[str, list[Sample]] = {server.name: [] for server in servers}
    notes: dict[str, Row] = {}
    for server in servers:
        trial = attempt(server, workload)
        if trial.refusal:
            notes[server.name] = {"note": trial.refusal}
        elif trial.seconds > _SLOW_SECONDS:
            note = f"{trial.seconds:.1f} s each, timed alone"
            notes[server.name] = {"note": note, "per_second": 1 / trial.seconds}
        elif connections == options.connections[0] or workload in SIZED:
            measure(server, calls(workload, "warm"), connections=connections, seconds=1)
    for number in range(options.rounds):
        requests = calls(workload, f"{connections}/{number}")
        turn = number % len(servers)
        for server in servers[turn:] + servers[:turn]:
            if server.name not in notes:
                sample = measure_quietly(server, requests, connections, options.seconds)
                samples[server.name].append(sample)
                _say_sample(server.name, workload, connections, sample)
    return [
        {
            "storage": "disk" if server.on_disk else "memory",
            "workload": workload,
            "connections": connections,
            "server": server.name,
            **(notes.get(server.name) or median(samples[server.name])),
        }
        for server in servers
    ]


def measure_quietly(
    server: Server, requests: list[Call], connections: int, seconds: int, *, awake: bool = False
) -> Sample:
    """Measure, again if other processes disturbed it; return the least disturbed sample."""
    samples: list[Sample] = []
    while len(samples) <= _RETRIES:
        _wait_idle(server)
        samples.append(
            measure(server, requests, connections=connections, seconds=seconds, awake=awake)
        )
        if samples[-1].other_cores <= _QUIET_CORES:
            break
    return min(samples, key=lambda sample: sample.other_cores)


def _wait_idle(server: Server) -> None:
    """Let a server finish what earlier requests left behind, for ten seconds at most."""
    for _ in range(50):
        before = server.cpu_seconds()
        time.sleep(0.2)
        if server.cpu_seconds() - before < 0.02:
            return


def median(samples: list[Sample]) -> Row:
    """Return the medians of samples, and the worst of what must not be averaged away.

    Answers that are wrong are no result: then there is a note instead of numbers.
    """
    wrong_share = max(sample.wrong_share for sample in samples)
    if wrong_share > _WRONG_SHARE_MAX:
        return {"note": f"{wrong_share:.1%} wrong"}
    fields = zip(*samples, strict=True)
    row: Row = {
        name: statistics.median(values) for name, values in zip(Sample._fields, fields, strict=True)
    }
    row["wrong_share"] = wrong_share
    row["lowest"] = min(sample.per_second for sample in samples)
    row["highest"] = max(sample.per_second for sample in samples)
    return row


def measure_limits(options: Options) -> list[Row]:
    """Measure Hashrange in turns with HTTP that does nothing, and with SQLite alone."""
    kinds = [kind for kind in (KINDS[0], COMPILED) if kind.installed()]
    return _measure_http_limit(kinds, options) + _measure_sqlite_limit(kinds, options)


def _measure_http_limit(kinds: list[Kind], options: Options) -> list[Row]:
    rows: list[Row] = []
    with running([RESPONDER, *kinds], on_disk=False) as (responder, *ours):
        for server in ours:
            prepare(server)
            measure(server, calls("get", "warm"), connections=options.connections[0], seconds=1)
        turns = [(responder, "fixed"), *((server, "get") for server in ours)]
        for connections in options.connections:
            samples: dict[str, list[Sample]] = {server.name: [] for server, _ in turns}
            for number in range(options.rounds):
                for server, workload in turns:
                    requests = calls(workload, f"{connections}/{number}")
                    sample = measure_quietly(
                        server, requests, connections, options.seconds, awake=connections == 1
                    )
                    samples[server.name].append(sample)
                    _say_sample(server.name, workload, connections, sample)
            limits = [sample.per_second for sample in samples[responder.name]]
            for server in ours:
                rates = [sample.per_second for sample in samples[server.name]]
                row = {"limit": "http", "connections": connections, "server": server.name}
                rows.append({**row, **_compare(rates, limits)})
    return rows


def _compare(rates: Sequence[float], limits: Sequence[float]) -> Row:
    """Return medians: of the rates, the limits, and the shares of each round by itself.

    The machine may be half as quick in one round as in the next; less so within a round.
    """
    shares = [rate / limit for rate, limit in zip(rates, limits, strict=True)]
    return {
        "hashrange": statistics.median(rates),
        "per_second": statistics.median(limits),
        "share": statistics.median(shares),
    }


def _measure_sqlite_limit(kinds: list[Kind], options: Options) -> list[Row]:
    rows: list[Row] = []
    with running(kinds, on_disk=True) as servers:
        for server in servers:
            prepare(server)
            measure(server, calls("put", "warm"), connections=options.connections[0], seconds=1)
        for connections in options.connections:
            rounds: dict[str, list[tuple[float, float, float]]] = {s.name: [] for s in servers}
            for number in range(options.rounds):
                for server in servers:
                    rounds[server.name].append(
                        _measure_puts(
                            server, f"{connections}/{number}", connections, options.seconds
                        )
                    )
            for name, numbers in rounds.items():
                rates, batches, limits = zip(*numbers, strict=True)
                row = {"limit": "sqlite", "connections": connections, "server": name}
                row["batch"] = statistics.median(batches)
                rows.append({**row, **_compare(rates, limits)})
    return rows


def _measure_puts(
    server: Server, seed: str, connections: int, seconds: int
) -> tuple[float, float, float]:
    """Return the rate of puts, how many were in a commit, and the rate of SQLite with as many."""
    before = server.commit_count()
    sample = measure(
        server,
        calls("put", seed),
        connections=connections,
        seconds=seconds,
        awake=connections == 1,
    )
    commits = max(1, server.commit_count() - before)
    batch = sample.per_second * seconds / commits
    limit = sqlite_puts_per_second(max(1, round(batch)), seconds)
    _say(
        f"put {connections:3} connections  {server.name:26} {sample.per_second:,.0f}/s in batches "
        f"of {batch:.1f}; SQLite alone {limit:,.0f}/s"
    )
    return sample.per_second, batch, limit


def _say_sample(name: str, workload: str, connections: int, sample: Sample) -> None:
    _say(
        f"{workload:12} {connections:3} connections  {name:26} {sample.per_second:9,.0f}/s  "
        f"p50 {sample.p50_ms:.2f} ms  p99 {sample.p99_ms:.2f} ms  "
        f"{sample.server_cpu_us:.0f} us CPU  client {sample.client_cores:.2f}  "
        f"others {sample.other_cores:.2f} cores"
    )


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()
