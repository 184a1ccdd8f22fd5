"""Rows of the authorisation table for CloudWatch and SNS: operations on alarms and topics.

Operations without a row need their action on everything, as with all services. So do those of
CloudWatch that read and write metrics, for which AWS knows no resources either.
"""

from __future__ import annotations

from typing import Final

from hashrange.api.access.demands import Demand, Row
from hashrange.api.operation import Request
from hashrange.api.scope import RequestScope

_ALARM: Final = ("DescribeAlarmHistory", "PutCompositeAlarm", "PutMetricAlarm", "SetAlarmState")
_ALARMS: Final = ("DeleteAlarms", "DescribeAlarms", "DisableAlarmActions", "EnableAlarmActions")
_DASHBOARD: Final = ("GetDashboard", "PutDashboard")
_TOPIC: Final = (
    *("ConfirmSubscription", "DeleteTopic", "GetTopicAttributes", "ListSubscriptionsByTopic"),
    *("Publish", "SetTopicAttributes", "Subscribe"),
)


def _alarm_arn(scope: RequestScope, name: str) -> str:
    caller = scope.caller
    return f"arn:aws:cloudwatch:{caller.region}:{caller.account}:alarm:{name}"


def alarm_row(operation: str) -> Row:
    """Return the row of an operation on one alarm, or on all if none is named."""

    def demands(scope: RequestScope, request: Request) -> list[Demand]:
        resource = _alarm_arn(scope, request.get("AlarmName") or "*")
        return [Demand(f"cloudwatch:{operation}", resource)]

    return demands


def alarms_row(operation: str) -> Row:
    """Return the row of an operation on several alarms, or on all if none is named."""

    def demands(scope: RequestScope, request: Request) -> list[Demand]:
        names = request.get("AlarmNames") or ["*"]
        return [Demand(f"cloudwatch:{operation}", _alarm_arn(scope, name)) for name in names]

    return demands


def dashboard_row(operation: str) -> Row:
    """Return the row of an operation on a dashboard."""

    def demands(scope: RequestScope, request: Request) -> list[Demand]:
        name = request["DashboardName"]
        resource = f"arn:aws:cloudwatch::{scope.caller.account}:dashboard/{name}"
        return [Demand(f"cloudwatch:{operation}", resource)]

    return demands


def topic_row(operation: str) -> Row:
    """Return the row of an operation that names a topic by its ARN."""

    def demands(scope: RequestScope, request: Request) -> list[Demand]:
        return [Demand(f"sns:{operation}", request.get("TopicArn") or "*")]

    return demands


def create_topic_row(scope: RequestScope, request: Request) -> list[Demand]:
    """Demand CreateTopic on the topic to be made."""
    caller = scope.caller
    return [
        Demand("sns:CreateTopic", f"arn:aws:sns:{caller.region}:{caller.account}:{request['Name']}")
    ]


CLOUDWATCH_ROWS: Final[dict[str, Row]] = {
    **{operation: alarm_row(operation) for operation in _ALARM},
    **{operation: alarms_row(operation) for operation in _ALARMS},
    **{operation: dashboard_row(operation) for operation in _DASHBOARD},
}

SNS_ROWS: Final[dict[str, Row]] = {
    **{operation: topic_row(operation) for operation in _TOPIC},
    "CreateTopic": create_topic_row,
}
