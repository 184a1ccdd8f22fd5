"""Watches through CloudWatch and Contributor Insights, as boto3 gives them.

CloudWatch counts by table and operation, not by pattern. So a pattern counts as called if its
operation is called on its table; two patterns with the same operation cannot be told apart. Keys
come from Contributor Insights where it is enabled, and are tied to patterns by key templates.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, final

from hashrange.toolkit.cost.recorded import NAMESPACE
from hashrange.toolkit.cost.traffic import stores_of
from hashrange.toolkit.design.model import Design
from hashrange.toolkit.design.patterns import AccessPattern
from hashrange.toolkit.watch.analysis import HOT_SHARE
from hashrange.toolkit.watch.remarks import Remark

OPERATIONS: Final = {
    "GetItem": ("get", "transact_get"),
    "Query": ("query",),
    "Scan": ("scan",),
    "PutItem": ("create", "put"),
    "UpdateItem": ("update",),
    "DeleteItem": ("delete",),
    "BatchGetItem": ("batch_get",),
    "BatchWriteItem": ("batch_write",),
    "TransactGetItems": ("transact_get",),
    "TransactWriteItems": ("transact_write", "create", "put", "update", "delete"),
}
CONTRIBUTORS: Final = 10


@final
@dataclass
class Counts:
    """Calls by table and operation, throttled requests, units by store, hot keys by store."""

    calls: dict[tuple[str, str], float] = field(default_factory=dict)
    throttled: dict[tuple[str, str], float] = field(default_factory=dict)
    read_units: dict[str, float] = field(default_factory=dict)
    write_units: dict[str, float] = field(default_factory=dict)
    keys: dict[str, list[tuple[str, float]]] = field(default_factory=dict)


@final
class Observer:
    """Asks CloudWatch, and DynamoDB for its Contributor Insights rules."""

    def __init__(self, cloudwatch: Any, dynamodb: Any, end: datetime, period: timedelta) -> None:
        self.cloudwatch = cloudwatch
        self.dynamodb = dynamodb
        self.start, self.end = end - period, end

    def count(self, design: Design) -> Counts:
        """Return what the stores of a design served."""
        counts = Counts()
        for table in design.tables:
            for operation in OPERATIONS:
                dimensions = {"TableName": table.name, "Operation": operation}
                key = (table.name, operation)
                counts.calls[key] = self._sum("SuccessfulRequestLatency", dimensions, "SampleCount")
                counts.throttled[key] = self._sum("ThrottledRequests", dimensions, "Sum")
        for store in stores_of(design):
            name, _, index = store.partition(".")
            dimensions = {"TableName": name}
            if index:
                dimensions["GlobalSecondaryIndexName"] = index
            counts.read_units[store] = self._sum("ConsumedReadCapacityUnits", dimensions, "Sum")
            counts.write_units[store] = self._sum("ConsumedWriteCapacityUnits", dimensions, "Sum")
            counts.keys[store] = self._hot_keys(name, index)
        return counts

    def _sum(self, metric: str, dimensions: dict[str, str], statistic: str) -> float:
        answer = self.cloudwatch.get_metric_statistics(
            Namespace=NAMESPACE,
            MetricName=metric,
            Dimensions=[{"Name": name, "Value": value} for name, value in dimensions.items()],
            StartTime=self.start,
            EndTime=self.end,
            Period=_period(self.end - self.start),
            Statistics=[statistic],
        )
        return sum(float(point[statistic]) for point in answer["Datapoints"])

    def _hot_keys(self, table: str, index: str) -> list[tuple[str, float]]:
        """Return keys with their share of the counted requests; nothing if insights are off."""
        from botocore.exceptions import ClientError

        parameters = {"TableName": table, **({"IndexName": index} if index else {})}
        try:
            insights = self.dynamodb.describe_contributor_insights(**parameters)
        except ClientError:  # a service without insights, or no permission: keys stay unknown
            return []
        if insights.get("ContributorInsightsStatus") != "ENABLED":
            return []
        rules = insights.get("ContributorInsightsRuleList", [])
        rule = next((each for each in rules if "-PKC-" in each), None)
        if rule is None:
            return []
        report = self.cloudwatch.get_insight_rule_report(
            RuleName=rule,
            StartTime=self.start,
            EndTime=self.end,
            Period=_period(self.end - self.start),
            MaxContributorCount=CONTRIBUTORS,
            OrderBy="Sum",
        )
        total = report.get("AggregateValue") or 0.0
        return [
            (",".join(each["Keys"]), each["ApproximateAggregateValue"] / total)
            for each in report.get("Contributors", [])
            if total
        ]


def _period(span: timedelta) -> int:
    """Return a period in whole minutes that gives fewer than 1,440 points."""
    minutes = max(1, -(-int(span.total_seconds()) // 60 // 1440))
    return minutes * 60


def remarks_on(design: Design, counts: Counts) -> list[Remark]:
    """Return what the counts say against a design."""
    return [
        *_undeclared(design, counts),
        *_uncalled(design, counts),
        *(
            Remark("throttled", f"table:{table}", f"{count:,.0f} {operation} requests")
            for (table, operation), count in counts.throttled.items()
            if count
        ),
        *_hot(design, counts),
        *(
            Remark(
                "unused-index",
                f"index:{store}",
                f"nobody reads it, its writes took {counts.write_units[store]:,.0f} units",
            )
            for store, units in counts.read_units.items()
            if "." in store and not units
        ),
    ]


def _undeclared(design: Design, counts: Counts) -> Iterator[Remark]:
    for (table, operation), calls in counts.calls.items():
        declared = any(
            pattern.operation in OPERATIONS[operation] for pattern in design.patterns_of(table)
        )
        if calls and (operation == "Scan" or not declared):
            kind = "scan" if operation == "Scan" else "undeclared"
            words = "" if declared else ", which no pattern declares"
            yield Remark(kind, f"table:{table}", f"{calls:,.0f} {operation} requests{words}")


def _uncalled(design: Design, counts: Counts) -> Iterator[Remark]:
    for pattern in design.patterns:
        if not any(
            counts.calls.get((table, operation))
            for table in design.tables_of(pattern)
            for operation, kinds in OPERATIONS.items()
            if pattern.operation in kinds
        ):
            yield Remark("uncalled", f"pattern:{pattern.name}", "nobody calls its operation")


def _hot(design: Design, counts: Counts) -> Iterator[Remark]:
    for store, keys in counts.keys.items():
        for key, share in keys:
            if share < HOT_SHARE or len(keys) == 1:
                continue
            names = [pattern.name for pattern in patterns_of_key(design, store, key)]
            behind = f" ({', '.join(names)})" if names else ""
            yield Remark(
                "hot-key", f"table:{store}", f"key {key!r} gets {share:.0%} of the requests{behind}"
            )


def patterns_of_key(design: Design, store: str, key: str) -> list[AccessPattern]:
    """Return the patterns of a store whose entities can have made a partition key value."""
    table, _, index = store.partition(".")
    attribute = design.table(table).keys_of(index).partition.name
    found = []
    for pattern in design.patterns_of(table):
        names = pattern.entities or tuple(step.entity for step in pattern.steps)
        entities = [design.entity(name) for name in names]
        if index not in ("", pattern.index) and pattern.is_read:
            continue
        if any(entity.matches({attribute: key}, attribute) for entity in entities):
            found.append(pattern)
    return found
