"""LookupEvents: management events, the newest first, by one attribute and a range of time."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final

import orjson

from hashrange.audit.events import RETENTION_SECONDS, EventStore, Record, World, is_key_of
from hashrange.neighbours.service import Handler, Parameters, Result, Scope, ServiceError

_RESULTS_MAX: Final = 50
# Events that are looked at for one page, so that a rare attribute does not read 90 days at once.
_EXAMINED_MAX: Final = 10_000


def make_operations(events: EventStore) -> Mapping[str, Handler]:
    """Return the operations by name."""

    async def lookup_events(scope: Scope, parameters: Parameters) -> Result:
        return await _lookup_events(events, scope, parameters)

    return {"LookupEvents": lookup_events}


async def _lookup_events(events: EventStore, scope: Scope, parameters: Parameters) -> Result:
    if parameters.get("EventCategory") is not None:
        raise ServiceError("InvalidEventCategoryException", "There are no insight events here.")
    wanted = _matcher(parameters.get("LookupAttributes") or [])
    limit = parameters.get("MaxResults", _RESULTS_MAX)
    if not 1 <= limit <= _RESULTS_MAX:
        raise ServiceError("InvalidMaxResultsException", "MaxResults must be from 1 to 50.")
    now = scope.clock.now()
    start = max(_seconds(parameters.get("StartTime"), 0.0), now - RETENTION_SECONDS)
    # The range includes its end, and the clock's microseconds are cut to seconds in requests.
    end = _seconds(parameters.get("EndTime"), now) + 1.0
    if start > end:
        raise ServiceError("InvalidTimeRangeException", "The start time is after the end time.")
    found: list[Result] = []
    last = b""
    examined = 0
    world = (scope.account, scope.region)
    before = _position(parameters.get("NextToken"), world)
    async for key, record in events.newest_first(world, start, end, before):
        if len(found) == limit or examined == _EXAMINED_MAX:
            token = base64.urlsafe_b64encode(last).decode()
            return {"Events": found, "NextToken": token}
        last = key
        examined += 1
        if wanted(record):
            found.append(_event(record))
    return {"Events": found}


def _seconds(moment: datetime | None, default: float) -> float:
    return default if moment is None else moment.timestamp()


def _position(token: str | None, world: World) -> bytes | None:
    if token is None:
        return None
    try:
        position = base64.urlsafe_b64decode(token.encode())
    except (binascii.Error, ValueError):
        position = b""
    if not is_key_of(world, position):
        raise ServiceError("InvalidNextTokenException", "The token is not valid.")
    return position


def _matcher(attributes: list[dict[str, str]]) -> Callable[[Record], bool]:
    if not attributes:
        return lambda record: True
    if len(attributes) > 1:
        raise ServiceError(
            "InvalidLookupAttributesException", "Only one lookup attribute is allowed."
        )
    name, value = attributes[0]["AttributeKey"], attributes[0]["AttributeValue"]
    read = _ATTRIBUTES[name]
    return lambda record: value in read(record)


def _names(record: Record, member: str) -> list[str]:
    return [resource[member] for resource in record["resources"]]


_ATTRIBUTES: Final[dict[str, Callable[[Record], list[str]]]] = {
    "AccessKeyId": lambda record: [record["userIdentity"].get("accessKeyId", "")],
    "EventId": lambda record: [record["eventID"]],
    "EventName": lambda record: [record["eventName"]],
    "EventSource": lambda record: [record["eventSource"]],
    "ReadOnly": lambda record: ["true" if record["readOnly"] else "false"],
    "ResourceName": lambda record: [
        text for arn in _names(record, "ARN") for text in (arn, arn.rpartition("/")[2])
    ],
    "ResourceType": lambda record: _names(record, "type"),
    "Username": lambda record: [_user_of(record)],
}


def _user_of(record: Record) -> str:
    identity: dict[str, Any] = record["userIdentity"]
    return str(identity.get("userName") or identity.get("arn", "").rpartition(":")[2])


def _event(record: Record) -> Result:
    return {
        "EventId": record["eventID"],
        "EventName": record["eventName"],
        "ReadOnly": "true" if record["readOnly"] else "false",
        "AccessKeyId": record["userIdentity"].get("accessKeyId", ""),
        "EventTime": datetime.fromisoformat(record["eventTime"].replace("Z", "+00:00")),
        "EventSource": record["eventSource"],
        "Username": _user_of(record),
        "Resources": [
            {"ResourceType": resource["type"], "ResourceName": resource["ARN"].rpartition("/")[2]}
            for resource in record["resources"]
        ],
        "CloudTrailEvent": orjson.dumps(record).decode(),
    }
