"""Answers `GET /metrics`: the totals of all metrics, for Prometheus, or as JSON.

Totals are those of all processes since the data was made, so counters go on where they were after a
restart.

A server that verifies signatures answers clients on its own machine only, since Prometheus does not
sign its requests.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from typing import Any, Final, final

import orjson

from hashrange.metrics.exposition import (
    BOUNDS_SECONDS,
    COUNTERS,
    HISTOGRAMS,
    WORLD,
    Totals,
    counts_up_to,
    labels_of,
)
from hashrange.metrics.reader import Metrics
from hashrange.metrics.samples import Samples
from hashrange.metrics.series import Series
from hashrange.wire.http.messages import PLAIN_JSON, TEXT, HttpAnswer, HttpRequest

_REFUSED: Final = HttpAnswer(403, b"metrics are for clients on this machine\n", TEXT)
_NOT_INSTALLED: Final = HttpAnswer(
    501, b"Metrics for Prometheus need prometheus-client: pip install prometheus-client\n", TEXT
)


def _is_this_machine(address: str) -> bool:
    try:
        return ipaddress.ip_address(address.partition("%")[0]).is_loopback
    except ValueError:
        return False


@final
class Scrapes:
    """Answers scrapes; `is_open` on a server that accepts anybody."""

    def __init__(self, metrics: Metrics, *, is_open: bool) -> None:
        self._metrics = metrics
        self._is_open = is_open

    async def answer(self, request: HttpRequest) -> HttpAnswer:
        """Answer a request for the totals."""
        if not self._is_open and not _is_this_machine(request.peer.address):
            return _REFUSED
        totals = await self._metrics.totals()
        if b"application/json" in request.head.headers.get(b"accept", b""):
            return HttpAnswer(200, orjson.dumps([_plain(*entry) for entry in totals]), PLAIN_JSON)
        try:
            body, content_type = render(totals)
        except ImportError:
            return _NOT_INSTALLED
        return HttpAnswer(200, body, content_type)


def _plain(series: Series, samples: Samples) -> dict[str, Any]:
    return {
        "account": series.account,
        "region": series.region,
        "name": series.name,
        "dimensions": dict(series.dimensions),
        "samples": orjson.Fragment(samples.pack()),
    }


def render(totals: Totals) -> tuple[bytes, bytes]:
    """Return totals in the OpenMetrics text format, and its content type."""
    from prometheus_client import CollectorRegistry
    from prometheus_client.openmetrics.exposition import CONTENT_TYPE_LATEST, generate_latest
    from prometheus_client.registry import Collector

    class Snapshot(Collector):
        def collect(self) -> Iterable[Any]:
            return _families(totals)

    registry = CollectorRegistry(auto_describe=False)
    registry.register(Snapshot())
    text: bytes = generate_latest(registry)  # type: ignore[no-untyped-call]
    return text, CONTENT_TYPE_LATEST.encode()


def _families(totals: Totals) -> list[Any]:
    from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily

    histograms = {
        name: HistogramMetricFamily(f"hashrange_{short}_seconds", text, labels=(*WORLD, *labels))
        for name, (short, labels, text) in HISTOGRAMS.items()
    }
    counters = {
        name: CounterMetricFamily(f"hashrange_{short}", text, labels=(*WORLD, *labels))
        for name, (short, labels, text) in COUNTERS.items()
    }
    for series, samples in totals:
        labels = labels_of(series)
        if labels is None:
            continue
        values = list(labels.values())
        if series.name in HISTOGRAMS:
            histograms[series.name].add_metric(values, _buckets(samples), samples.sum / 1000)
        else:
            counters[series.name].add_metric(values, samples.sum)
    return [*histograms.values(), *counters.values()]


def _buckets(samples: Samples) -> list[tuple[str, float]]:
    """Return cumulative counts by bound."""
    counts = zip(BOUNDS_SECONDS, counts_up_to(samples), strict=True)
    return [*((str(bound), count) for bound, count in counts), ("+Inf", samples.count)]
