"""Where discarded batches are reported: a file of JSON lines, a URL, or another function.

The report is what Lambda sends to an S3 bucket: what happened, where the records are in the
stream, and the event itself as a text.
"""

from __future__ import annotations

import asyncio
import logging
import os
from datetime import UTC, datetime
from typing import Any, Final, final
from urllib.parse import unquote, urlsplit

import orjson

from hashrange.model.triggers import MappingRecord, function_name
from hashrange.services.triggers.functions import Functions
from hashrange.services.triggers.http_client import HttpError, post
from hashrange.services.triggers.lanes import RETRIES_EXHAUSTED, Discard
from hashrange.services.triggers.targets import Invocation

_LOGGER = logging.getLogger("hashrange.triggers")

_ATTEMPTS_MAX: Final = 3
_PAUSE_SECONDS: Final = 0.5
_POST_SECONDS_MAX: Final = 30.0


class _UndeliveredError(Exception):
    """A destination did not take a report."""


@final
class Destinations:
    """Reports discarded batches."""

    def __init__(self, functions: Functions) -> None:
        self._functions = functions

    async def report(
        self, mapping: MappingRecord, shard_id: str, discard: Discard, now: float
    ) -> bool:
        """Send a report to the destination of a mapping; it is logged in any case.

        Tells whether a destination has it.
        """
        _LOGGER.warning(
            "mapping %s discards %d records from %s on: %s",
            mapping.uuid,
            len(discard.entries),
            discard.entries[0].identifier,
            discard.condition,
        )
        if mapping.destination is None:
            return False
        document = orjson.dumps(make_report(mapping, shard_id, discard, now))
        for attempt in range(1, _ATTEMPTS_MAX + 1):
            try:
                await self._send(mapping, mapping.destination, document)
                return True
            except (_UndeliveredError, OSError, HttpError) as error:
                _LOGGER.error(
                    "mapping %s cannot report to %s (attempt %d of %d): %s",
                    *(mapping.uuid, mapping.destination, attempt, _ATTEMPTS_MAX, error),
                )
            if attempt < _ATTEMPTS_MAX:
                await asyncio.sleep(_PAUSE_SECONDS)
        if self._functions.meter is not None:
            world = (mapping.account, mapping.region)
            self._functions.meter.note_undelivered(world, mapping.function)
        return False

    async def _send(self, mapping: MappingRecord, destination: str, document: bytes) -> None:
        parts = urlsplit(destination)
        if parts.scheme == "file":
            await asyncio.to_thread(_append_line, unquote(parts.path), document)
        elif parts.scheme in ("http", "https"):
            headers = {"Content-Type": "application/json"}
            async with asyncio.timeout(_POST_SECONDS_MAX):
                status, _ = await post(destination, document, headers)
            if not 200 <= status < 300:
                raise _UndeliveredError(f"status {status}")
        else:
            name = function_name(destination)
            assert name is not None
            world = (mapping.account, mapping.region)
            outcome = await self._functions.invoke(world, name, Invocation(document))
            if outcome.error is not None:
                raise _UndeliveredError(outcome.error)


def make_report(
    mapping: MappingRecord, shard_id: str, discard: Discard, now: float
) -> dict[str, Any]:
    """Return the report of a discarded batch."""
    first, last = discard.entries[0], discard.entries[-1]
    report: dict[str, Any] = {
        "requestContext": {
            "requestId": Invocation(b"").request_id,
            "functionArn": mapping.function_arn,
            "condition": discard.condition,
            "approximateInvokeCount": discard.invocations,
        }
    }
    if discard.condition == RETRIES_EXHAUSTED:
        report["responseContext"] = {
            "statusCode": 200,
            "executedVersion": "$LATEST",
            "functionError": "Unhandled",
        }
    report |= {
        "version": "1.0",
        "timestamp": _time_text(now, "milliseconds"),
        "DDBStreamBatchInfo": {
            "shardId": shard_id,
            "startSequenceNumber": first.identifier,
            "endSequenceNumber": last.identifier,
            "approximateArrivalOfFirstRecord": _time_text(first.time, "seconds"),
            "approximateArrivalOfLastRecord": _time_text(last.time, "seconds"),
            "batchSize": len(discard.entries),
            "streamArn": mapping.stream_arn,
        },
        "payload": make_event([entry.document for entry in discard.entries]).decode(),
    }
    return report


def make_event(documents: list[bytes]) -> bytes:
    """Return the event a function is called with for some records."""
    return b'{"Records":[%b]}' % b",".join(documents)


def _append_line(path: str, document: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(descriptor, document + b"\n")
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _time_text(time: float, precision: str) -> str:
    text = datetime.fromtimestamp(time, UTC).isoformat(timespec=precision)
    return text.replace("+00:00", "Z")
