"""The CloudWatch alarms of a target-tracking policy, in the words of PutMetricAlarm.

The names end with an id of their own. The pair on consumed units says that the capacity is too
small or too large, the pair on provisioned units that somebody else has changed it. Their
thresholds follow the capacity. The worker reads the same metrics by itself; an alarm that goes off
only has it look.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Protocol

from hashrange.scaling.store import Document, World
from hashrange.scaling.target_tracking import (
    HIGH_MINUTES,
    LOW_MINUTES,
    high_threshold,
    low_threshold,
)

ENDINGS: Final = ("AlarmHigh", "AlarmLow", "ProvisionedCapacityHigh", "ProvisionedCapacityLow")


class Alarms(Protocol):
    """Keeps alarms."""

    async def put(self, world: World, kind: str, definition: Document) -> None: ...

    async def delete(self, world: World, names: Sequence[str]) -> None: ...


def metric_name(dimension: str, verb: str = "Consumed") -> str:
    """Return the metric of a dimension such as dynamodb:table:ReadCapacityUnits."""
    return f"{verb}{dimension.rpartition(':')[2]}"


def alarm_name(resource: str, ending: str, id: str) -> str:
    """Return the name of an alarm."""
    return f"TargetTracking-{resource}-{ending}-{id}"


def alarm_definitions(target: Document, provisioned: int) -> list[dict[str, Any]]:
    """Return the alarms of a target's policy, for its capacity at the moment."""
    policy = target["Policy"]
    resource, dimension = target["ResourceId"], target["ScalableDimension"]
    tracked = policy["TargetTrackingScalingPolicyConfiguration"]["TargetValue"]
    _, table, *index = resource.split("/")
    dimensions = [{"Name": "TableName", "Value": table}]
    if index:
        dimensions.append({"Name": "GlobalSecondaryIndexName", "Value": index[1]})
    consumed = ("Consumed", "Sum", 60)
    given = ("Provisioned", "Average", 300)
    rules = (
        (*consumed, HIGH_MINUTES, "GreaterThanThreshold", high_threshold(tracked, provisioned)),
        (*consumed, LOW_MINUTES, "LessThanThreshold", low_threshold(tracked, provisioned)),
        (*given, 3, "GreaterThanThreshold", float(provisioned)),
        (*given, 3, "LessThanThreshold", float(provisioned)),
    )
    return [
        {
            "AlarmName": name,
            "AlarmDescription": "DO NOT EDIT OR DELETE. For TargetTrackingScaling policy "
            f"{policy['PolicyARN']}.",
            "ActionsEnabled": True,
            "AlarmActions": [policy["PolicyARN"]],
            "Namespace": "AWS/DynamoDB",
            "MetricName": metric_name(dimension, verb),
            "Dimensions": dimensions,
            "Statistic": statistic,
            "Period": period,
            "EvaluationPeriods": count,
            "ComparisonOperator": comparison,
            "Threshold": threshold,
        }
        for name, (verb, statistic, period, count, comparison, threshold) in zip(
            policy["AlarmNames"], rules, strict=True
        )
    ]
