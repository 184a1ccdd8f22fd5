"""Delivers what waits in the outbox: actions of alarms, messages to endpoints and functions.

An action is turned into what it stands for: a message to a topic, a call of a function, a request
to a webhook, or a call of a scaling policy. What could not be delivered is tried again, some times.
The outbox is read when the engine's change counter has moved or a parcel is due, and now and then.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final, final

from hashrange.alarms.documents import OUTBOX, Document, Documents, Key, prefix_of
from hashrange.alarms.messages import event_of, message_of, subject_of
from hashrange.alarms.outbox import (
    ATTEMPTS_MAX,
    RETRY_SECONDS,
    function_parcel,
    http_parcel,
    parcel_key,
)
from hashrange.alarms.store import SCALING, AlarmStore, World
from hashrange.alarms.topics import Message, TopicStore
from hashrange.clock import Clock
from hashrange.services.triggers.functions import Functions
from hashrange.services.triggers.http_client import HttpError, post
from hashrange.services.triggers.targets import Invocation

_LOGGER: Final = logging.getLogger("hashrange.alarms")
_POST_SECONDS_MAX: Final = 15.0
_AT_ONCE_MAX: Final = 16
# Where the counter moves late, a parcel waits no longer than this.
_LOOK_SECONDS: Final = 5.0

Scale = Callable[[World, str, Document], Awaitable[None]]
"""Carries out a scaling policy, given by its ARN, for an alarm."""


class UndeliveredError(Exception):
    """A parcel was not taken; the message says why."""


@final
class Deliveries:
    """Sends parcels; one process runs it. `scale` is there where scaling policies are served."""

    def __init__(
        self,
        documents: Documents,
        alarms: AlarmStore,
        topics: TopicStore,
        functions: Functions,
        clock: Clock,
    ) -> None:
        self._documents = documents
        self._alarms = alarms
        self._topics = topics
        self._functions = functions
        self._clock = clock
        self.scale: Scale | None = None
        self._turn = asyncio.Lock()
        self._counter = -1
        self._look_at = 0.0

    async def step(self) -> int:
        """Send the parcels that are due; return how many were."""
        async with self._turn:
            now, counter = self._clock.now(), self._documents.counter()
            if counter == self._counter and now < self._look_at:
                return 0
            waiting = await self._documents.list(prefix_of(OUTBOX))
            due = [(key, parcel) for key, parcel in waiting if parcel["DueAt"] <= now]
            await asyncio.gather(*(self._send(key, parcel) for key, parcel in due[:_AT_ONCE_MAX]))
            # Those that wait for another attempt have moved the counter.
            later = [parcel["DueAt"] for _, parcel in waiting if parcel["DueAt"] > now]
            self._look_at = min([*later, now + _LOOK_SECONDS])
            self._counter = counter if len(due) <= _AT_ONCE_MAX else -1
            return len(due)

    async def _send(self, key: Key, parcel: Document) -> None:
        try:
            await self._deliver(parcel)
        except UndeliveredError as error:
            parcel["Attempts"] += 1
            if parcel["Attempts"] < ATTEMPTS_MAX and parcel["Kind"] != "action":
                parcel["DueAt"] = self._clock.now() + RETRY_SECONDS
                await self._documents.put(key, parcel)
                return
            _LOGGER.warning("%s was not delivered: %s", _name_of(parcel), error)
            if parcel["Kind"] == "action":
                await self._note(parcel, "Failed to execute")
        else:
            if parcel["Kind"] == "action":
                await self._note(parcel, "Successfully executed")
        await self._documents.delete([key])

    async def _note(self, parcel: Document, outcome: str) -> None:
        world = (parcel["World"][0], parcel["World"][1])
        await self._alarms.note_action(world, parcel["Alarm"], parcel["Action"], outcome)

    async def _deliver(self, parcel: Document) -> None:
        if parcel["Kind"] == "http":
            await _post(parcel["Url"], parcel["Body"], parcel["Headers"])
        elif parcel["Kind"] == "function":
            world = (parcel["World"][0], parcel["World"][1])
            event = parcel["Event"].encode()
            outcome = await self._functions.invoke(world, parcel["Function"], Invocation(event))
            if outcome.error is not None:
                raise UndeliveredError(outcome.error)
        else:
            await self._act(parcel)

    async def _act(self, parcel: Document) -> None:
        """Turn the action of an alarm into what it stands for."""
        world: World = (parcel["World"][0], parcel["World"][1])
        action, alarm = parcel["Action"], parcel["Alarm"]
        before, at = parcel["Before"], parcel["At"]
        if action.startswith("arn:aws:sns:"):
            message = Message(message_of(world, alarm, before, at), subject_of(world, alarm))
            identity = f"{alarm['AlarmArn']}{at}"
            if await self._topics.publish(action, message, identity) is None:
                raise UndeliveredError(f"there is no topic {action}")
        elif action.startswith("arn:aws:lambda:"):
            name = action.split(":function:")[-1].split(":")[0]
            await self._enqueue(function_parcel(world, name, _event(world, parcel), at), action)
        elif action.startswith(SCALING):
            if self.scale is None:
                raise UndeliveredError("no scaling policies are served")
            await self.scale(world, action, alarm)
        else:
            headers = {"Content-Type": "application/json"}
            body = message_of(world, alarm, before, at)
            await self._enqueue(http_parcel(action, body, headers, at), action)

    async def _enqueue(self, parcel: Document, identity: str) -> None:
        now = self._clock.now()
        await self._documents.put(parcel_key(now, identity), parcel)


def _event(world: World, parcel: Document) -> dict[str, Any]:
    return event_of(world, parcel["Alarm"], parcel["Before"], parcel["At"])


def _name_of(parcel: Document) -> str:
    name: str = parcel.get("Url") or parcel.get("Function") or parcel["Action"]
    return name


async def _post(url: str, body: str, headers: dict[str, str]) -> None:
    try:
        async with asyncio.timeout(_POST_SECONDS_MAX):
            status, _ = await post(url, body.encode(), headers)
    except (OSError, HttpError, TimeoutError) as error:
        raise UndeliveredError(str(error) or type(error).__name__) from error
    if not 200 <= status < 300:
        raise UndeliveredError(f"the answer was {status}")
