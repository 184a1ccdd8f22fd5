"""Records calls as CloudTrail does: management calls always, calls of the data plane if asked for.

A management call that changes something is acknowledged only once its event is durable. Events of
other management calls are kept within a second. Lines of the log file are written before the answer
is sent, those of data-plane calls once in each turn of the event loop. Calls of clients that were
not authenticated are only in the log file: strangers must not fill the database.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable
from datetime import UTC, datetime
from typing import Any, Final, final
from uuid import uuid4

import orjson

from hashrange.api.scope import NOBODY, RequestScope
from hashrange.audit.events import EventStore, Record, event_key
from hashrange.audit.log_file import LogFile
from hashrange.audit.redaction import recorded_parameters
from hashrange.clock import Clock
from hashrange.errors import EngineError, UnknownOutcomeError

_LOGGER: Final = logging.getLogger("hashrange.audit")
_EVENT_VERSION: Final = "1.11"
_FLUSH_SECONDS: Final = 1.0
_PENDING_MAX: Final = 1000
_READ_VERBS: Final = ("Get", "List", "Describe", "Lookup", "Head", "Simulate", "Query", "Scan")
_DATA_OPERATIONS: Final = {
    "dynamodb": frozenset(
        {
            *("BatchExecuteStatement", "BatchGetItem", "BatchWriteItem", "DeleteItem"),
            *("ExecuteStatement", "ExecuteTransaction", "GetItem", "PutItem", "Query", "Scan"),
            *("TransactGetItems", "TransactWriteItems", "UpdateItem"),
        }
    ),
    "dynamodbstreams": frozenset({"GetRecords", "GetShardIterator"}),
    "cloudwatch": frozenset({"GetMetricData", "GetMetricWidgetImage", "PutMetricData"}),
    "sns": frozenset({"Publish", "PublishBatch"}),
    "s3": frozenset(
        {
            *("AbortMultipartUpload", "CompleteMultipartUpload", "CopyObject", "DeleteObject"),
            *("CreateMultipartUpload", "DeleteObjects", "GetObject", "HeadObject", "ListObjects"),
            *("ListMultipartUploads", "ListObjectsV2", "ListParts", "PutObject", "UploadPart"),
        }
    ),
}
_READ_DATA: Final = frozenset({"BatchGetItem", "TransactGetItems"})
_SOURCES: Final = {"dynamodbstreams": "dynamodb", "cloudwatch": "monitoring"}


def is_read_only(operation: str) -> bool:
    """Tell whether a call changes nothing."""
    return operation.startswith(_READ_VERBS) or operation in _READ_DATA


@final
class AuditTrail:
    """The recorder of one process."""

    def __init__(
        self, store: EventStore, log: LogFile | None, clock: Clock, *, has_data_events: bool
    ) -> None:
        self._store = store
        self._log = log
        self._clock = clock
        self._has_data_events = has_data_events
        self._pending: list[tuple[bytes, Record]] = []
        self._lines: list[bytes] = []
        self._flushing: asyncio.Task[None] | None = None

    def record(self, scope: RequestScope) -> Awaitable[None] | None:
        """Record a call; the awaitable is done when its event is durable."""
        # The calls of the data plane come first, since this is on the path of every request.
        is_managing = scope.operation not in _DATA_OPERATIONS.get(scope.service, ())
        if not (is_managing or self._has_data_events) or not scope.operation:
            return None
        record = record_of(scope, self._clock.now(), is_managing=is_managing)
        if not is_managing:
            self._queue_line(record)
            return None
        if self._log is not None:
            self._log.write(_line_of(record))
        if scope.caller is NOBODY:
            return None
        event = (event_key(scope.caller.world, self._clock.now(), record["eventID"]), record)
        if record["readOnly"] or record.get("errorCode"):
            self._queue_event(event)
            return None
        return self._keep([event])

    async def close(self) -> None:
        """Keep what is pending."""
        if self._flushing is not None:
            self._flushing.cancel()
        self._write_lines()
        await self._keep(self._take())
        if self._log is not None:
            self._log.close()

    async def _keep(self, events: list[tuple[bytes, Record]]) -> None:
        try:
            await self._store.add(events)
        except (EngineError, UnknownOutcomeError):
            # The call itself has happened. The log file has it, and the server's log does.
            names = ", ".join(sorted({record["eventName"] for _, record in events}))
            _LOGGER.exception("events could not be kept: %s", names)

    def _queue_event(self, event: tuple[bytes, Record]) -> None:
        self._pending.append(event)
        if len(self._pending) > _PENDING_MAX:
            del self._pending[0]  # refusals and reads; a flood of them is in the log file
        if self._flushing is None or self._flushing.done():
            self._flushing = asyncio.ensure_future(self._flush_soon())

    async def _flush_soon(self) -> None:
        await asyncio.sleep(_FLUSH_SECONDS)
        await self._keep(self._take())

    def _take(self) -> list[tuple[bytes, Record]]:
        events, self._pending = self._pending, []
        return events

    def _queue_line(self, record: Record) -> None:
        if self._log is None:
            return
        if not self._lines:
            asyncio.get_running_loop().call_soon(self._write_lines)
        self._lines.append(_line_of(record))

    def _write_lines(self) -> None:
        if self._lines and self._log is not None:
            self._log.write(b"".join(self._lines))
        self._lines.clear()


def _line_of(record: Record) -> bytes:
    return orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE)


def record_of(scope: RequestScope, now: float, *, is_managing: bool) -> Record:
    """Return the record of a call."""
    caller = scope.caller
    source = _SOURCES.get(scope.service, scope.service)
    record: dict[str, Any] = {
        "eventVersion": _EVENT_VERSION,
        "userIdentity": _identity_of(scope),
        "eventTime": datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "eventSource": f"{source}.amazonaws.com",
        "eventName": scope.operation,
        "awsRegion": caller.region,
        "sourceIPAddress": scope.source_address,
        "userAgent": scope.user_agent,
    }
    if scope.error:
        record["errorCode"] = scope.error
        record["errorMessage"] = scope.reason[:1024]
    parameters = getattr(scope, "parameters", None)
    record |= {
        "requestParameters": recorded_parameters(parameters) if parameters else None,
        "responseElements": None,
        "requestID": scope.request_id,
        "eventID": str(uuid4()),
        "readOnly": is_read_only(scope.operation),
        "resources": [_resource_of(arn, caller.account) for arn in scope.resources],
        "eventType": "AwsApiCall",
        "managementEvent": is_managing,
        "recipientAccountId": caller.account,
        "eventCategory": "Management" if is_managing else "Data",
    }
    if scope.peer.tls is not None:
        version, suite = scope.peer.tls
        record["tlsDetails"] = {"tlsVersion": version, "cipherSuite": suite}
    return record


def _identity_of(scope: RequestScope) -> dict[str, Any]:
    caller = scope.caller
    if caller is NOBODY:
        return {"type": "Unknown"}
    resource = caller.arn.rpartition(":")[2]
    kind, _, name = resource.partition("/")
    identity: dict[str, Any] = {
        "type": _IDENTITY_TYPES.get(kind, "Unknown"),
        "arn": caller.arn,
        "accountId": caller.account,
        "accessKeyId": caller.access_key,
    }
    if kind == "user":
        identity["userName"] = name.rpartition("/")[2]
    principal = None if caller.grants is None else caller.grants.principal
    if principal is not None and principal.issuer_arn:
        issuer = principal.issuer_arn
        identity["sessionContext"] = {
            "sessionIssuer": {
                "type": "Role" if ":role/" in issuer else "IAMUser",
                "arn": issuer,
                "accountId": caller.account,
                "userName": issuer.rpartition("/")[2],
            }
        }
    return identity


_IDENTITY_TYPES: Final = {
    "root": "Root",
    "user": "IAMUser",
    "assumed-role": "AssumedRole",
    "federated-user": "FederatedUser",
}


def _resource_of(arn: str, account: str) -> dict[str, str]:
    kind = "AWS::DynamoDB::Stream" if "/stream/" in arn else "AWS::DynamoDB::Table"
    return {"accountId": account, "type": kind, "ARN": arn}
