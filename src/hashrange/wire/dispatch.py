"""Target header to operation, and every error to its document.

Knows nothing of HTTP connections: tests and the in-process client call `Dispatcher.answer`
directly. The only catch-all of the server stands here.

The order in which AWS reports what is wrong: unreadable JSON, unknown target, authentication,
mistyped members (also inside attribute values), constraints, and then the operation's own checks.
Attribute values are not walked for types before the handler runs, because its own checking does
that for good requests; only when it complains are they walked, to find the error AWS reports first.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, final

from hashrange.errors import (
    ClientError,
    ConflictError,
    InternalServerError,
    ResourceNotFoundException,
    SerializationException,
    StaleEpochError,
    StorageFullError,
    TransactionConflictException,
    UnknownOperationException,
    ValidationException,
)
from hashrange.wire.auth.identity import Identity
from hashrange.wire.protocols.json_codec import decode, encode

if TYPE_CHECKING:
    from hashrange.api.operation import Context, Operation, Request, Response

_LOGGER = logging.getLogger("hashrange.dispatch")

_TABLES_TARGET = b"DynamoDB_20120810."
_STREAMS_TARGET = b"DynamoDBStreams_20120810."
_STREAMS_OPERATIONS = frozenset({"DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"})
# Each context is small; a client that invents regions must not grow the server.
_CONTEXTS_MAX = 4096
_STALE_ATTEMPTS_MAX = 1000
_STALE_PAUSE_SECONDS = 0.002

Answer = tuple[int, bytes]
"""HTTP status and JSON document."""


@final
class Dispatcher:
    """Runs operations for whoever holds a target, a body and an identity."""

    def __init__(
        self, operations: Mapping[str, Operation], make_context: Callable[[str, str], Context]
    ) -> None:
        self._operations = {_target(name): operation for name, operation in operations.items()}
        self._make_context = make_context
        self._contexts: dict[tuple[str, str], Context] = {}

    async def answer(
        self, target: bytes, body: bytes, identity: Identity, request_id: bytes = b""
    ) -> Answer:
        """Carry out a request and return its answer; raises nothing."""
        try:
            request = decode(body) if body else None
            operation = self._operations.get(target)
            if operation is None:
                raise UnknownOperationException
            if request is None:
                raise SerializationException
            context = self._contexts.get(identity.world) or self._context(identity)
            try:
                operation.shape.check(request)
                try:
                    response = await operation.handler(context, request)
                except StaleEpochError:
                    response = await _handle_again(operation, context, body)
                return 200, encode(response) if response else operation.empty_body
            except (ValidationException, ResourceNotFoundException):
                operation.shape.check_values(request)
                raise
        except ClientError as error:
            return _error_answer(error)
        except Exception as error:
            return _failure_answer(error, target, request_id)

    async def perform(
        self, operation: Operation, request: Request, identity: Identity, request_id: bytes
    ) -> Response | ClientError:
        """Carry out an operation that was found by a path, not by a target; raises nothing."""
        try:
            context = self._contexts.get(identity.world) or self._context(identity)
            operation.shape.check(request)
            return await operation.handler(context, request)
        except ClientError as error:
            return error
        except Exception as error:
            _failure_answer(error, operation.name.encode(), request_id)
            return InternalServerError("Internal server error")

    def refuse(self, target: bytes, body: bytes, refusal: ClientError) -> Answer:
        """Return the answer to a request that may not run, unless AWS reports something earlier."""
        try:
            if body:
                decode(body)
            if target not in self._operations:
                raise UnknownOperationException
        except ClientError as error:
            return _error_answer(error)
        return _error_answer(refusal)

    def _context(self, identity: Identity) -> Context:
        if len(self._contexts) >= _CONTEXTS_MAX:
            self._contexts.clear()
        context = self._make_context(identity.account, identity.region)
        self._contexts[identity.world] = context
        return context


async def _handle_again(operation: Operation, context: Context, body: bytes) -> Response:
    """Repeat a request whose write was refused because somebody changed a table meanwhile.

    The change may be on its way to disk still, so this waits a little between attempts.
    """
    for _ in range(_STALE_ATTEMPTS_MAX):
        try:
            return await operation.handler(context, _read(operation, body))
        except StaleEpochError:
            await asyncio.sleep(_STALE_PAUSE_SECONDS)
    return await operation.handler(context, _read(operation, body))


def _read(operation: Operation, body: bytes) -> Request:
    """Return the request of a body anew, since the handler may have used it up."""
    request = decode(body)
    operation.shape.check(request)
    return request


def _target(name: str) -> bytes:
    prefix = _STREAMS_TARGET if name in _STREAMS_OPERATIONS else _TABLES_TARGET
    return prefix + name.encode()


def _error_answer(error: ClientError) -> Answer:
    return error.status, encode(error.document())


def _failure_answer(error: Exception, target: bytes, request_id: bytes) -> Answer:
    if isinstance(error, ConflictError):
        return _error_answer(TransactionConflictException("Transaction is ongoing for the item"))
    request = f"request {request_id.decode()} ({target.decode(errors='replace')})"
    if isinstance(error, StorageFullError):
        _LOGGER.error("%s found no room left in storage: %s", request, error)
        return _error_answer(
            InternalServerError("There is no room left in the storage of this server")
        )
    _LOGGER.error("%s failed", request, exc_info=error)
    return _error_answer(InternalServerError("Internal server error"))
