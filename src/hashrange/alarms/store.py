"""The store of alarms: their definitions, their states and what happened to them.

An alarm is a document in the words of the API, with times in seconds since the epoch. A change of
state, its line in the history and the actions it causes are written in one step, so that nothing is
forgotten when a process dies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, final

import orjson

from hashrange.alarms.documents import Document, Documents, Key, document_key, prefix_of
from hashrange.alarms.outbox import action_parcel, parcel_key
from hashrange.alarms.rules import ALARM, INSUFFICIENT, OK
from hashrange.clock import Clock

ALARMS: Final = "alarm"
HISTORY: Final = "history"
HISTORY_SECONDS: Final = 14 * 86_400
METRIC_ALARM: Final = "MetricAlarm"
COMPOSITE_ALARM: Final = "CompositeAlarm"

SCALING: Final = "arn:aws:autoscaling:"
"""What the actions that call scaling policies begin with."""

_ACTIONS: Final = {
    OK: "OKActions",
    ALARM: "AlarmActions",
    INSUFFICIENT: "InsufficientDataActions",
}
_INITIAL: Final = "Unchecked: Initial alarm creation"

World = tuple[str, str]
"""Account and region."""


def alarm_arn(world: World, name: str) -> str:
    """Return the ARN of an alarm."""
    return f"arn:aws:cloudwatch:{world[1]}:{world[0]}:alarm:{name}"


def alarm_key(world: World, name: str) -> Key:
    """Return where an alarm is."""
    return document_key(ALARMS, *world, name)


@final
class AlarmStore:
    """The alarms of all accounts."""

    def __init__(self, documents: Documents, clock: Clock) -> None:
        self._documents = documents
        self._clock = clock

    async def put(self, world: World, kind: str, definition: Document) -> None:
        """Create an alarm, or replace the definition of one and keep its state.

        The definition is a request to PutMetricAlarm or PutCompositeAlarm that was checked.
        """
        name = definition["AlarmName"]
        key, now = alarm_key(world, name), self._clock.now()

        def edit(rows: dict[Key, Document | None]) -> dict[Key, Document | None]:
            old = rows[key]
            verb = "created" if old is None else "updated"
            alarm = {
                "ActionsEnabled": True,
                "OKActions": [],
                "AlarmActions": [],
                "InsufficientDataActions": [],
                **definition,
                "Kind": kind,
                "AlarmArn": alarm_arn(world, name),
                "AlarmConfigurationUpdatedTimestamp": now,
            }
            for member, initial in (
                ("StateValue", INSUFFICIENT),
                ("StateReason", _INITIAL),
                ("StateReasonData", None),
                ("StateUpdatedTimestamp", now),
                ("StateTransitionedTimestamp", now),
                ("Tags", definition.get("Tags", [])),
            ):
                alarm[member] = initial if old is None else old.get(member, initial)
            line = _history(alarm, now, "ConfigurationUpdate", f'Alarm "{name}" {verb}', {})
            return {key: alarm, _history_key(world, name, now): line}

        await self._documents.change([key], edit)

    async def get(self, world: World, name: str) -> Document | None:
        """Return an alarm, None if there is none."""
        return await self._documents.get(alarm_key(world, name))

    async def listed(self, world: World | None = None) -> list[tuple[World, Document]]:
        """Return the alarms of an account's region, or all, in the order of their names."""
        rows = await self._documents.list(prefix_of(ALARMS, *(world or ())))
        return [(_world_of(key), alarm) for key, alarm in rows]

    async def delete(self, world: World, names: Sequence[str]) -> None:
        """Delete alarms; their history stays."""
        keys = [alarm_key(world, name) for name in names]
        now = self._clock.now()

        def edit(rows: dict[Key, Document | None]) -> dict[Key, Document | None]:
            changes: dict[Key, Document | None] = {}
            for key, alarm in rows.items():
                if alarm is not None:
                    name = alarm["AlarmName"]
                    changes[key] = None
                    line = _history(
                        alarm, now, "ConfigurationUpdate", f'Alarm "{name}" deleted', {}
                    )
                    changes[_history_key(world, name, now)] = line
            return changes

        await self._documents.change(keys, edit)

    async def edit(self, world: World, name: str, change: Callable[[Document], None]) -> bool:
        """Change an alarm in place; tell whether there is one."""
        key = alarm_key(world, name)
        if await self._documents.get(key) is None:
            return False

        def edit(rows: dict[Key, Document | None]) -> dict[Key, Document | None]:
            alarm = rows[key]
            if alarm is None:
                return {}
            change(alarm)
            return {key: alarm}

        await self._documents.change([key], edit)
        return True

    async def set_state(
        self, world: World, name: str, state: str, reason: str, reason_data: str | None = None
    ) -> None:
        """Set the state of an alarm; if it changes, its actions are due."""
        key, now = alarm_key(world, name), self._clock.now()

        def edit(rows: dict[Key, Document | None]) -> dict[Key, Document | None]:
            alarm = rows[key]
            if alarm is None:
                return {}
            before = alarm["StateValue"]
            changes: dict[Key, Document | None] = {key: alarm}
            old = {"stateValue": before, "stateReason": alarm["StateReason"]}
            alarm |= {
                "StateValue": state,
                "StateReason": reason,
                "StateReasonData": reason_data,
                "StateUpdatedTimestamp": now,
            }
            if before == state:
                return changes
            alarm["StateTransitionedTimestamp"] = now
            new = {"stateValue": state, "stateReason": reason}
            summary = f"Alarm updated from {before} to {state}"
            data = {"version": "1.0", "oldState": old, "newState": new}
            changes[_history_key(world, name, now)] = _history(
                alarm, now, "StateUpdate", summary, data
            )
            if alarm["ActionsEnabled"]:
                for number, action in enumerate(alarm[_ACTIONS[state]]):
                    parcel = action_parcel(world, alarm, before, action, now)
                    changes[parcel_key(now, f"{world}{name}{state}{number}")] = parcel
            return changes

        await self._documents.change([key], edit)

    async def repeat_scaling(self, world: World, alarm: Document) -> None:
        """Cause the scaling actions of an alarm again, as long as its state holds."""
        if not alarm["ActionsEnabled"]:
            return
        now, state = self._clock.now(), alarm["StateValue"]
        for action in alarm[_ACTIONS[state]]:
            if action.startswith(SCALING):
                parcel = action_parcel(world, alarm, state, action, now)
                await self._documents.put(parcel_key(now, f"{world}{action}"), parcel)

    async def note_action(self, world: World, alarm: Document, action: str, outcome: str) -> None:
        """Note in the history that an action was carried out, or that it failed."""
        now = self._clock.now()
        line = _history(alarm, now, "Action", f"{outcome} action {action}", {})
        await self._documents.put(_history_key(world, alarm["AlarmName"], now, action), line)

    async def history(self, world: World, name: str | None) -> list[Document]:
        """Return what happened to an alarm, or to all of a region, oldest first."""
        parts = (HISTORY, *world) if name is None else (HISTORY, *world, name)
        rows = await self._documents.list(prefix_of(*parts))
        since = self._clock.now() - HISTORY_SECONDS
        lines = [line for _, line in rows if line["Timestamp"] >= since]
        return sorted(lines, key=lambda line: line["Timestamp"])

    async def drop_old_history(self) -> int:
        """Delete what happened too long ago; return how much."""
        since = self._clock.now() - HISTORY_SECONDS
        rows = await self._documents.list(prefix_of(HISTORY))
        old = [key for key, line in rows if line["Timestamp"] < since]
        await self._documents.delete(old[:500])
        return len(old[:500])


def _world_of(key: Key) -> World:
    _, account, region, _ = key.decode().split("\x00", 3)
    return account, region


def _history_key(world: World, name: str, now: float, part: str = "") -> Key:
    return document_key(HISTORY, *world, name, f"{now:020.6f}", part)


def _history(
    alarm: Document, now: float, type: str, summary: str, data: dict[str, Any]
) -> Document:
    return {
        "AlarmName": alarm["AlarmName"],
        "AlarmType": alarm["Kind"],
        "Timestamp": now,
        "HistoryItemType": type,
        "HistorySummary": summary,
        "HistoryData": orjson.dumps(data or {"version": "1.0", "type": "Update"}).decode(),
    }
