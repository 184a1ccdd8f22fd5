"""The operations of Application Auto Scaling, for the tables and global indexes of this server."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final, final
from uuid import uuid4

from hashrange.neighbours.autoscaling.answers import (
    NAMESPACE,
    ROLE,
    check_namespace,
    invalid,
    new_alarm_names,
    not_registered,
    page,
    read_target,
    select,
    show_action,
    show_activity,
    show_alarms,
    show_policy,
    show_target,
    world_of,
)
from hashrange.neighbours.autoscaling.tags import Tags
from hashrange.neighbours.service import Handler, Parameters, Result, Scope, ServiceError
from hashrange.scaling.alarms import Alarms
from hashrange.scaling.schedules import Schedule, ScheduleError
from hashrange.scaling.store import Document, ScalingStore, World
from hashrange.scaling.worker import Capacities, next_due, parts_of, set_bounds

_SUSPENDED: Final = (
    "DynamicScalingInSuspended",
    "DynamicScalingOutSuspended",
    "ScheduledScalingSuspended",
)
_TRACKING: Final = "TargetTrackingScalingPolicyConfiguration"
_ACTIONS_MAX: Final = 200


@final
class _Operations:
    """The handlers; what they keep is in the store."""

    def __init__(
        self,
        store: ScalingStore,
        capacities: Capacities,
        alarms: Alarms | None,
        *,
        is_measuring: bool,
    ) -> None:
        self._is_measuring = is_measuring
        self._store = store
        self._capacities = capacities
        self._alarms = alarms

    async def register_target(self, scope: Scope, parameters: Parameters) -> Result:
        resource, dimension = read_target(parameters)
        world, now, id = world_of(scope), scope.clock.now(), uuid4().hex
        given = {
            member: parameters[member]
            for member in ("MinCapacity", "MaxCapacity")
            if parameters.get(member) is not None
        }
        if any(units < 1 for units in given.values()):
            raise invalid("Capacity cannot be less than 1")
        await self._check_provisioned(world, resource, dimension)

        def edit(target: Document | None) -> Document:
            if target is None:
                if len(given) < 2:
                    raise invalid("Minimum and maximum capacity must be specified")
                target = _new_target(scope, resource, dimension, now, id)
                target["Tags"] = parameters.get("Tags") or {}
            bounds = {**_bounds(target), **given}
            if bounds["MinCapacity"] > bounds["MaxCapacity"]:
                raise invalid("Maximum capacity cannot be less than minimum capacity")
            set_bounds(target, given)
            if parameters.get("RoleARN"):
                target["RoleARN"] = parameters["RoleARN"]
            target["SuspendedState"] |= parameters.get("SuspendedState") or {}
            return target

        registered = await self._store.change(world, resource, dimension, edit)
        assert registered is not None
        return {"ScalableTargetARN": registered["ScalableTargetARN"]}

    async def _check_provisioned(self, world: World, resource: str, dimension: str) -> None:
        target = {"ResourceId": resource, "ScalableDimension": dimension}
        table, index, _ = parts_of(target)
        if await self._capacities.capacity(world, table, index) is None:
            raise invalid(
                f"DynamoDB table or index with provisioned capacity does not exist: {resource}"
            )

    async def deregister_target(self, scope: Scope, parameters: Parameters) -> Result:
        world, (resource, dimension) = world_of(scope), read_target(parameters)
        target = await self._find(world, resource, dimension)
        await self._store.change(world, resource, dimension, lambda known: None)
        await self._drop_alarms(world, target)
        return {}

    async def describe_targets(self, scope: Scope, parameters: Parameters) -> Result:
        found = [show_target(target) for target in await self._select(scope, parameters)]
        return page("ScalableTargets", found, parameters)

    async def put_policy(self, scope: Scope, parameters: Parameters) -> Result:
        world, (resource, dimension) = world_of(scope), read_target(parameters)
        if parameters.get("PolicyType") != "TargetTrackingScaling":
            raise invalid("Only TargetTrackingScaling is supported for DynamoDB")
        if not self._is_measuring:
            raise invalid("This server keeps no metrics that a policy could follow")
        configuration = parameters.get(_TRACKING)
        if configuration is None:
            raise invalid(f"{_TRACKING} must be specified")
        _check_tracking(configuration, dimension)
        name, now = parameters["PolicyName"], scope.clock.now()
        policy_id, alarm_ids = str(uuid4()), [str(uuid4()) for _ in range(4)]
        arn = (
            f"arn:aws:autoscaling:{scope.region}:{scope.account}:scalingPolicy:{policy_id}:"
            f"resource/{NAMESPACE}/{resource}:policyName/{name}"
        )
        replaced: list[Document] = []

        def edit(known: Document) -> None:
            replaced.clear()
            old = known.get("Policy")
            if old is not None and old["PolicyName"] != name:
                # A dimension has one policy: another name takes its place.
                replaced.append({"Policy": old})
                old = None
            policy = old or {
                "PolicyName": name,
                "PolicyARN": arn,
                "CreationTime": now,
                "AlarmNames": new_alarm_names(resource, alarm_ids),
            }
            known["Policy"] = {**policy, _TRACKING: configuration}
            known.pop("AlarmUnits", None)

        target = await self._edit(world, resource, dimension, edit)
        for old in replaced:
            await self._drop_alarms(world, old)
        alarms = [] if self._alarms is None else show_alarms(world, target["Policy"])
        return {"PolicyARN": target["Policy"]["PolicyARN"], "Alarms": alarms}

    async def describe_policies(self, scope: Scope, parameters: Parameters) -> Result:
        names = parameters.get("PolicyNames")
        has_alarms = self._alarms is not None
        found = [
            show_policy(world_of(scope), target, has_alarms=has_alarms)
            for target in await self._select(scope, parameters)
            if target.get("Policy") and (not names or target["Policy"]["PolicyName"] in names)
        ]
        return page("ScalingPolicies", found, parameters)

    async def delete_policy(self, scope: Scope, parameters: Parameters) -> Result:
        world, (resource, dimension) = world_of(scope), read_target(parameters)
        name = parameters["PolicyName"]
        target = await self._find(world, resource, dimension)
        if target.get("Policy") is None or target["Policy"]["PolicyName"] != name:
            raise ServiceError(
                "ObjectNotFoundException",
                f"No scaling policy found for service namespace: {NAMESPACE}, resource ID: "
                f"{resource}, scalable dimension: {dimension}, policy name: {name}",
            )
        await self._edit(world, resource, dimension, lambda known: known.pop("Policy", None))
        await self._drop_alarms(world, target)
        return {}

    async def put_action(self, scope: Scope, parameters: Parameters) -> Result:
        world, (resource, dimension) = world_of(scope), read_target(parameters)
        name, now, id = parameters["ScheduledActionName"], scope.clock.now(), str(uuid4())
        arn = (
            f"arn:aws:autoscaling:{scope.region}:{scope.account}:scheduledAction:{id}:"
            f"resource/{NAMESPACE}/{resource}:scheduledActionName/{name}"
        )

        def edit(known: Document) -> None:
            actions = known["ScheduledActions"]
            old = actions.get(name) or {"ScheduledActionARN": arn, "CreationTime": now}
            if name not in actions and len(actions) >= _ACTIONS_MAX:
                raise ServiceError("LimitExceededException", "Too many scheduled actions")
            actions[name] = _scheduled(old, parameters, now)

        await self._edit(world, resource, dimension, edit)
        return {}

    async def describe_actions(self, scope: Scope, parameters: Parameters) -> Result:
        names = parameters.get("ScheduledActionNames")
        found = [
            show_action(target, name, action)
            for target in await self._select(scope, parameters)
            for name, action in target["ScheduledActions"].items()
            if not names or name in names
        ]
        return page("ScheduledActions", found, parameters)

    async def delete_action(self, scope: Scope, parameters: Parameters) -> Result:
        world, (resource, dimension) = world_of(scope), read_target(parameters)
        name = parameters["ScheduledActionName"]

        def edit(known: Document) -> None:
            if known["ScheduledActions"].pop(name, None) is None:
                raise ServiceError(
                    "ObjectNotFoundException",
                    f"No scheduled action found for service namespace: {NAMESPACE}, resource ID: "
                    f"{resource}, scheduled action name: {name}",
                )

        await self._edit(world, resource, dimension, edit)
        return {}

    async def describe_activities(self, scope: Scope, parameters: Parameters) -> Result:
        activities = await self._store.activities(world_of(scope), scope.clock.now())
        found = [show_activity(activity) for activity in select(activities, parameters)]
        return page("ScalingActivities", found, parameters)

    async def _select(self, scope: Scope, parameters: Parameters) -> list[Document]:
        check_namespace(parameters)
        targets = await self._store.targets(world_of(scope))
        return select([target for _, target in targets], parameters)

    async def _find(self, world: World, resource: str, dimension: str) -> Document:
        target = await self._store.get(world, resource, dimension)
        if target is None:
            raise not_registered(resource, dimension)
        return target

    async def _edit(
        self, world: World, resource: str, dimension: str, change: Callable[[Document], object]
    ) -> Document:
        """Change a target that is registered, and return it."""

        def edit(known: Document | None) -> Document:
            if known is None:
                raise not_registered(resource, dimension)
            change(known)
            return known

        target = await self._store.change(world, resource, dimension, edit)
        assert target is not None
        return target

    async def _drop_alarms(self, world: World, target: Document) -> None:
        policy = target.get("Policy")
        if policy is not None and self._alarms is not None:
            await self._alarms.delete(world, policy["AlarmNames"])


def _new_target(scope: Scope, resource: str, dimension: str, now: float, id: str) -> dict[str, Any]:
    arn = f"arn:aws:application-autoscaling:{scope.region}:{scope.account}:scalable-target/{id}"
    return {
        "ServiceNamespace": NAMESPACE,
        "ResourceId": resource,
        "ScalableDimension": dimension,
        "MinCapacity": 1,
        "MaxCapacity": 1,
        "RoleARN": ROLE.format(account=scope.account),
        "CreationTime": now,
        "SuspendedState": dict.fromkeys(_SUSPENDED, False),
        "ScalableTargetARN": arn,
        "ScheduledActions": {},
    }


def _bounds(target: Document) -> dict[str, int]:
    return {member: target[member] for member in ("MinCapacity", "MaxCapacity")}


def _check_tracking(configuration: dict[str, Any], dimension: str) -> None:
    """Refuse what target tracking of DynamoDB cannot do."""
    if configuration.get("CustomizedMetricSpecification") is not None:
        raise invalid("Customized metrics are not supported for DynamoDB")
    metric = (configuration.get("PredefinedMetricSpecification") or {}).get("PredefinedMetricType")
    kind = "Read" if "Read" in dimension else "Write"
    if metric != f"DynamoDB{kind}CapacityUtilization":
        raise invalid(f"Predefined metric type {metric} is not supported for {dimension}")
    if not 20 <= configuration["TargetValue"] <= 90:
        raise invalid("Target utilization must be between 20 and 90")


def _scheduled(old: Document, parameters: Parameters, now: float) -> Document:
    """Return a scheduled action; start and end that are not given are erased."""
    action = {
        **old,
        **{
            member: parameters[member]
            for member in ("Schedule", "Timezone")
            if parameters.get(member)
        },
    }
    if parameters.get("ScalableTargetAction") is not None:
        action["ScalableTargetAction"] = parameters["ScalableTargetAction"]
    bounds = action.get("ScalableTargetAction") or {}
    if not bounds:
        raise invalid("At least one of minimum capacity and maximum capacity should be provided")
    if bounds.get("MinCapacity", 0) > bounds.get("MaxCapacity", bounds.get("MinCapacity", 0)):
        raise invalid("Maximum capacity cannot be less than minimum capacity")
    for member in ("StartTime", "EndTime"):
        given: datetime | None = parameters.get(member)
        action[member] = None if given is None else given.timestamp()
    if action.get("Schedule") is None:
        raise invalid("Schedule must be specified")
    try:
        schedule = Schedule(action["Schedule"], action.get("Timezone", "UTC"))
    except ScheduleError as error:
        raise invalid(str(error)) from error
    action["NextAt"] = next_due(schedule, action, now)
    return action


def make_operations(
    store: ScalingStore, capacities: Capacities, alarms: Alarms | None, *, is_measuring: bool
) -> Mapping[str, Handler]:
    """Return the operations that are served, by name."""
    here = _Operations(store, capacities, alarms, is_measuring=is_measuring)
    tags = Tags(store)
    return {
        "DeleteScalingPolicy": here.delete_policy,
        "DeleteScheduledAction": here.delete_action,
        "DeregisterScalableTarget": here.deregister_target,
        "DescribeScalableTargets": here.describe_targets,
        "DescribeScalingActivities": here.describe_activities,
        "DescribeScalingPolicies": here.describe_policies,
        "DescribeScheduledActions": here.describe_actions,
        "ListTagsForResource": tags.list_tags,
        "PutScalingPolicy": here.put_policy,
        "PutScheduledAction": here.put_action,
        "RegisterScalableTarget": here.register_target,
        "TagResource": tags.tag,
        "UntagResource": tags.untag,
    }
