"""What an alarm says when its state changes: a message for topics, and an event for functions."""

from __future__ import annotations

from typing import Any, Final

import orjson

from hashrange.alarms.documents import Document
from hashrange.alarms.evaluation import iso
from hashrange.alarms.store import COMPOSITE_ALARM, World

REGION_NAMES: Final = {
    "ap-northeast-1": "Asia Pacific (Tokyo)",
    "ap-northeast-2": "Asia Pacific (Seoul)",
    "ap-south-1": "Asia Pacific (Mumbai)",
    "ap-southeast-1": "Asia Pacific (Singapore)",
    "ap-southeast-2": "Asia Pacific (Sydney)",
    "ca-central-1": "Canada (Central)",
    "eu-central-1": "EU (Frankfurt)",
    "eu-north-1": "EU (Stockholm)",
    "eu-west-1": "EU (Ireland)",
    "eu-west-2": "EU (London)",
    "eu-west-3": "EU (Paris)",
    "sa-east-1": "South America (Sao Paulo)",
    "us-east-1": "US East (N. Virginia)",
    "us-east-2": "US East (Ohio)",
    "us-west-1": "US West (N. California)",
    "us-west-2": "US West (Oregon)",
}


def subject_of(world: World, alarm: Document) -> str:
    """Return the subject of the message about an alarm."""
    region = REGION_NAMES.get(world[1], world[1])
    return f'{alarm["StateValue"]}: "{alarm["AlarmName"]}" in {region}'[:100]


def message_of(world: World, alarm: Document, before: str, at: float) -> str:
    """Return the message about a change of state, as it is published to topics."""
    message: dict[str, Any] = {
        "AlarmName": alarm["AlarmName"],
        "AlarmDescription": alarm.get("AlarmDescription"),
        "AWSAccountId": world[0],
        "AlarmConfigurationUpdatedTimestamp": iso(alarm["AlarmConfigurationUpdatedTimestamp"]),
        "NewStateValue": alarm["StateValue"],
        "NewStateReason": alarm["StateReason"],
        "StateChangeTime": iso(at),
        "Region": REGION_NAMES.get(world[1], world[1]),
        "AlarmArn": alarm["AlarmArn"],
        "OldStateValue": before,
        "OKActions": alarm["OKActions"],
        "AlarmActions": alarm["AlarmActions"],
        "InsufficientDataActions": alarm["InsufficientDataActions"],
    }
    if alarm["Kind"] == COMPOSITE_ALARM:
        message["AlarmRule"] = alarm["AlarmRule"]
    else:
        message["Trigger"] = _trigger(alarm)
    return orjson.dumps(message).decode()


def _trigger(alarm: Document) -> dict[str, Any]:
    trigger: dict[str, Any] = {
        "Period": alarm.get("Period"),
        "EvaluationPeriods": alarm["EvaluationPeriods"],
        "DatapointsToAlarm": alarm.get("DatapointsToAlarm"),
        "ComparisonOperator": alarm["ComparisonOperator"],
        "Threshold": alarm["Threshold"],
        "TreatMissingData": alarm.get("TreatMissingData", ""),
        "EvaluateLowSampleCountPercentile": alarm.get("EvaluateLowSampleCountPercentile", ""),
    }
    if "Metrics" in alarm:
        trigger["Metrics"] = alarm["Metrics"]
    else:
        trigger |= {
            "MetricName": alarm["MetricName"],
            "Namespace": alarm["Namespace"],
            "StatisticType": "Statistic" if "Statistic" in alarm else "ExtendedStatistic",
            "Statistic": (alarm.get("Statistic") or alarm["ExtendedStatistic"]).upper(),
            "Unit": alarm.get("Unit"),
            "Dimensions": [
                {"value": pair["Value"], "name": pair["Name"]}
                for pair in alarm.get("Dimensions") or ()
            ],
        }
    return {name: value for name, value in trigger.items() if value is not None or name == "Unit"}


def event_of(world: World, alarm: Document, before: str, at: float) -> dict[str, Any]:
    """Return the event about a change of state that functions are called with."""
    return {
        "source": "aws.cloudwatch",
        "alarmArn": alarm["AlarmArn"],
        "accountId": world[0],
        "time": iso(at),
        "region": world[1],
        "alarmData": {
            "alarmName": alarm["AlarmName"],
            "state": {
                "value": alarm["StateValue"],
                "reason": alarm["StateReason"],
                "reasonData": alarm.get("StateReasonData"),
                "timestamp": iso(at),
            },
            "previousState": {"value": before},
            "configuration": {
                "description": alarm.get("AlarmDescription"),
                "metrics": alarm.get("Metrics") or [_metric(alarm)],
            },
        },
    }


def _metric(alarm: Document) -> dict[str, Any]:
    if alarm["Kind"] == COMPOSITE_ALARM:
        return {}
    return {
        "id": "m1",
        "metricStat": {
            "metric": {
                "namespace": alarm["Namespace"],
                "name": alarm["MetricName"],
                "dimensions": {d["Name"]: d["Value"] for d in alarm.get("Dimensions") or ()},
            },
            "period": alarm["Period"],
            "stat": alarm.get("Statistic") or alarm["ExtendedStatistic"],
        },
        "returnData": True,
    }
