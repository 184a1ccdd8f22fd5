"""The request pipeline: the path of every request from its bytes to its answer.

    decode → authenticate → authorise → admit → run → encode → record

A codec decodes and encodes for one protocol; the stages between are the same for all services (see
`stages`). The order of errors is AWS's: unreadable body, unknown operation, authentication,
mistyped members (also inside attribute values), constraints, then authorisation, admission and the
operation's own checks. Attribute values are not walked for types before the handler runs, because
its own checks do that for good requests; they are walked when it complains, to find the error that
AWS reports first. Large and compressed bodies are an exception: their sender is authenticated
before they are decoded, so that strangers cannot make the server work.

The only catch-all of the server is in `Pipeline.answer`, which raises nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from time import perf_counter
from typing import Final, Protocol, final

from hashrange.api.operation import Context, Request, Response
from hashrange.api.recovery.time_travel import note_times
from hashrange.api.scope import Caller, RequestScope
from hashrange.errors import (
    ClientError,
    ConflictError,
    CorruptionError,
    InternalServerError,
    ResourceNotFoundException,
    SerializationException,
    StorageFullError,
    ThroughputError,
    TransactionConflictException,
    UnknownOperationException,
    ValidationException,
)
from hashrange.log_pace import LogPace
from hashrange.pauses import CrowdedError, wait_for_turn
from hashrange.wire.http.messages import HttpAnswer, HttpRequest
from hashrange.wire.large_requests import dismantle
from hashrange.wire.missing_operations import MissingOperations
from hashrange.wire.stages import AllowAll, Stages, Unlimited

_LOGGER: Final = logging.getLogger("hashrange.pipeline")
_full_storage_pace: Final = LogPace()

# Contexts are small, but a client that invents regions must not grow the server.
_CONTEXTS_MAX: Final = 4096
# Larger bodies are not walked once more for the error that AWS would report.
_WALKED_BYTES_MAX: Final = 1024 * 1024
# Larger bodies, and compressed ones, are decoded only after authentication.
_UNSIGNED_BYTES_MAX: Final = 64 * 1024


class ServiceNames(Protocol):
    """The names of a service: its own, and the one in the credential scope of signatures."""

    @property
    def name(self) -> str: ...

    @property
    def signing_name(self) -> str: ...


class Operation(Protocol):
    """An operation, as the pipeline sees it; `api.operation.Operation` is one."""

    @property
    def name(self) -> str: ...

    @property
    def service(self) -> ServiceNames: ...

    @property
    def check(self) -> Callable[[Request], None]: ...

    @property
    def check_values(self) -> Callable[[Request], None]: ...

    @property
    def run(self) -> Callable[[RequestScope, Request], Awaitable[Response]]: ...


Decoded = tuple[Operation, Request | None]
"""An operation and its parameters; None for the parameters of a request without a body."""


class Codec(Protocol):
    """One protocol: from an HTTP request to an operation and its parameters, and back."""

    def decode(self, request: HttpRequest, scope: RequestScope) -> Decoded | Awaitable[Decoded]:
        """Return the operation and its parameters.

        Sets service and operation in the scope also when it refuses, empty if they are unknown.
        """

    def identify(self, request: HttpRequest, scope: RequestScope) -> str | None:
        """Return the service that a request has to be signed for, before its body is decoded.

        Sets service and operation in the scope, as `decode` does. None leaves all to `decode`.
        """

    def encode(self, request: HttpRequest, scope: RequestScope, response: Response) -> HttpAnswer:
        """Return the answer of an operation that succeeded."""

    def encode_error(
        self, request: HttpRequest, scope: RequestScope, error: ClientError
    ) -> HttpAnswer:
        """Return the answer to a request that was refused or failed."""


@final
class Pipeline:
    """Takes requests through the stages; one per server process."""

    def __init__(self, stages: Stages, make_context: Callable[[str, str], Context]) -> None:
        self._authenticate = stages.authenticator.authenticate
        # Trivial stages are left out, since this is the path of every request.
        self._authoriser = None if type(stages.authoriser) is AllowAll else stages.authoriser
        self._admission = None if type(stages.admission) is Unlimited else stages.admission
        self._recorder = stages.recorder()
        self._missing = MissingOperations()
        self._make_context = make_context
        self._contexts: dict[tuple[str, str], Context] = {}

    async def answer(self, request: HttpRequest, codec: Codec, request_id: bytes) -> HttpAnswer:
        """Carry out a request and return its answer."""
        head = request.head
        scope = RequestScope(request_id, request.peer, head.trace, head.agent)
        try:
            caller = parameters = None
            if head.is_encoded or len(request.body) > _UNSIGNED_BYTES_MAX:
                signing_name = codec.identify(request, scope)
                if signing_name is not None:
                    found = self._authenticate(request, signing_name)
                    caller = found if isinstance(found, Caller) else await found
            decoded = codec.decode(request, scope)
            operation, parameters = decoded if isinstance(decoded, tuple) else await decoded
            if caller is None:
                found = self._authenticate(request, operation.service.signing_name)
                caller = found if isinstance(found, Caller) else await found
            scope.caller = caller
            scope.context = self._contexts.get(caller.world) or self._context(caller)
            if parameters is None:
                raise SerializationException
            scope.parameters = parameters
            try:
                operation.check(parameters)
                if head.at:
                    note_times(scope, head.at, operation.name)
                if self._authoriser is not None:
                    waiting = self._authoriser.authorise(scope, parameters)
                    if waiting is not None:
                        await waiting
                if self._admission is not None:
                    waiting = self._admission.admit(scope, parameters)
                    if waiting is not None:
                        await waiting
                response: Response | None
                try:
                    response = await operation.run(scope, parameters)
                except CrowdedError:
                    response = None  # later, when the error and what it holds are let go
                if response is None:
                    response = await _run_in_turn(operation, scope, parameters)
                answer = codec.encode(request, scope, response)
            except (ValidationException, ResourceNotFoundException):
                scope.requested_table = parameters.get("TableName")
                if len(request.body) <= _WALKED_BYTES_MAX:
                    operation.check_values(parameters)
                raise
        except ClientError as error:
            if isinstance(error, UnknownOperationException):
                self._missing.note(scope.service, scope.operation)
            answer = _refuse(request, codec, scope, error)
        except Exception as error:
            answer = _refuse(request, codec, scope, _explain(error, scope))
        if self._recorder is not None:
            scope.status, scope.ended = answer.status, perf_counter()
            waiting = self._recorder.record(scope)
            if waiting is not None:
                await waiting
        if parameters is not None and len(request.body) > _WALKED_BYTES_MAX:
            await dismantle(parameters)
        return answer

    def _context(self, caller: Caller) -> Context:
        if len(self._contexts) >= _CONTEXTS_MAX:
            self._contexts.clear()
        context = self._make_context(caller.account, caller.region)
        self._contexts[caller.world] = context
        return context


async def _run_in_turn(operation: Operation, scope: RequestScope, parameters: Request) -> Response:
    """Begin a read again that was given up because too many requests work for long."""
    await wait_for_turn()
    scope.forget_attempt()
    return await operation.run(scope, parameters)


def _refuse(
    request: HttpRequest, codec: Codec, scope: RequestScope, error: ClientError
) -> HttpAnswer:
    scope.error = error.code
    scope.reason = error.message
    if isinstance(error, ThroughputError):
        scope.note_throttle(error.table, error.reason, error.index)
    return codec.encode_error(request, scope, error)


def _explain(error: Exception, scope: RequestScope) -> ClientError:
    """Return what a client is told about a failure of the server, which is logged."""
    if isinstance(error, ConflictError):
        return TransactionConflictException("Transaction is ongoing for the item")
    request = f"request {scope.request_id} ({scope.service or 'unknown'}.{scope.operation})"
    if isinstance(error, StorageFullError):
        if (remark := _full_storage_pace.remark()) is not None:
            _LOGGER.error("%s found no room left in storage: %s%s", request, error, remark)
        return InternalServerError("There is no room left in the storage of this server")
    if isinstance(error, CorruptionError):
        _LOGGER.error("%s met damaged data: %s", request, error)
    else:
        _LOGGER.error("%s failed", request, exc_info=error)
    return InternalServerError("Internal server error")
