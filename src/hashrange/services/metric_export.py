"""Sends the totals of all metrics to an OpenTelemetry collector, over OTLP and HTTP.

Totals are those of all processes since the data was made, so they are cumulative sums whose
beginning is not known, and the process that has the lease sends them. What cannot be sent is left
out: the next totals have it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, final

from hashrange.clock import Clock
from hashrange.metrics.exposition import (
    BOUNDS_SECONDS,
    COUNTERS,
    HISTOGRAMS,
    Totals,
    counts_up_to,
    labels_of,
)
from hashrange.metrics.reader import Metrics
from hashrange.metrics.samples import Samples

if TYPE_CHECKING:
    from opentelemetry.sdk.metrics.export import (
        HistogramDataPoint,
        Metric,
        MetricExporter,
        MetricsData,
        NumberDataPoint,
    )

_UNKNOWN_START: Final = 0


@final
class MetricExport:
    """Sends totals; needs the packages of the extra `otel`."""

    def __init__(
        self, exporter: MetricExporter, metrics: Metrics, clock: Clock, version: str
    ) -> None:
        self._exporter = exporter
        self._metrics = metrics
        self._clock = clock
        self._version = version
        self._sending: asyncio.Future[object] | None = None
        self._is_closed = False

    async def step(self) -> int:
        """Begin to send, unless the collector has not taken what was sent before."""
        if not self._is_closed and (self._sending is None or self._sending.done()):
            self._sending = await self._begin()
        return 0

    async def _begin(self) -> asyncio.Future[object]:
        totals = await self._metrics.totals()
        moment = int(self._clock.now() * 1e9)
        # In a thread: sending waits for the collector.
        return asyncio.get_running_loop().run_in_executor(None, self._send, totals, moment)

    def _send(self, totals: Totals, moment: int) -> object:
        return self._exporter.export(to_otlp(totals, moment, self._version))

    async def close(self) -> None:
        """Send what is known by now, and end; may wait for the collector."""
        self._is_closed = True
        if self._sending is not None:
            await asyncio.wait([self._sending])
        await (await self._begin())
        await asyncio.get_running_loop().run_in_executor(None, self._exporter.shutdown)


def to_otlp(totals: Totals, moment: int, version: str) -> MetricsData:
    """Return totals in the words of OpenTelemetry, as they are at a time in nanoseconds."""
    from opentelemetry.sdk.metrics.export import (
        AggregationTemporality,
        Histogram,
        Metric,
        MetricsData,
        ResourceMetrics,
        ScopeMetrics,
        Sum,
    )
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope

    sums: dict[str, list[NumberDataPoint]] = {}
    times: dict[str, list[HistogramDataPoint]] = {}
    for series, samples in totals:
        labels = labels_of(series)
        if labels is None:
            continue
        if series.name in HISTOGRAMS:
            times.setdefault(series.name, []).append(_histogram_point(labels, samples, moment))
        else:
            sums.setdefault(series.name, []).append(_point(labels, samples, moment))
    cumulative = AggregationTemporality.CUMULATIVE
    metrics: list[Metric] = [
        Metric(f"hashrange.{short}", text, "1", Sum(sums[name], cumulative, is_monotonic=True))
        for name, (short, _, text) in COUNTERS.items()
        if name in sums
    ]
    metrics += [
        Metric(f"hashrange.{short}", text, "s", Histogram(times[name], cumulative))
        for name, (short, _, text) in HISTOGRAMS.items()
        if name in times
    ]
    resource = Resource.create({"service.name": "hashrange", "service.version": version})
    scope = ScopeMetrics(InstrumentationScope("hashrange", version), metrics, "")
    return MetricsData([ResourceMetrics(resource, [scope], "")])


def _point(labels: dict[str, str], samples: Samples, moment: int) -> NumberDataPoint:
    from opentelemetry.sdk.metrics.export import NumberDataPoint

    return NumberDataPoint(labels, _UNKNOWN_START, moment, samples.sum)


def _histogram_point(labels: dict[str, str], samples: Samples, moment: int) -> HistogramDataPoint:
    from opentelemetry.sdk.metrics.export import HistogramDataPoint

    return HistogramDataPoint(
        labels,
        _UNKNOWN_START,
        moment,
        int(samples.count),
        samples.sum / 1000,
        _differences([*counts_up_to(samples), samples.count]),
        BOUNDS_SECONDS,
        samples.minimum / 1000,
        samples.maximum / 1000,
    )


def _differences(cumulative: Sequence[float]) -> list[int]:
    before = [0.0, *cumulative]
    return [int(count - less) for less, count in zip(before, cumulative, strict=False)]
