"""Requests and answers of Application Auto Scaling: names, checks, pages and documents."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Final

from hashrange.neighbours.service import Parameters, Result, Scope, ServiceError
from hashrange.scaling.alarms import ENDINGS, alarm_name
from hashrange.scaling.store import Document, World

NAMESPACE: Final = "dynamodb"
PAGE_MAX: Final = 50
_RESOURCE: Final = re.compile(r"table/[a-zA-Z0-9_.-]{3,255}(/index/[a-zA-Z0-9_.-]{3,255})?")
_UNITS: Final = ("ReadCapacityUnits", "WriteCapacityUnits")
DIMENSIONS: Final = {
    kind: frozenset(f"dynamodb:{kind}:{units}" for units in _UNITS) for kind in ("table", "index")
}
ROLE: Final = (
    "arn:aws:iam::{account}:role/aws-service-role/dynamodb.application-autoscaling.amazonaws.com/"
    "AWSServiceRoleForApplicationAutoScaling_DynamoDBTable"
)


def invalid(message: str) -> ServiceError:
    """Return the error for a request that makes no sense."""
    return ServiceError("ValidationException", message)


def world_of(scope: Scope) -> World:
    """Return the account and region of a request."""
    return scope.account, scope.region


def check_namespace(parameters: Parameters) -> None:
    """Refuse services other than DynamoDB, which are not here."""
    if parameters["ServiceNamespace"] != NAMESPACE:
        raise invalid("Unsupported service namespace, resource type or scalable dimension")


def read_target(parameters: Parameters) -> tuple[str, str]:
    """Return resource and dimension of a request, which have to fit each other."""
    check_namespace(parameters)
    resource, dimension = parameters["ResourceId"], parameters["ScalableDimension"]
    kind = "index" if "/index/" in resource else "table"
    if _RESOURCE.fullmatch(resource) is None or dimension not in DIMENSIONS[kind]:
        raise invalid("Unsupported service namespace, resource type or scalable dimension")
    return resource, dimension


def not_registered(resource: str, dimension: str) -> ServiceError:
    """Return the error for a target that is not registered."""
    return ServiceError(
        "ObjectNotFoundException",
        f"No scalable target registered for service namespace: {NAMESPACE}, resource ID: "
        f"{resource}, scalable dimension: {dimension}",
    )


def select(targets: Iterable[Document], parameters: Parameters) -> list[Document]:
    """Return the targets that a request asks for by resources and dimension."""
    check_namespace(parameters)
    resources = parameters.get("ResourceIds")
    if parameters.get("ResourceId") is not None:
        resources = [parameters["ResourceId"]]
    dimension = parameters.get("ScalableDimension")
    if dimension is not None and not any(dimension in known for known in DIMENSIONS.values()):
        raise invalid("Unsupported service namespace, resource type or scalable dimension")
    return [
        target
        for target in targets
        if (not resources or target["ResourceId"] in resources)
        and dimension in (None, target["ScalableDimension"])
    ]


def page(member: str, found: list[Document], parameters: Parameters) -> Result:
    """Return a page of documents; the token is the number of those before it."""
    token = parameters.get("NextToken") or "0"
    if not token.isdecimal() or int(token) > len(found):
        raise ServiceError("InvalidNextTokenException", "The specified next token is invalid.")
    first = int(token)
    last = first + (parameters.get("MaxResults") or PAGE_MAX)
    result: Result = {member: found[first:last]}
    if last < len(found):
        result["NextToken"] = str(last)
    return result


def moment(seconds: float) -> datetime:
    """Return a time as handlers show it."""
    return datetime.fromtimestamp(seconds, UTC)


def show_target(target: Document) -> dict[str, Any]:
    """Return a ScalableTarget."""
    members = (
        *("ServiceNamespace", "ResourceId", "ScalableDimension", "MinCapacity", "MaxCapacity"),
        *("RoleARN", "SuspendedState", "ScalableTargetARN"),
    )
    shown = {member: target[member] for member in members}
    return shown | {"CreationTime": moment(target["CreationTime"])}


def show_alarms(world: World, policy: Document) -> list[dict[str, str]]:
    """Return the alarms of a policy."""
    account, region = world
    return [
        {
            "AlarmName": name,
            "AlarmARN": f"arn:aws:cloudwatch:{region}:{account}:alarm:{name}",
        }
        for name in policy["AlarmNames"]
    ]


def new_alarm_names(resource: str, ids: Iterable[str]) -> list[str]:
    """Return the names of the alarms of a policy."""
    return [alarm_name(resource, ending, id) for ending, id in zip(ENDINGS, ids, strict=True)]


def show_policy(world: World, target: Document, *, has_alarms: bool) -> dict[str, Any]:
    """Return the ScalingPolicy of a target."""
    policy = target["Policy"]
    configuration = "TargetTrackingScalingPolicyConfiguration"
    return {
        "PolicyARN": policy["PolicyARN"],
        "PolicyName": policy["PolicyName"],
        "ServiceNamespace": NAMESPACE,
        "ResourceId": target["ResourceId"],
        "ScalableDimension": target["ScalableDimension"],
        "PolicyType": "TargetTrackingScaling",
        configuration: policy[configuration],
        "Alarms": show_alarms(world, policy) if has_alarms else [],
        "CreationTime": moment(policy["CreationTime"]),
    }


def show_action(target: Document, name: str, action: Document) -> dict[str, Any]:
    """Return a ScheduledAction."""
    shown = {
        "ScheduledActionName": name,
        "ScheduledActionARN": action["ScheduledActionARN"],
        "ServiceNamespace": NAMESPACE,
        "ResourceId": target["ResourceId"],
        "ScalableDimension": target["ScalableDimension"],
        "CreationTime": moment(action["CreationTime"]),
    }
    for member in ("Schedule", "Timezone", "ScalableTargetAction"):
        if action.get(member) is not None:
            shown[member] = action[member]
    for member in ("StartTime", "EndTime"):
        if action.get(member) is not None:
            shown[member] = moment(action[member])
    return shown


def show_activity(activity: Document) -> dict[str, Any]:
    """Return a ScalingActivity."""
    times = {member: moment(activity[member]) for member in ("StartTime", "EndTime")}
    return activity | times
