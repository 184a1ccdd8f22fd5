"""PutMetricData: samples that clients measured themselves."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Final, final

from hashrange.metrics.reader import Metrics
from hashrange.metrics.samples import Samples
from hashrange.metrics.store import DAY_SECONDS, HOUR, MINUTE, SECOND, Point
from hashrange.neighbours.cloudwatch.requests import (
    invalid_combination,
    invalid_value,
    missing_parameter,
    series_of,
)
from hashrange.neighbours.service import Handler, Parameters, Result, Scope

_MAGNITUDE_MAX: Final = 2.0**360
_VALUES_MAX: Final = 150
_DATUMS_MAX: Final = 1000


@final
class PutMetricData:
    """Samples of clients."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    async def put_metric_data(self, scope: Scope, parameters: Parameters) -> Result:
        """Add samples to metrics, which need not exist."""
        namespace = parameters["Namespace"]
        if namespace.startswith("AWS/"):
            raise invalid_value(
                "The value AWS/ for parameter Namespace is invalid. The namespace must not begin "
                "with AWS/."
            )
        if namespace.startswith(":"):
            raise invalid_value("The value for parameter Namespace must not begin with a colon.")
        if "EntityMetricData" in parameters:
            raise invalid_value("The parameter EntityMetricData is not supported.")
        datums = parameters.get("MetricData") or []
        if not datums:
            raise missing_parameter("The parameter MetricData is required.")
        if len(datums) > _DATUMS_MAX:
            raise invalid_value(
                f"The collection MetricData must not have a size greater than {_DATUMS_MAX}."
            )
        by_resolution: dict[int, dict[Point, tuple[Samples, str]]] = {MINUTE: {}, SECOND: {}}
        for number, datum in enumerate(datums, 1):
            where = f"MetricData.member.{number}"
            resolution = _resolution(datum, where)
            time = _time(scope, datum, where)
            series = series_of(scope, {**datum, "Namespace": namespace})
            point = (series, time if resolution == SECOND else time - time % MINUTE)
            samples, _ = by_resolution[resolution].setdefault(
                point, (Samples(), datum.get("Unit", "None"))
            )
            _add(samples, datum, where)
        for resolution, measured in by_resolution.items():
            if measured:
                await self._metrics.add(measured, resolution)
        return {}

    def operations(self) -> Mapping[str, Handler]:
        return {"PutMetricData": self.put_metric_data}


def _resolution(datum: Parameters, where: str) -> int:
    resolution: int = datum.get("StorageResolution", MINUTE)
    if resolution not in (SECOND, MINUTE):
        raise invalid_value(f"The parameter {where}.StorageResolution must be either 1 or 60.")
    return resolution


def _time(scope: Scope, datum: Parameters, where: str) -> int:
    now = scope.clock.now()
    if "Timestamp" not in datum:
        return int(now)
    time: float = datum["Timestamp"].timestamp()
    if not now - 14 * DAY_SECONDS <= time <= now + 2 * HOUR:
        raise invalid_value(
            f"The parameter {where}.Timestamp must specify a time within the past two weeks and "
            "no more than two hours in the future."
        )
    return int(time)


def _add(samples: Samples, datum: Parameters, where: str) -> None:
    """Add the value, the values or the statistic set of a datum."""
    given = [name for name in ("Value", "Values", "StatisticValues") if name in datum]
    if not given:
        raise missing_parameter(
            f"At least one of the parameters {where}.Value, {where}.Values and "
            f"{where}.StatisticValues must be specified."
        )
    if len(given) > 1:
        raise invalid_combination(
            f"The parameters {where}.{given[0]} and {where}.{given[1]} are mutually exclusive and "
            "you have specified both."
        )
    if given[0] == "StatisticValues":
        known = datum["StatisticValues"]
        figures = [
            _number(known[name], f"{where}.StatisticValues.{name}")
            for name in ("SampleCount", "Sum", "Minimum", "Maximum")
        ]
        if figures[0] <= 0 or figures[2] > figures[3]:
            raise invalid_value(f"The parameter {where}.StatisticValues is not a statistic set.")
        samples.add_set(*figures)
        return
    values = [datum["Value"]] if given[0] == "Value" else datum["Values"]
    counts = datum.get("Counts") or [1.0] * len(values)
    if given[0] == "Value" and "Counts" in datum:
        raise invalid_combination(f"The parameter {where}.Counts needs {where}.Values.")
    if len(values) > _VALUES_MAX or len(counts) != len(values):
        raise invalid_value(
            f"The parameters {where}.Values and {where}.Counts must be of the same size, at most "
            f"{_VALUES_MAX}."
        )
    for value, count in zip(values, counts, strict=True):
        if count <= 0:
            raise invalid_value(f"The parameter {where}.Counts must be greater than 0.")
        samples.add(_number(value, f"{where}.{given[0]}"), _number(count, f"{where}.Counts"))


def _number(value: float, where: str) -> float:
    if not isfinite(value) or abs(value) > _MAGNITUDE_MAX:
        raise invalid_value(
            f"The value {value} for parameter {where} is invalid. Values must be numbers between "
            "-2^360 and 2^360."
        )
    return float(value)
