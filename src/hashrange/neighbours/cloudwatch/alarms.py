"""The operations on alarms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, final

import orjson

from hashrange.alarms.composite import CompositeRule, RuleError
from hashrange.alarms.documents import Document
from hashrange.alarms.evaluation import Evaluator
from hashrange.alarms.store import COMPOSITE_ALARM, METRIC_ALARM, AlarmStore, World
from hashrange.neighbours.cloudwatch.alarm_checks import check_actions, check_alarm
from hashrange.neighbours.cloudwatch.requests import (
    invalid_combination,
    invalid_value,
    moment,
    page,
    validation_error,
)
from hashrange.neighbours.service import Handler, Parameters, Result, Scope, ServiceError

_PAGE_MAX: Final = 100
_TIMES: Final = (
    *("AlarmConfigurationUpdatedTimestamp", "StateUpdatedTimestamp"),
    "StateTransitionedTimestamp",
)
_HIDDEN: Final = ("Kind", "Tags")
_SUPPRESSION: Final = (
    *("ActionsSuppressor", "ActionsSuppressorWaitPeriod", "ActionsSuppressorExtensionPeriod"),
)


def _world(scope: Scope) -> World:
    return scope.account, scope.region


def _show(alarm: Document) -> Result:
    shown = {
        name: value for name, value in alarm.items() if name not in _HIDDEN and value is not None
    }
    for name in _TIMES:
        shown[name] = moment(shown[name])
    return shown


@final
class Alarms:
    """Operations on metric and composite alarms."""

    def __init__(self, store: AlarmStore, evaluator: Evaluator) -> None:
        self._store = store
        self._evaluator = evaluator

    async def put_metric_alarm(self, scope: Scope, parameters: Parameters) -> Result:
        """Create or replace an alarm, and evaluate it at once."""
        check_alarm(parameters)
        await self._put(scope, METRIC_ALARM, parameters)
        return {}

    async def put_composite_alarm(self, scope: Scope, parameters: Parameters) -> Result:
        """Create or replace an alarm on other alarms, which must exist."""
        for member in _SUPPRESSION:
            if member in parameters:
                raise invalid_value(f"The parameter {member} is not supported.")
        check_actions(parameters)
        try:
            rule = CompositeRule(parameters["AlarmRule"])
        except RuleError as error:
            raise validation_error(str(error)) from error
        for child in rule.children:
            if child == parameters["AlarmName"] or await self._depends(scope, child, parameters):
                raise validation_error("AlarmRule must not depend on the alarm itself")
            if await self._store.get(_world(scope), child) is None:
                raise validation_error(
                    f"Could not save the composite alarm as alarms [{child}] in "
                    "the alarm rule do not exist"
                )
        await self._put(scope, COMPOSITE_ALARM, parameters)
        return {}

    async def _depends(self, scope: Scope, name: str, parameters: Parameters) -> bool:
        """Tell whether an alarm depends on the one that is being made."""
        waiting, seen = [name], set[str]()
        while waiting:
            child = waiting.pop()
            alarm = await self._store.get(_world(scope), child)
            if child in seen or alarm is None or alarm["Kind"] != COMPOSITE_ALARM:
                continue
            seen.add(child)
            waiting += CompositeRule(alarm["AlarmRule"]).children
            if parameters["AlarmName"] in waiting:
                return True
        return False

    async def _put(self, scope: Scope, kind: str, parameters: Parameters) -> None:
        name, world = parameters["AlarmName"], _world(scope)
        old = await self._store.get(world, name)
        if old is not None and old["Kind"] != kind:
            raise validation_error(f"An alarm of another kind has the name {name}")
        await self._store.put(world, kind, parameters)
        await self._evaluator.evaluate_all(world, name)

    async def describe_alarms(self, scope: Scope, parameters: Parameters) -> Result:
        """Return alarms by name, prefix, state or relation; metric alarms unless asked for more."""
        names, prefix = parameters.get("AlarmNames"), parameters.get("AlarmNamePrefix")
        if names is not None and prefix is not None:
            raise invalid_combination(
                "The parameters AlarmNames and AlarmNamePrefix are mutually exclusive and you have "
                "specified both."
            )
        kinds = parameters.get("AlarmTypes") or [METRIC_ALARM]
        related = await self._related(scope, parameters)
        if related is not None:
            kinds = [METRIC_ALARM, COMPOSITE_ALARM]
        alarms = [
            alarm
            for _, alarm in await self._store.listed(_world(scope))
            if alarm["Kind"] in kinds
            and (names is None or alarm["AlarmName"] in names)
            and alarm["AlarmName"].startswith(prefix or "")
            and parameters.get("StateValue") in (None, alarm["StateValue"])
            and _has_action(alarm, parameters.get("ActionPrefix"))
            and (related is None or alarm["AlarmName"] in related)
        ]
        size = parameters.get("MaxRecords", 50)
        chosen, token = page(alarms, parameters, size)
        return {
            "MetricAlarms": [_show(alarm) for alarm in chosen if alarm["Kind"] == METRIC_ALARM],
            "CompositeAlarms": [
                _show(alarm) for alarm in chosen if alarm["Kind"] == COMPOSITE_ALARM
            ],
            **token,
        }

    async def _related(self, scope: Scope, parameters: Parameters) -> set[str] | None:
        """Return the children or parents of an alarm that are asked for."""
        child, parent = parameters.get("ParentsOfAlarmName"), parameters.get("ChildrenOfAlarmName")
        if child is None and parent is None:
            return None
        found: set[str] = set()
        for _, alarm in await self._store.listed(_world(scope)):
            if alarm["Kind"] == COMPOSITE_ALARM:
                children = CompositeRule(alarm["AlarmRule"]).children
                if alarm["AlarmName"] == parent:
                    found.update(children)
                if child in children:
                    found.add(alarm["AlarmName"])
        return found

    async def describe_alarms_for_metric(self, scope: Scope, parameters: Parameters) -> Result:
        """Return the alarms on one metric, with the same dimensions."""
        wanted = _dimensions(parameters)
        members = ("Namespace", "MetricName", "Statistic", "ExtendedStatistic", "Period", "Unit")
        alarms = [
            alarm
            for _, alarm in await self._store.listed(_world(scope))
            if alarm["Kind"] == METRIC_ALARM
            and _dimensions(alarm) == wanted
            and all(alarm.get(name) == parameters[name] for name in members if name in parameters)
        ]
        return {"MetricAlarms": [_show(alarm) for alarm in alarms]}

    async def delete_alarms(self, scope: Scope, parameters: Parameters) -> Result:
        """Delete alarms; at most one composite alarm, and none that another depends on."""
        names = parameters["AlarmNames"]
        alarms = [alarm for _, alarm in await self._store.listed(_world(scope))]
        chosen = [alarm for alarm in alarms if alarm["AlarmName"] in names]
        if not chosen and names:
            raise ServiceError("ResourceNotFound", f"Alarm {names[0]} does not exist", status=404)
        composites = [alarm for alarm in chosen if alarm["Kind"] == COMPOSITE_ALARM]
        if len(composites) > 1:
            raise validation_error("You can delete only one composite alarm at a time")
        for alarm in alarms:
            if alarm["Kind"] == COMPOSITE_ALARM and alarm["AlarmName"] not in names:
                needed = set(CompositeRule(alarm["AlarmRule"]).children) & set(names)
                if needed:
                    raise validation_error(
                        f"Alarm {min(needed)} cannot be deleted as composite alarm "
                        f"{alarm['AlarmName']} depends on it"
                    )
        await self._store.delete(_world(scope), names)
        return {}

    async def set_alarm_state(self, scope: Scope, parameters: Parameters) -> Result:
        """Set the state of an alarm until it is next evaluated; actions follow as they would."""
        data = parameters.get("StateReasonData")
        if data is not None:
            try:
                orjson.loads(data)
            except orjson.JSONDecodeError:
                raise ServiceError(
                    "InvalidFormatFault", "StateReasonData must be valid JSON"
                ) from None
        name = parameters["AlarmName"]
        if await self._store.get(_world(scope), name) is None:
            raise ServiceError("ResourceNotFound", f"Alarm {name} does not exist", status=404)
        await self._store.set_state(
            _world(scope), name, parameters["StateValue"], parameters["StateReason"], data
        )
        await self._evaluator.evaluate_composites()
        return {}

    async def enable_alarm_actions(self, scope: Scope, parameters: Parameters) -> Result:
        return await self._enable(scope, parameters, is_enabled=True)

    async def disable_alarm_actions(self, scope: Scope, parameters: Parameters) -> Result:
        return await self._enable(scope, parameters, is_enabled=False)

    async def _enable(self, scope: Scope, parameters: Parameters, *, is_enabled: bool) -> Result:
        def change(alarm: Document) -> None:
            alarm["ActionsEnabled"] = is_enabled

        for name in parameters["AlarmNames"]:
            await self._store.edit(_world(scope), name, change)
        return {}

    async def describe_alarm_history(self, scope: Scope, parameters: Parameters) -> Result:
        """Return what happened to alarms in the last two weeks, newest first by default."""
        lines = await self._store.history(_world(scope), parameters.get("AlarmName"))
        kinds = parameters.get("AlarmTypes") or [METRIC_ALARM]
        if "AlarmName" in parameters and "AlarmTypes" not in parameters:
            kinds = [METRIC_ALARM, COMPOSITE_ALARM]
        chosen = [
            line
            for line in lines
            if line["AlarmType"] in kinds
            and parameters.get("HistoryItemType") in (None, line["HistoryItemType"])
            and _is_between(line["Timestamp"], parameters)
        ]
        if parameters.get("ScanBy") != "TimestampAscending":
            chosen.reverse()
        shown, token = page(chosen, parameters, parameters.get("MaxRecords", _PAGE_MAX))
        items = [{**line, "Timestamp": moment(line["Timestamp"])} for line in shown]
        return {"AlarmHistoryItems": items, **token}

    async def tag_resource(self, scope: Scope, parameters: Parameters) -> Result:
        added = {tag["Key"]: tag["Value"] for tag in parameters["Tags"]}

        def change(alarm: Document) -> None:
            tags = {tag["Key"]: tag["Value"] for tag in alarm["Tags"]} | added
            alarm["Tags"] = [{"Key": key, "Value": value} for key, value in tags.items()]

        await self._retag(scope, parameters, change)
        return {}

    async def untag_resource(self, scope: Scope, parameters: Parameters) -> Result:
        def change(alarm: Document) -> None:
            alarm["Tags"] = [
                tag for tag in alarm["Tags"] if tag["Key"] not in parameters["TagKeys"]
            ]

        await self._retag(scope, parameters, change)
        return {}

    async def list_tags(self, scope: Scope, parameters: Parameters) -> Result:
        alarm = await self._store.get(_world(scope), _name_of(parameters["ResourceARN"]))
        if alarm is None:
            raise _no_resource(parameters)
        return {"Tags": alarm["Tags"]}

    async def _retag(self, scope: Scope, parameters: Parameters, change: Any) -> None:
        if not await self._store.edit(_world(scope), _name_of(parameters["ResourceARN"]), change):
            raise _no_resource(parameters)

    def operations(self) -> Mapping[str, Handler]:
        return {
            "DeleteAlarms": self.delete_alarms,
            "DescribeAlarmHistory": self.describe_alarm_history,
            "DescribeAlarms": self.describe_alarms,
            "DescribeAlarmsForMetric": self.describe_alarms_for_metric,
            "DisableAlarmActions": self.disable_alarm_actions,
            "EnableAlarmActions": self.enable_alarm_actions,
            "ListTagsForResource": self.list_tags,
            "PutCompositeAlarm": self.put_composite_alarm,
            "PutMetricAlarm": self.put_metric_alarm,
            "SetAlarmState": self.set_alarm_state,
            "TagResource": self.tag_resource,
            "UntagResource": self.untag_resource,
        }


def _name_of(arn: str) -> str:
    return arn.partition(":alarm:")[2]


def _no_resource(parameters: Parameters) -> ServiceError:
    return ServiceError(
        "ResourceNotFoundException", f"{parameters['ResourceARN']} does not exist", status=404
    )


def _dimensions(holder: Parameters) -> set[tuple[str, str]]:
    return {(pair["Name"], pair["Value"]) for pair in holder.get("Dimensions") or ()}


def _has_action(alarm: Document, prefix: str | None) -> bool:
    actions = [*alarm["OKActions"], *alarm["AlarmActions"], *alarm["InsufficientDataActions"]]
    return prefix is None or any(action.startswith(prefix) for action in actions)


def _is_between(time: float, parameters: Parameters) -> bool:
    start, end = parameters.get("StartDate"), parameters.get("EndDate")
    is_late = start is None or time >= start.timestamp()
    return is_late and (end is None or time <= end.timestamp())
