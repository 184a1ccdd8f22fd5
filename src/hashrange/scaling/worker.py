"""Does what automatic scaling is due to do: bounds, scheduled actions and policies.

Every step looks at all targets. Capacity is changed through UpdateTable, as a user would. What was
done, or could not be, is written down as an activity. What has to be known later (when a schedule
is due, which minute was looked at, when capacity was changed) is kept in the target, so another
process can go on. Work done twice asks for a capacity that is there already, which changes nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Final, Protocol, final
from uuid import uuid4

from hashrange.clock import Clock
from hashrange.errors import ClientError
from hashrange.scaling.alarms import Alarms, alarm_definitions, metric_name
from hashrange.scaling.schedules import Schedule
from hashrange.scaling.store import Document, ScalingStore, World
from hashrange.scaling.target_tracking import (
    HIGH_MINUTES,
    LOW_MINUTES,
    MINUTE_SECONDS,
    Tracking,
    bounded,
    is_cooling,
    low_threshold,
    wanted_capacity,
)

_LOGGER: Final = logging.getLogger("hashrange.scaling")
# How long after a minute its consumption is complete: processes write theirs with a delay.
SETTLED_SECONDS: Final = 10
METRIC_ALARM: Final = "MetricAlarm"


class Consumption(Protocol):
    """Tells what was consumed."""

    async def consumed(
        self,
        world: World,
        table: str,
        index: str | None,
        name: str,
        span: tuple[float, float],
    ) -> float:
        """Return the sum of a metric over a span of time, in full minutes."""


class Capacities(Protocol):
    """Reads and changes the provisioned capacity of tables and global indexes."""

    async def capacity(self, world: World, table: str, index: str | None) -> dict[str, int] | None:
        """Return ReadCapacityUnits and WriteCapacityUnits, None if nothing is provisioned."""

    async def set_capacity(
        self, world: World, table: str, index: str | None, units: dict[str, int]
    ) -> None:
        """Change both units; raises what UpdateTable answers with."""


def parts_of(target: Document) -> tuple[str, str | None, str]:
    """Return table, index and the member of capacity of a target."""
    _, table, *index = target["ResourceId"].split("/")
    return table, index[1] if index else None, target["ScalableDimension"].rpartition(":")[2]


@final
class ScalingWorker:
    """The background work of automatic scaling; see the module."""

    def __init__(
        self,
        store: ScalingStore,
        clock: Clock,
        capacities: Capacities,
        consumption: Consumption | None,
        alarms: Alarms | None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._capacities = capacities
        self._consumption = consumption
        self._alarms = alarms
        self._empty_as_of = -1  # the counter as of which there was no target

    async def step(self) -> int:
        """Do what is due; return how many targets were changed."""
        counter = self._store.counter()
        if counter == self._empty_as_of:
            return 0
        targets = await self._store.targets()
        self._empty_as_of = -1 if targets else counter
        done = 0
        for world, target in targets:
            try:
                done += await self._attend(world, target)
            except ClientError as error:
                _LOGGER.warning("%s could not be scaled: %s", target["ResourceId"], error)
        return done

    async def on_alarm(self, world: World, policy_arn: str, alarm: Document) -> None:
        """Look at the target of a policy whose alarm went off, if that is still to be done."""
        for _, target in await self._store.targets(world):
            policy = target.get("Policy")
            if policy is not None and policy["PolicyARN"] == policy_arn:
                try:
                    await self._attend(world, target)
                except ClientError as error:
                    _LOGGER.warning("%s could not be scaled: %s", target["ResourceId"], error)

    async def _attend(self, world: World, target: Document) -> bool:
        now = self._clock.now()
        changed = await self._run_schedules(world, target, now)
        if target.get("BoundsCause"):
            changed |= await self._keep_bounds(world, target)
        if self._consumption is None:
            return changed
        minute = int(now - SETTLED_SECONDS) // MINUTE_SECONDS
        if target.get("Policy") and minute > target.get("SeenMinute", 0):
            await self._follow_policy(self._consumption, world, target, minute * MINUTE_SECONDS)
            await self._edit(world, target, lambda known: known.update(SeenMinute=minute))
        return changed

    async def _run_schedules(self, world: World, target: Document, now: float) -> bool:
        """Carry out the scheduled actions that are due: they set new bounds."""
        is_changed = False
        for name, action in list(target["ScheduledActions"].items()):
            due_at = action.get("NextAt")
            if due_at is None or due_at > now:
                continue
            is_suspended = target["SuspendedState"]["ScheduledScalingSuspended"]
            schedule = Schedule(action["Schedule"], action.get("Timezone", "UTC"))
            following = next_due(schedule, action, now)
            bounds = {} if is_suspended else action.get("ScalableTargetAction", {})

            def run(
                known: Document,
                name: str = name,
                bounds: dict[str, int] = bounds,
                following: float | None = following,
            ) -> None:
                if name in known["ScheduledActions"]:
                    known["ScheduledActions"][name]["NextAt"] = following
                    set_bounds(known, bounds)

            await self._edit(world, target, run)
            is_changed = True
        return is_changed

    async def _keep_bounds(self, world: World, target: Document) -> bool:
        """Bring the capacity within the bounds after they were changed."""
        table, index, member = parts_of(target)
        units = await self._capacities.capacity(world, table, index)
        cause = target["BoundsCause"]
        await self._edit(world, target, lambda known: known.pop("BoundsCause", None))
        if units is None:
            return False
        wanted = bounded(units[member], target["MinCapacity"], target["MaxCapacity"])
        if wanted != units[member]:
            await self._set(world, target, units | {member: wanted}, cause)
        return True

    async def _follow_policy(
        self, consumption: Consumption, world: World, target: Document, until: int
    ) -> None:
        """Look at the last complete minutes and change the capacity if that is needed."""
        table, index, member = parts_of(target)
        units = await self._capacities.capacity(world, table, index)
        if units is None:
            return
        await self._put_alarms(world, target, units[member])
        tracking = tracking_of(target)
        minutes = await _minutes(consumption, world, target, units[member], until)
        wanted = wanted_capacity(tracking, units[member], minutes)
        now = self._clock.now()
        last: dict[str, float] = target.get("LastChanges", {})
        if wanted is None or is_cooling(tracking, wanted[0], last, now):
            return
        direction, capacity = wanted
        suspended = target["SuspendedState"]
        if suspended[f"DynamicScaling{direction.capitalize()}Suspended"]:
            return
        policy = target["Policy"]
        alarm = policy["AlarmNames"][0 if direction == "out" else 1]
        cause = f"monitor alarm {alarm} in state ALARM triggered policy {policy['PolicyName']}"
        if await self._set(world, target, units | {member: capacity}, cause):
            changes = {**last, direction: now}
            await self._edit(world, target, lambda known: known.update(LastChanges=changes))
            await self._put_alarms(world, target, capacity)

    async def _put_alarms(self, world: World, target: Document, provisioned: int) -> None:
        """Make the alarms of the policy, or have their thresholds follow the capacity."""
        if self._alarms is None or target.get("AlarmUnits") == provisioned:
            return
        for definition in alarm_definitions(target, provisioned):
            await self._alarms.put(world, METRIC_ALARM, definition)
        target["AlarmUnits"] = provisioned
        await self._edit(world, target, lambda known: known.update(AlarmUnits=provisioned))

    async def _set(self, world: World, target: Document, units: dict[str, int], cause: str) -> bool:
        """Change the capacity, and write down that it was changed or why not."""
        table, index, member = parts_of(target)
        kind = "read" if member.startswith("Read") else "write"
        text = f"{kind} capacity units to {units[member]}."
        activity: dict[str, Any] = {
            "ActivityId": str(uuid4()),
            "ServiceNamespace": "dynamodb",
            "ResourceId": target["ResourceId"],
            "ScalableDimension": target["ScalableDimension"],
            "Description": f"Setting {text}",
            "Cause": cause,
            "StartTime": self._clock.now(),
        }
        try:
            await self._capacities.set_capacity(world, table, index, units)
        except ClientError as error:
            activity["StatusCode"] = "Failed"
            activity["StatusMessage"] = f"Failed to set {text} Reason: {error.message}"
        else:
            activity["StatusCode"] = "Successful"
            activity["StatusMessage"] = (
                f"Successfully set {text} Change successfully fulfilled by dynamodb."
            )
        activity["EndTime"] = self._clock.now()
        await self._store.add_activity(world, activity)
        return bool(activity["StatusCode"] == "Successful")

    async def _edit(
        self, world: World, target: Document, change: Callable[[Document], object]
    ) -> None:
        """Change a target that is still registered, and the copy of it that is at hand."""

        def edit(known: Document | None) -> Document | None:
            if known is not None:
                change(known)
            return known

        await self._store.change(world, target["ResourceId"], target["ScalableDimension"], edit)
        change(target)


def set_bounds(target: Document, bounds: dict[str, int]) -> None:
    """Set the bounds of a target, and note that its capacity has to be brought within them."""
    lowest = int(bounds.get("MinCapacity") or target["MinCapacity"])
    highest = int(bounds.get("MaxCapacity") or target["MaxCapacity"])
    if "MaxCapacity" in bounds and "MinCapacity" not in bounds:
        lowest = min(lowest, highest)
    if "MinCapacity" in bounds and "MaxCapacity" not in bounds:
        highest = max(lowest, highest)
    target["MinCapacity"], target["MaxCapacity"] = lowest, highest
    if bounds:
        target["BoundsCause"] = (
            f"minimum capacity was set to {lowest} and maximum capacity was set to {highest}"
        )


def next_due(schedule: Schedule, action: Document, now: float) -> float | None:
    """Return when a scheduled action is due next, within its start and end."""
    start = action.get("StartTime")
    began = action["CreationTime"] if start is None else start
    following = schedule.next_after(now if start is None else max(now, start - 1), began)
    end = action.get("EndTime")
    return None if following is None or (end is not None and following > end) else following


def tracking_of(target: Document) -> Tracking:
    """Return the rule of a target's policy."""
    configuration = target["Policy"]["TargetTrackingScalingPolicyConfiguration"]
    return Tracking(
        configuration["TargetValue"],
        target["MinCapacity"],
        target["MaxCapacity"],
        scales_in=not configuration.get("DisableScaleIn", False),
        out_cooldown=float(configuration.get("ScaleOutCooldown", 0)),
        in_cooldown=float(configuration.get("ScaleInCooldown", 0)),
    )


async def _minutes(
    consumption: Consumption, world: World, target: Document, provisioned: int, until: int
) -> list[float]:
    """Return the consumption of the minutes that can decide: two, or fifteen if all may be low."""
    table, index, _ = parts_of(target)
    name = metric_name(target["ScalableDimension"])

    async def consumed(ago: int, count: int) -> float:
        begin = until - ago * MINUTE_SECONDS
        span = (float(begin), float(begin + count * MINUTE_SECONDS))
        return await consumption.consumed(world, table, index, name, span)

    total = await consumed(LOW_MINUTES, LOW_MINUTES)
    is_known = target["Policy"]["CreationTime"] <= until - LOW_MINUTES * MINUTE_SECONDS
    is_low = total < LOW_MINUTES * low_threshold(tracking_of(target).target, provisioned)
    count = LOW_MINUTES if is_known and is_low else HIGH_MINUTES
    return [await consumed(count - number, 1) for number in range(count)]
