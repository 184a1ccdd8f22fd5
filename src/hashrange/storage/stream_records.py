"""Stream records, made from logged changes, for GetRecords and triggers."""

from __future__ import annotations

import hashlib
import re
from typing import Any, Final

from hashrange.model.streams import StreamRecord
from hashrange.storage.log import INSERT, MODIFY, REMOVE, Change

# Numbers of one width have the same order as texts; those of AWS have 21 digits or more.
FIRST_SEQUENCE: Final = 10**20

_EVENT_NAMES: Final = {INSERT: "INSERT", MODIFY: "MODIFY", REMOVE: "REMOVE"}
_EVENT_VERSION: Final = "1.1"
_SERVICE_IDENTITY: Final = {"PrincipalId": "dynamodb.amazonaws.com", "Type": "Service"}
_ARN: Final = re.compile(
    r"arn:aws[a-z-]*:dynamodb:([a-z0-9-]+):([0-9]{12}):table/([a-zA-Z0-9_.-]{3,255})"
    r"/stream/([0-9T:.-]+)"
)


def sequence_text(number: int) -> str:
    """Return a sequence number as clients see it."""
    return str(FIRST_SEQUENCE + number)


def split_arn(arn: str) -> tuple[str, str, str, str] | None:
    """Return account, region, table and label of a stream's ARN."""
    match = _ARN.fullmatch(arn)
    if match is None:
        return None
    region, account, table, label = match.groups()
    return account, region, table, label


def describe_change(stream: StreamRecord, change: Change) -> dict[str, Any]:
    """Return a change as a record of its stream."""
    number = sequence_text(change.sequence)
    body: dict[str, Any] = {
        "ApproximateCreationDateTime": int(change.time),
        "Keys": change.splice(change.keys),
    }
    if change.new:
        body["NewImage"] = change.splice(change.new)
    if change.old:
        body["OldImage"] = change.splice(change.old)
    body["SequenceNumber"] = number
    body["SizeBytes"] = change.size
    body["StreamViewType"] = stream.view_type
    identity = f"{stream.store}/{number}".encode()
    record: dict[str, Any] = {
        "eventID": hashlib.md5(identity, usedforsecurity=False).hexdigest(),
        "eventName": _EVENT_NAMES[change.kind],
        "eventVersion": _EVENT_VERSION,
        "eventSource": "aws:dynamodb",
        "awsRegion": stream.region,
        "dynamodb": body,
    }
    if change.by_service:
        record["userIdentity"] = _SERVICE_IDENTITY
    return record
