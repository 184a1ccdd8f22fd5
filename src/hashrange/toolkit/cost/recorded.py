"""Recorded traffic from CloudWatch: consumed units per second of tables and their indexes.

The metric is a sum per period, so units per second are the sum divided by the length of the period.
A period without traffic has no data point; it counts as zero.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Final

from hashrange.toolkit.cost.series import PERIOD_SECONDS, Series
from hashrange.toolkit.cost.traffic import stores_of
from hashrange.toolkit.design.model import Design

NAMESPACE: Final = "AWS/DynamoDB"
_METRICS: Final = ("ConsumedReadCapacityUnits", "ConsumedWriteCapacityUnits")
_QUERIES_MAX: Final = 500


def recorded_series(
    design: Design, cloudwatch: Any, end: datetime, days: int = 14
) -> dict[str, Series]:
    """Return the traffic of the stores of a design in the days before a moment."""
    end = end.replace(minute=end.minute - end.minute % 5, second=0, microsecond=0)
    start = end - timedelta(days=days)
    stores = stores_of(design)
    queries = [
        _query(f"m{number}_{kind}", store, metric)
        for number, store in enumerate(stores)
        for kind, metric in enumerate(_METRICS)
    ]
    sums: dict[str, dict[datetime, float]] = {}
    for at in range(0, len(queries), _QUERIES_MAX):
        part = queries[at : at + _QUERIES_MAX]
        pages = cloudwatch.get_paginator("get_metric_data").paginate(
            MetricDataQueries=part, StartTime=start, EndTime=end
        )
        for page in pages:
            for result in page["MetricDataResults"]:
                found = sums.setdefault(result["Id"], {})
                found.update(zip(result["Timestamps"], result["Values"], strict=True))
    moments = [
        start + timedelta(seconds=PERIOD_SECONDS * k) for k in range(days * 86400 // PERIOD_SECONDS)
    ]
    return {
        store: Series(
            PERIOD_SECONDS,
            _per_second(sums.get(f"m{number}_0", {}), moments),
            _per_second(sums.get(f"m{number}_1", {}), moments),
        )
        for number, store in enumerate(stores)
    }


def _query(query_id: str, store: str, metric: str) -> dict[str, Any]:
    table, _, index = store.partition(".")
    dimensions = [{"Name": "TableName", "Value": table}]
    if index:
        dimensions.append({"Name": "GlobalSecondaryIndexName", "Value": index})
    return {
        "Id": query_id,
        "MetricStat": {
            "Metric": {"Namespace": NAMESPACE, "MetricName": metric, "Dimensions": dimensions},
            "Period": PERIOD_SECONDS,
            "Stat": "Sum",
        },
    }


def _per_second(sums: dict[datetime, float], moments: list[datetime]) -> tuple[float, ...]:
    return tuple(sums.get(moment, 0.0) / PERIOD_SECONDS for moment in moments)
