"""GetMetricStatistics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, final

from hashrange.metrics.reader import Metrics
from hashrange.metrics.samples import Samples
from hashrange.metrics.statistics import Statistic, find_statistic
from hashrange.neighbours.cloudwatch.requests import (
    check_period,
    invalid_combination,
    invalid_value,
    moment,
    read_span,
    series_of,
)
from hashrange.neighbours.service import Handler, Parameters, Result, Scope

_POINTS_MAX: Final = 1440


@final
class MetricStatistics:
    """Statistics of one metric."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    async def get_metric_statistics(self, scope: Scope, parameters: Parameters) -> Result:
        """Return the statistics of the periods that have samples."""
        plain = parameters.get("Statistics") or []
        extended = parameters.get("ExtendedStatistics") or []
        if not plain and not extended:
            raise invalid_combination(
                "At least one of the parameters Statistics and ExtendedStatistics must be "
                "specified."
            )
        start, end = read_span(scope, parameters)
        period = check_period(parameters["Period"])
        count = -(-(end - start) // period)
        if count > _POINTS_MAX:
            raise invalid_combination(
                f"You have requested up to {count:,} datapoints, which exceeds the limit of "
                f"{_POINTS_MAX:,}. You may reduce the datapoints requested by increasing Period, "
                "or decreasing the time range."
            )
        statistics = {name: known_statistic(name) for name in (*plain, *extended)}
        series = series_of(scope, parameters)
        answer: Result = {"Label": series.name, "Datapoints": []}
        points = await self._metrics.points(series, start, end, period)
        unit = await self._metrics.unit(series)
        if parameters.get("Unit") in (None, unit):
            answer["Datapoints"] = [
                _show(time, samples, statistics, set(plain), unit)
                for time, samples in points.items()
            ]
        return answer

    def operations(self) -> Mapping[str, Handler]:
        return {"GetMetricStatistics": self.get_metric_statistics}


def known_statistic(name: str) -> Statistic:
    """Return the statistic that a request names."""
    found = find_statistic(name)
    if found is None:
        raise invalid_value(f"The value {name} is not a supported statistic.")
    return found


def _show(
    time: int, samples: Samples, statistics: dict[str, Statistic], plain: set[str], unit: str
) -> Result:
    point: dict[str, Any] = {"Timestamp": moment(time), "Unit": unit}
    extended: dict[str, float] = {}
    for name, compute in statistics.items():
        value = compute(samples)
        if value is not None:
            (point if name in plain else extended)[name] = value
    if extended:
        point["ExtendedStatistics"] = extended
    return point
