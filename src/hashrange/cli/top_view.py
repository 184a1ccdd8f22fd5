"""The picture of `hashrange top`: what a server did between two looks at its totals."""

from __future__ import annotations

import json
import urllib.request
from typing import TYPE_CHECKING, Final, NamedTuple

from hashrange.metrics.samples import Samples, unpack
from hashrange.metrics.statistics import find_statistic

if TYPE_CHECKING:
    from rich.table import Table

_ROWS_MAX: Final = 30
_SECONDS_MAX: Final = 10.0
_LATENCY: Final = "SuccessfulRequestLatency"
_STEP_LATENCY: Final = "StepLatency"
_INDEX_LAG: Final = "GlobalIndexLag"

Totals = dict[tuple[str, str, str], Samples]
"""By metric, table with index, and operation."""


class TopError(Exception):
    """The figures cannot be had; the message says why, for people."""


class Line(NamedTuple):
    """One line: figures of an operation on a table over some seconds."""

    table: str
    operation: str
    requests: float
    milliseconds: float
    milliseconds_p99: float


class Usage(NamedTuple):
    """Units per second of a table or index, and what was refused."""

    table: str
    reads: float
    writes: float
    failures: float
    throttles: float


class Cluster(NamedTuple):
    """What the processes of a cluster did over some seconds, tables aside."""

    steps: float
    milliseconds: float
    milliseconds_p99: float
    conflicts: float
    unknown: float


def fetch(url: str) -> Totals:
    """Return the totals of a server."""
    request = urllib.request.Request(
        f"{url.rstrip('/')}/metrics", headers={"Accept": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=_SECONDS_MAX) as answer:
            entries = json.loads(answer.read())
    except (OSError, ValueError) as error:
        raise TopError(f"No metrics at {url}: {error}.") from error
    totals: Totals = {}
    for entry in entries:
        dimensions = entry["dimensions"]
        table = dimensions.get("TableName", "")
        if "GlobalSecondaryIndexName" in dimensions:
            table += f"/{dimensions['GlobalSecondaryIndexName']}"
        key = (entry["name"], table, dimensions.get("Operation", ""))
        totals.setdefault(key, Samples()).merge(unpack(json.dumps(entry["samples"]).encode()))
    return totals


def subtract(now: Samples, before: Samples | None) -> Samples:
    """Return the samples that came between two looks."""
    if before is None:
        return now
    found = Samples()
    found.count, found.sum = now.count - before.count, now.sum - before.sum
    found.minimum, found.maximum = now.minimum, now.maximum
    old = before.buckets or {}
    found.buckets = {
        bucket: count - old.get(bucket, 0)
        for bucket, count in (now.buckets or {}).items()
        if count > old.get(bucket, 0)
    }
    return found


def lines_of(totals: Totals, before: Totals, seconds: float) -> list[Line]:
    """Return the operations that were called between two looks, the busiest first."""
    compute = find_statistic("p99")
    assert compute is not None
    found: list[Line] = []
    for (name, table, operation), samples in totals.items():
        if name == _LATENCY:
            new = subtract(samples, before.get((name, table, operation)))
            if new.count:
                rate = new.count / seconds
                found.append(Line(table, operation, rate, new.average, compute(new) or 0.0))
    return sorted(found, key=lambda line: -line.requests)


def usage_of(totals: Totals, before: Totals, seconds: float) -> list[Usage]:
    """Return what tables and indexes consumed between two looks, the busiest first."""

    def rate(name: str, table: str) -> float:
        return sum(
            subtract(samples, before.get(key)).sum / seconds
            for key, samples in totals.items()
            if key[0] == name and key[1] == table
        )

    found: list[Usage] = []
    for table in sorted({table for _, table, _ in totals if table}):
        usage = Usage(
            table,
            rate("ConsumedReadCapacityUnits", table),
            rate("ConsumedWriteCapacityUnits", table),
            rate("ConditionalCheckFailedRequests", table) + rate("SystemErrors", table),
            rate("ReadThrottleEvents", table) + rate("WriteThrottleEvents", table),
        )
        if any(usage[1:]):
            found.append(usage)
    return sorted(found, key=lambda usage: -(usage.reads + usage.writes))


def cluster_of(totals: Totals, before: Totals, seconds: float) -> Cluster | None:
    """Return what a cluster did between two looks; None if the server is not part of one."""
    samples = totals.get((_STEP_LATENCY, "", ""))
    if samples is None:
        return None
    compute = find_statistic("p99")
    assert compute is not None
    steps = subtract(samples, before.get((_STEP_LATENCY, "", "")))

    def rate(name: str) -> float:
        key = (name, "", "")
        return subtract(totals.get(key, Samples()), before.get(key)).sum / seconds

    latency = (steps.average, compute(steps) or 0.0) if steps.count else (0.0, 0.0)
    return Cluster(steps.count / seconds, *latency, rate("StepConflicts"), rate("UnknownOutcomes"))


def lags_of(totals: Totals, before: Totals) -> dict[str, float]:
    """Return how far global indexes were behind between two looks, in milliseconds, by table."""
    compute = find_statistic("p99")
    assert compute is not None
    found: dict[str, float] = {}
    for (name, table, operation), samples in totals.items():
        new = subtract(samples, before.get((name, table, operation)))
        if name == _INDEX_LAG and new.count:
            found[table] = compute(new) or 0.0
    return found


def show(totals: Totals, before: Totals, seconds: float) -> Table:
    """Return the picture of what happened between two looks."""
    from rich.table import Table

    whole = Table.grid(padding=(1, 0))
    requests = Table("table", "operation", "requests/s", "average ms", "p99 ms", expand=True)
    for line in lines_of(totals, before, seconds)[:_ROWS_MAX]:
        figures = (line.requests, line.milliseconds, line.milliseconds_p99)
        requests.add_row(line.table, line.operation, *(f"{figure:,.2f}" for figure in figures))
    units = Table("table", "read units/s", "write units/s", "failed/s", "throttled/s", expand=True)
    for usage in usage_of(totals, before, seconds)[:_ROWS_MAX]:
        units.add_row(usage.table, *(f"{figure:,.2f}" for figure in usage[1:]))
    whole.add_row(requests)
    whole.add_row(units)
    if (cluster := cluster_of(totals, before, seconds)) is not None:
        steps = Table("steps/s", "average ms", "p99 ms", "lost/s", "unknown/s", expand=True)
        steps.add_row(*(f"{figure:,.2f}" for figure in cluster))
        whole.add_row(steps)
    if lags := lags_of(totals, before):
        behind = Table("table", "index lag p99 ms", expand=True)
        for table, lag in sorted(lags.items(), key=lambda entry: -entry[1])[:_ROWS_MAX]:
            behind.add_row(table, f"{lag:,.2f}")
        whole.add_row(behind)
    return whole
