"""GetMetricData: several metrics and expressions on them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, final

from hashrange.metrics.math.parser import MathError
from hashrange.metrics.math.values import TimeSeries
from hashrange.metrics.queries import Query, run_queries, uses_search
from hashrange.metrics.reader import Metrics
from hashrange.neighbours.cloudwatch.requests import (
    check_period,
    invalid_value,
    moment,
    read_span,
    read_token,
    validation_error,
    write_token,
)
from hashrange.neighbours.service import Handler, Parameters, Result, Scope

POINTS_MAX: Final = 100_800
_QUERIES_MAX: Final = 500
_LABEL_PART: Final = re.compile(r"\$\{([^}]*)\}")
_PROPERTY: Final = re.compile(r"PROP\('([^']*)'\)")


@final
class MetricQueries:
    """Data of metrics and expressions."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    async def get_metric_data(self, scope: Scope, parameters: Parameters) -> Result:
        """Return the values of every query that asks for them, newest first by default."""
        queries = parameters["MetricDataQueries"]
        if len(queries) > _QUERIES_MAX:
            raise validation_error(
                "The collection MetricDataQueries must not have a size greater than "
                f"{_QUERIES_MAX}."
            )
        if "LabelOptions" in parameters:
            raise invalid_value("The parameter LabelOptions is not supported.")
        for query in queries:
            if query.get("AccountId", scope.account) != scope.account:
                raise invalid_value("Metrics of other accounts are not supported.")
            if "MetricStat" in query:
                check_period(query["MetricStat"]["Period"])
        span = read_span(scope, parameters)
        world = (scope.account, scope.region)
        try:
            found = await run_queries(self._metrics, world, queries, span)
        except MathError as error:
            raise validation_error(str(error)) from error
        shown = [
            _show(query, series)
            for query in queries
            if query.get("ReturnData", True)
            for series in found[query["Id"]]
        ]
        is_ascending = parameters.get("ScanBy") == "TimestampAscending"
        size = min(parameters.get("MaxDatapoints") or POINTS_MAX, POINTS_MAX)
        results, token = _cut(shown, read_token(parameters), size, is_ascending=is_ascending)
        return {"MetricDataResults": results, "Messages": [], **token}

    def operations(self) -> Mapping[str, Handler]:
        return {"GetMetricData": self.get_metric_data}


_Shown = tuple[str, str, list[tuple[int, float]]]


def _show(query: Query, series: TimeSeries) -> _Shown:
    points = series.ordered()
    return query["Id"], label_of(query, series), points


def _cut(
    shown: list[_Shown], begin: int, size: int, *, is_ascending: bool
) -> tuple[list[Result], dict[str, str]]:
    """Return the points of a page, as results, and the token of the next page."""
    results: list[Result] = []
    passed = 0
    end = begin + size
    for id, label, points in shown:
        ordered = points if is_ascending else points[::-1]
        part = ordered[max(0, begin - passed) : max(0, end - passed)]
        is_here = bool(part) or (not points and begin == 0)
        if is_here:
            is_whole = passed + len(points) <= end
            results.append(
                {
                    "Id": id,
                    "Label": label,
                    "Timestamps": [moment(time) for time, _ in part],
                    "Values": [value for _, value in part],
                    "StatusCode": "Complete" if is_whole else "PartialData",
                }
            )
        passed += len(points)
    return results, {"NextToken": write_token(end)} if passed > end else {}


def label_of(query: Query, series: TimeSeries) -> str:
    """Return the label of a result, with the dynamic parts of a label filled in."""
    label: str = query.get("Label") or series.label or query["Id"]
    if "Expression" in query:
        is_search = uses_search(query)
        if "Label" not in query and not (is_search and series.label):
            label = query["Id"]
        elif is_search and "Label" in query and "${" not in query["Label"]:
            # One label for several series would not tell them apart.
            label = f"{query['Label']} {series.label}".strip()
    return _LABEL_PART.sub(lambda part: _label_part(part[1], query, series), label)


def _label_part(name: str, query: Query, series: TimeSeries) -> str:
    values = [value for _, value in series.ordered()]
    figures: dict[str, float] = {"DATAPOINT_COUNT": float(len(values))}
    if values:
        figures |= {
            "AVG": sum(values) / len(values),
            "FIRST": values[0],
            "LAST": values[-1],
            "MAX": max(values),
            "MIN": min(values),
            "SUM": sum(values),
        }
    if name in figures:
        return f"{figures[name]:g}"
    if name == "LABEL":
        return series.label
    found = _PROPERTY.fullmatch(name)
    return _property(found[1], query) if found else "--"


def _property(name: str, query: Query) -> str:
    stat: dict[str, Any] = query.get("MetricStat") or {}
    metric = stat.get("Metric") or {}
    dimensions = {f"Dim.{pair['Name']}": pair["Value"] for pair in metric.get("Dimensions") or ()}
    known = {
        "MetricName": metric.get("MetricName", ""),
        "Namespace": metric.get("Namespace", ""),
        "Period": str(stat.get("Period", "")),
        "Stat": stat.get("Stat", ""),
        **dimensions,
    }
    return str(known.get(name, "--"))
