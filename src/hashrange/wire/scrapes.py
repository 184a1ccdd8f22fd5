"""Answers `GET /metrics`: the totals of all metrics, for Prometheus, or as JSON.

Totals are those of all processes since the data was made, so counters go on where they were after a
restart. Labels are account, region, table, index and operation, whose number the tables bound.

A server that verifies signatures answers clients on its own machine only, since Prometheus does not
sign its requests.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from typing import Any, Final, final

import orjson

from hashrange.metrics.reader import Metrics
from hashrange.metrics.samples import Samples
from hashrange.metrics.series import Series
from hashrange.wire.http.messages import PLAIN_JSON, TEXT, HttpAnswer, HttpRequest

_REFUSED: Final = HttpAnswer(403, b"metrics are for clients on this machine\n", TEXT)
_NOT_INSTALLED: Final = HttpAnswer(
    501, b"Metrics for Prometheus need prometheus-client: pip install 'hashrange[metrics]'\n", TEXT
)
_LABELS: Final = {
    "TableName": "table",
    "GlobalSecondaryIndexName": "index",
    "Operation": "operation",
    "Error": "error",
    "StreamLabel": "stream",
}
# Metrics of CloudWatch: the name of the counter, its labels and its help.
COUNTERS: Final[dict[str, tuple[str, tuple[str, ...], str]]] = {
    "ConsumedReadCapacityUnits": (
        "consumed_read_units",
        ("table", "index"),
        "Read capacity units consumed",
    ),
    "ConsumedWriteCapacityUnits": (
        "consumed_write_units",
        ("table", "index"),
        "Write capacity units consumed",
    ),
    "ReturnedItemCount": (
        "returned_items",
        ("table", "operation"),
        "Items returned by queries, scans and statements",
    ),
    "ExaminedItemCount": (
        "examined_items",
        ("table", "operation"),
        "Items examined by queries, scans and statements",
    ),
    "ReturnedRecordsCount": (
        "returned_stream_records",
        ("table", "stream"),
        "Stream records returned",
    ),
    "RefusedRequests": ("refused_requests", ("operation", "error"), "Requests refused or failed"),
    "ConditionalCheckFailedRequests": (
        "conditional_check_failures",
        ("table",),
        "Writes whose condition failed",
    ),
    "TransactionConflict": (
        "transaction_conflicts",
        ("table",),
        "Items that a transaction found locked",
    ),
    "TimeToLiveDeletedItemCount": ("expired_items", ("table",), "Items deleted by time to live"),
    "ThrottledRequests": ("throttled_requests", ("table", "operation"), "Requests throttled"),
    "ReadThrottleEvents": ("read_throttle_events", ("table", "index"), "Reads throttled"),
    "WriteThrottleEvents": ("write_throttle_events", ("table", "index"), "Writes throttled"),
    "SystemErrors": ("system_errors", ("table", "operation"), "Requests the server failed to do"),
}
_LATENCY: Final = "SuccessfulRequestLatency"
_WORLD: Final = ("account", "region")
BOUNDS_SECONDS: Final = (
    *(0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5),
    *(1.0, 2.5, 5.0, 10.0),
)

Totals = list[tuple[Series, Samples]]


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

    latency = HistogramMetricFamily(
        "hashrange_request_duration_seconds",
        "Time from the arrival of a request to its answer",
        labels=(*_WORLD, "table", "operation"),
    )
    counters = {
        name: CounterMetricFamily(f"hashrange_{short}", text, labels=(*_WORLD, *labels))
        for name, (short, labels, text) in COUNTERS.items()
    }
    for series, samples in totals:
        known = {_LABELS.get(name, name): value for name, value in series.dimensions}
        world = [series.account, series.region]
        if series.name == _LATENCY:
            values = [*world, known["table"], known["operation"]]
            if "stream" not in known:
                latency.add_metric(values, _buckets(samples), samples.sum / 1000)
        elif series.name in COUNTERS:
            labels = COUNTERS[series.name][1]
            values = [*world, *(known.get(label, "") for label in labels)]
            counters[series.name].add_metric(values, samples.sum)
    return [latency, *counters.values()]


def _buckets(samples: Samples) -> list[tuple[str, float]]:
    """Return cumulative counts; those of a bound are right to the 2 % of the sketch."""
    weighted = samples.weighted() or []
    found = [
        (str(bound), sum(count for value, count in weighted if value / 1000 <= bound))
        for bound in BOUNDS_SECONDS
    ]
    return [*found, ("+Inf", samples.count)]
