"""Queries of metric data: metrics with a statistic and a period, and expressions on them.

A query is a member of MetricDataQueries as requests have it. GetMetricData, alarms on metric math
and graphs all come here. Everything wrong with a query is a `MathError`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from hashrange.metrics.math.evaluation import evaluate, is_known
from hashrange.metrics.math.parser import (
    Call,
    MathError,
    Node,
    Number,
    Text,
    calls_of,
    ids_of,
    parse,
    substitute,
    uses_all,
)
from hashrange.metrics.math.values import TimeSeries, Value, Window, as_list, as_series
from hashrange.metrics.reader import Metrics
from hashrange.metrics.searches import label_of, parse_search
from hashrange.metrics.series import metric_series
from hashrange.metrics.statistics import find_statistic
from hashrange.metrics.store import MINUTE

SEARCH: Final = "SEARCH"
_SEARCHED_MAX: Final = 500
_SEARCH_PERIOD: Final = 300
_SHORT_PERIODS: Final = (1, 5, 10, 20, 30)
_ID: Final = re.compile(r"[a-z][a-zA-Z0-9_]*")

Query = dict[str, Any]


def is_period(seconds: float) -> bool:
    """Tell whether metrics can be read in periods of this length."""
    return seconds in _SHORT_PERIODS or (seconds >= MINUTE and seconds % MINUTE == 0)


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
            nodes[id] = _check_expression(id, query["Expression"])
        elif find_statistic(query["MetricStat"]["Stat"]) is None:
            raise MathError(
                f"The value {query['MetricStat']['Stat']} is not a supported statistic."
            )
    for id, node in nodes.items():
        unknown = {name for name in ids_of(node) if name not in seen and not name.isupper()}
        if unknown:
            raise MathError(f"Id '{min(unknown)}' in the expression of '{id}' is not known.")
    return nodes


def _check_expression(id: str, text: str) -> Node:
    node = parse(text)
    for call in calls_of(node):
        if call.name != SEARCH and not is_known(call.name):
            raise MathError(f"Error in expression '{id}': Unsupported function {call.name}")
    return node


def uses_search(query: Query) -> bool:
    """Tell whether an expression, which was checked, searches for metrics."""
    return any(call.name == SEARCH for call in calls_of(parse(query["Expression"])))


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
    for query in queries:
        if query["Id"] in nodes:
            searches = await _search(metrics, world, query, nodes[query["Id"]], span)
            nodes[query["Id"]] = searches.node
            known |= searches.found
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


class _Searches(NamedTuple):
    """An expression whose searches are replaced by ids, and what they stand for."""

    node: Node
    found: dict[str, Value]


async def _search(
    metrics: Metrics, world: tuple[str, str], query: Query, node: Node, span: tuple[int, int]
) -> _Searches:
    """Find the metrics of the searches in an expression."""
    names: dict[Call, str] = {}
    found: dict[str, Value] = {}
    for call in calls_of(node):
        if call.name == SEARCH and call not in names:
            name = f"{SEARCH} {query['Id']} {len(names)}"
            names[call] = name
            found[name] = await _run_search(metrics, world, query, call, span)
    return _Searches(substitute(node, names), found)


async def _run_search(
    metrics: Metrics, world: tuple[str, str], query: Query, call: Call, span: tuple[int, int]
) -> list[TimeSeries]:
    """Return the metrics that a search finds, at most 500, with their values."""
    text, statistic, period = _read_search(query, call)
    test = parse_search(text)
    chosen = [series for series in await metrics.listed(*world) if test(series)][:_SEARCHED_MAX]
    compute = find_statistic(statistic)
    if compute is None:
        raise MathError(f"The value {statistic} is not a supported statistic.")
    results: list[TimeSeries] = []
    start = span[0] - span[0] % period
    for series in chosen:
        points = await metrics.points(series, start, span[1], period, is_fresh=True)
        values = {time: compute(samples) for time, samples in points.items()}
        present = {time: value for time, value in values.items() if value is not None}
        results.append(TimeSeries(present, period, label_of(series, chosen)))
    return results


def _read_search(query: Query, call: Call) -> tuple[str, str, int]:
    """Return the text, the statistic and the period of a search."""
    arguments = call.arguments
    if not 2 <= len(arguments) <= 3:
        raise MathError("SEARCH takes two texts and perhaps a period")
    text, statistic = arguments[:2]
    if not isinstance(text, Text) or not isinstance(statistic, Text):
        raise MathError("SEARCH takes two texts and perhaps a period")
    period = float(query.get("Period", _SEARCH_PERIOD))
    if len(arguments) == 3:
        last = arguments[2]
        period = last.value if isinstance(last, Number) else 0.0
    if not is_period(period):
        raise MathError("The period of SEARCH must be 1, 5, 10, 20, 30 or a multiple of 60")
    return text.value, statistic.value, int(period)


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
