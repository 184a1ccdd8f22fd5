"""What waits to be sent: actions of alarms and messages of topics.

A parcel is a document that names its target and its content. It is written in the step that causes
it and deleted when it was delivered or given up, so that it is sent at least once whatever happens
to the process. A parcel that could not be delivered is due again later.
"""

from __future__ import annotations

import uuid
from hashlib import blake2b
from typing import Any, Final

import orjson

from hashrange.alarms.documents import OUTBOX, Document, Key, document_key

RETRY_SECONDS: Final = 20.0
ATTEMPTS_MAX: Final = 4
"""The first attempt and three retries, as SNS does by default."""

_SPACE: Final = uuid.UUID("6c0f8a52-5c86-4d0c-9f0e-0f6b1a3f1d11")


def parcel_key(now: float, identity: str) -> Key:
    """Return where a parcel waits; those that are older come first."""
    digest = blake2b(identity.encode(), digest_size=12).hexdigest()
    return document_key(OUTBOX, f"{now:020.6f}", digest)


def message_id(*parts: str) -> str:
    """Return an identifier that is the same when a decision is made again."""
    return str(uuid.uuid5(_SPACE, "\x00".join(parts)))


def action_parcel(
    world: tuple[str, str], alarm: Document, before: str, action: str, now: float
) -> Document:
    """Return the parcel of one action of an alarm whose state has changed."""
    kept = {name: value for name, value in alarm.items() if name != "Tags"}
    return {
        "Kind": "action",
        "World": list(world),
        "Action": action,
        "Alarm": kept,
        "Before": before,
        "At": now,
        "Attempts": 0,
        "DueAt": now,
    }


def http_parcel(url: str, body: str, headers: dict[str, str], now: float) -> Document:
    """Return the parcel of a request to a URL."""
    return {
        "Kind": "http",
        "Url": url,
        "Body": body,
        "Headers": headers,
        "Attempts": 0,
        "DueAt": now,
    }


def function_parcel(
    world: tuple[str, str], function: str, event: dict[str, Any], now: float
) -> Document:
    """Return the parcel of a call of a registered function."""
    return {
        "Kind": "function",
        "World": list(world),
        "Function": function,
        "Event": orjson.dumps(event).decode(),
        "Attempts": 0,
        "DueAt": now,
    }
