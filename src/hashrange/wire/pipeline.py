"""The request pipeline: the path of every request from its bytes to its answer.

    decode → authenticate → authorise → admit → run → encode → record

A codec decodes and encodes for one protocol; the stages between are the same for all services (see
`stages`). The order of errors is AWS's: unreadable body, unknown operation, authentication,
mistyped members (also inside attribute values), constraints, then authorisation, admission and the
operation's own checks. Attribute values are not walked for types before the handler runs, because
its own checks do that for good requests; they are walked when it complains, to find the error that
AWS reports first.

The only catch-all of the server is in `Pipeline.answer`, which raises nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from time import perf_counter
from typing import Any, Final, Protocol, final

from hashrange.api.operation import Context, Request, Response
from hashrange.api.scope import RequestScope
from hashrange.errors import (
    ClientError,
    ConflictError,
    CorruptionError,
    InternalServerError,
    ResourceNotFoundException,
    SerializationException,
    StorageFullError,
    TransactionConflictException,
    ValidationException,
)
from hashrange.log_pace import LogPace
from hashrange.wire.auth.identity import Identity
from hashrange.wire.http.messages import HttpAnswer, HttpRequest
from hashrange.wire.stages import Stages

_LOGGER: Final = logging.getLogger("hashrange.pipeline")
_full_storage_pace: Final = LogPace()

# Contexts are small, but a client that invents regions must not grow the server.
_CONTEXTS_MAX: Final = 4096


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

    def run(self, scope: RequestScope, request: Request) -> Awaitable[Response]: ...


class Codec(Protocol):
    """One protocol: from an HTTP request to an operation and its parameters, and back."""

    def decode(self, request: HttpRequest, scope: RequestScope) -> tuple[Operation, Request | None]:
        """Return the operation and its parameters, None when there is no body.

        Notes service and operation in the scope also when it refuses, as far as it knows them.
        """

    def encode(self, request: HttpRequest, operation: Any, response: Response) -> HttpAnswer:
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
        self._authorise = stages.authoriser.authorise
        self._admit = stages.admission.admit
        self._record = stages.recorder.record
        self._make_context = make_context
        self._contexts: dict[tuple[str, str], Context] = {}

    async def answer(self, request: HttpRequest, codec: Codec, request_id: bytes) -> HttpAnswer:
        """Carry out a request and return its answer."""
        scope = RequestScope(request_id, request.peer, request.head.trace)
        try:
            operation, parameters = codec.decode(request, scope)
            caller = self._authenticate(request, operation.service.signing_name)
            identity = caller if isinstance(caller, Identity) else await caller
            scope.principal = identity.principal
            scope.region = identity.region
            scope.context = self._contexts.get(identity.world) or self._context(identity)
            if parameters is None:
                raise SerializationException
            try:
                operation.check(parameters)
                waiting = self._authorise(scope, parameters)
                if waiting is not None:
                    await waiting
                waiting = self._admit(scope, parameters)
                if waiting is not None:
                    await waiting
                response = await operation.run(scope, parameters)
                answer = codec.encode(request, operation, response)
            except (ValidationException, ResourceNotFoundException):
                operation.check_values(parameters)
                raise
        except ClientError as error:
            answer = _refuse(request, codec, scope, error)
        except Exception as error:
            answer = _refuse(request, codec, scope, _explain(error, scope))
        scope.status = answer.status
        scope.ended = perf_counter()
        self._record(scope)
        return answer

    def _context(self, identity: Identity) -> Context:
        if len(self._contexts) >= _CONTEXTS_MAX:
            self._contexts.clear()
        context = self._make_context(*identity.world)
        self._contexts[identity.world] = context
        return context


def _refuse(
    request: HttpRequest, codec: Codec, scope: RequestScope, error: ClientError
) -> HttpAnswer:
    scope.error = error.code
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
