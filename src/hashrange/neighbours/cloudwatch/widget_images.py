"""GetMetricWidgetImage: a picture of metrics, drawn in a thread of its own."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final, final

from hashrange.metrics.math.parser import MathError
from hashrange.metrics.math.values import TimeSeries
from hashrange.metrics.queries import Query, run_queries
from hashrange.metrics.reader import Metrics
from hashrange.metrics.series import metric_series
from hashrange.neighbours.cloudwatch.metric_queries import POINTS_MAX, label_of
from hashrange.neighbours.cloudwatch.plots import Curve, draw
from hashrange.neighbours.cloudwatch.widgets import (
    Line,
    invalid,
    lines_of,
    read_widget,
    span_of,
    zone_of,
)
from hashrange.neighbours.service import Handler, Parameters, Result, Scope, ServiceError

_FORMAT: Final = "png"


@final
class WidgetImages:
    """Pictures of metrics."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._thread: ThreadPoolExecutor | None = None

    async def get_metric_widget_image(self, scope: Scope, parameters: Parameters) -> Result:
        """Return the picture of a widget as PNG."""
        if parameters.get("OutputFormat", _FORMAT) != _FORMAT:
            raise invalid("the output format is png")
        widget = read_widget(parameters["MetricWidget"])
        span, zone = span_of(widget, scope.clock.now()), zone_of(widget)
        lines = lines_of(widget, scope.region, span)
        curves = await self._curves((scope.account, scope.region), lines, span)
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="hashrange-plots")
        loop = asyncio.get_running_loop()
        try:
            image = await loop.run_in_executor(self._thread, draw, widget, curves, span, zone)
        except ImportError as error:
            raise ServiceError(
                "InternalServiceFault",
                "Pictures of metrics need matplotlib on the server: pip install matplotlib",
                is_sender=False,
            ) from error
        return {"MetricWidgetImage": image}

    async def _curves(
        self, world: tuple[str, str], lines: Sequence[Line], span: tuple[int, int]
    ) -> list[Curve]:
        """Return what is to be drawn; of an expression with several series, each is a curve."""
        _check_points(lines, span)
        try:
            found = await run_queries(self._metrics, world, [line.query for line in lines], span)
        except MathError as error:
            raise invalid(str(error)) from error
        is_told_apart = _names_repeat(lines)
        curves: list[Curve] = []
        for line in lines:
            if not line.rendering.visible:
                continue
            unit = await self._unit(world, line.query)
            for number, series in enumerate(found[line.query["Id"]]):
                color = line.rendering.color if number == 0 else None
                label = _label(line, series, is_told_apart=is_told_apart)
                is_right = line.rendering.y_axis == "right"
                curves.append(Curve(series, label, unit, color, is_right))
        return curves

    async def _unit(self, world: tuple[str, str], query: Query) -> str:
        """Return the unit of a metric; those of expressions are not known."""
        if "MetricStat" not in query:
            return "None"
        return await self._metrics.unit(metric_series(world, query["MetricStat"]["Metric"]))

    def operations(self) -> Mapping[str, Handler]:
        return {"GetMetricWidgetImage": self.get_metric_widget_image}


def _check_points(lines: Sequence[Line], span: tuple[int, int]) -> None:
    periods = [line.query["MetricStat"]["Period"] for line in lines if "MetricStat" in line.query]
    points = sum((span[1] - span[0]) // period for period in periods)
    if points > POINTS_MAX:
        raise invalid(f"{points} points are more than {POINTS_MAX}; make the period longer")


def _names_repeat(lines: Sequence[Line]) -> bool:
    """Tell whether metrics of the same name have to be told apart by their dimensions."""
    names = Counter(
        line.query["MetricStat"]["Metric"]["MetricName"]
        for line in lines
        if "MetricStat" in line.query and line.rendering.visible
    )
    return any(count > 1 for count in names.values())


def _label(line: Line, series: TimeSeries, *, is_told_apart: bool) -> str:
    query, rendering = line.query, line.rendering
    if rendering.label is not None or "MetricStat" not in query:
        return label_of(query, series)
    if not is_told_apart:
        return series.label
    metric = query["MetricStat"]["Metric"]
    values = [pair["Value"] for pair in metric["Dimensions"]]
    return " ".join([series.label, *values, query["MetricStat"]["Stat"]])
