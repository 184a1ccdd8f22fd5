"""Queries of metric data: metrics with a statistic and a period, and expressions on them.

A query is a member of MetricDataQueries as requests have it. GetMetricData, alarms on metric math
and graphs all come here. Everything wrong with a query is a `MathError`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from hashrange.metrics.math.evaluation import evaluate
from hashrange.metrics.math.parser import MathError, Node, ids_of, parse, uses_all
from hashrange.metrics.math.values import TimeSeries, Value, Window, as_list, as_series
from hashrange.metrics.reader import Metrics
from hashrange.metrics.series import Series, make_series
from hashrange.metrics.statistics import find_statistic
from hashrange.metrics.store import MINUTE

_ID: Final = re.compile(r"[a-z][a-zA-Z0-9_]*")

Query = dict[str, Any]


def check_queries(queries: Sequence[Query]) -> dict[str, Node]:
    """Check queries without data; return the parsed expressions by id."""
    nodes: dict[str, Node] = {}
    seen: set[str] = set()
    for query in queries:
        id = query["Id"]
        if _ID.fullmatch(id) is None:
            raise MathError(
                f"The value {id} for parameter Id is not matching the expected pattern "
                "^[a-z][a-zA-Z0-9_]*$."
            )
        if id in seen:
            raise MathError(f"The id {id} is used more than once.")
        seen.add(id)
        if ("MetricStat" in query) == ("Expression" in query):
            raise MathError("Exactly one of MetricStat and Expression is needed.")
        if "Expression" in query:
            nodes[id] = parse(query["Expression"])
        elif find_statistic(query["MetricStat"]["Stat"]) is None:
            raise MathError(
                f"The value {query['MetricStat']['Stat']} is not a supported statistic."
            )
    for id, node in nodes.items():
        unknown = {name for name in ids_of(node) if name not in seen and not name.isupper()}
        if unknown:
            raise MathError(f"Id '{min(unknown)}' in the expression of '{id}' is not known.")
    return nodes


def metric_series(world: tuple[str, str], metric: dict[str, Any]) -> Series:
    """Return the series of a Metric member."""
    dimensions = {pair["Name"]: pair["Value"] for pair in metric.get("Dimensions") or ()}
    return make_series(*world, metric["Namespace"], metric["MetricName"], dimensions)


async def fetch(
    metrics: Metrics, world: tuple[str, str], stat: dict[str, Any], start: int, end: int
) -> TimeSeries:
    """Return the values of a MetricStat; its periods begin at `start`."""
    series = metric_series(world, stat["Metric"])
    compute = find_statistic(stat["Stat"])
    assert compute is not None, "the statistic was not checked"
    points = await metrics.points(series, start, end, stat["Period"])
    if stat.get("Unit") not in (None, await metrics.unit(series)):
        points = {}
    values = {time: compute(samples) for time, samples in points.items()}
    present = {time: value for time, value in values.items() if value is not None}
    return TimeSeries(present, stat["Period"], series.name)


async def run_queries(
    metrics: Metrics,
    world: tuple[str, str],
    queries: Sequence[Query],
    span: tuple[int, int],
    *,
    is_aligned: bool = True,
) -> dict[str, list[TimeSeries]]:
    """Return the series of each query by its id.

    Periods begin at multiples of themselves, or at the start of the span if not `is_aligned`.
    """
    nodes = check_queries(queries)
    periods = [query["MetricStat"]["Period"] for query in queries if "MetricStat" in query]
    window = Window(*span, max(periods, default=_own_period(queries)))
    known: dict[str, Value] = {}
    plain = [query["Id"] for query in queries if "MetricStat" in query]
    for query in queries:
        if "MetricStat" in query:
            stat = query["MetricStat"]
            start = span[0] - span[0] % stat["Period"] if is_aligned else span[0]
            known[query["Id"]] = await fetch(metrics, world, stat, start, span[1])
    for id in _order(nodes):
        known[id] = evaluate(nodes[id], known, plain, window)
    found: dict[str, list[TimeSeries]] = {}
    for query in queries:
        value = known[query["Id"]]
        if isinstance(value, str):
            raise MathError("An expression cannot be a text")
        is_list = isinstance(value, list)
        found[query["Id"]] = as_list(value, window) if is_list else [as_series(value, window)]
    return found


def _own_period(queries: Sequence[Query]) -> int:
    return max((query["Period"] for query in queries if "Period" in query), default=MINUTE)


def _order(nodes: dict[str, Node]) -> list[str]:
    """Return expressions so that each comes after those that it names."""
    ordered: list[str] = []
    waiting = dict(nodes)
    while waiting:
        ready = [
            id
            for id, node in waiting.items()
            if not (ids_of(node) & waiting.keys()) or (uses_all(node) and not ids_of(node))
        ]
        if not ready:
            raise MathError("Expressions name each other in a circle.")
        ordered += ready
        for id in ready:
            del waiting[id]
    return ordered
