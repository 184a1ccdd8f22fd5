"""The operations of CloudWatch."""

from __future__ import annotations

from collections.abc import Mapping

from hashrange.alarms.monitor import Monitor
from hashrange.neighbours.cloudwatch.alarms import Alarms
from hashrange.neighbours.cloudwatch.dashboards import Dashboards
from hashrange.neighbours.cloudwatch.insight_rules import InsightRules
from hashrange.neighbours.cloudwatch.metric_lists import MetricLists
from hashrange.neighbours.cloudwatch.metric_queries import MetricQueries
from hashrange.neighbours.cloudwatch.metric_statistics import MetricStatistics
from hashrange.neighbours.cloudwatch.put_metric_data import PutMetricData
from hashrange.neighbours.cloudwatch.widget_images import WidgetImages
from hashrange.neighbours.service import Handler


def make_operations(monitor: Monitor) -> Mapping[str, Handler]:
    """Return all operations by name."""
    found: dict[str, Handler] = {}
    for part in (
        Alarms(monitor.alarms, monitor.evaluator),
        Dashboards(monitor.documents),
        InsightRules(monitor.insights),
        MetricLists(monitor.metrics),
        MetricQueries(monitor.metrics),
        MetricStatistics(monitor.metrics),
        PutMetricData(monitor.metrics),
        WidgetImages(monitor.metrics),
    ):
        found.update(part.operations())
    return found
