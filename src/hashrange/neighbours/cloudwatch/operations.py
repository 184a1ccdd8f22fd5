"""The operations of CloudWatch."""

from __future__ import annotations

from collections.abc import Mapping

from hashrange.metrics.reader import Metrics
from hashrange.neighbours.cloudwatch.metric_lists import MetricLists
from hashrange.neighbours.cloudwatch.metric_queries import MetricQueries
from hashrange.neighbours.cloudwatch.metric_statistics import MetricStatistics
from hashrange.neighbours.cloudwatch.put_metric_data import PutMetricData
from hashrange.neighbours.service import Handler


def make_operations(metrics: Metrics) -> Mapping[str, Handler]:
    """Return all operations by name."""
    found: dict[str, Handler] = {}
    for part in (
        MetricLists(metrics),
        MetricQueries(metrics),
        MetricStatistics(metrics),
        PutMetricData(metrics),
    ):
        found.update(part.operations())
    return found
