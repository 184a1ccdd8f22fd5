"""The neighbour services of a server: finds whose request one is, reads it, runs it, answers it.

The steps of a call, which the pipeline puts its own stages between:

    call = neighbours.find(request, scope_service)   # None: not for a neighbour
    await neighbours.identify(call)                  # loads the model, finds the operation
    neighbours.read(call)                            # reads the parameters
    neighbours.check(call)                           # holds them against the model
    result = await neighbours.run(call, scope)
    answer = neighbours.encode(call, result or error, request_id)

Each step but the first and the last may raise a ClientError, which `encode` takes as well. A JSON
request with a target that no service has is left to DynamoDB, whose answer to it is the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, final

from hashrange.errors import ClientError, UnknownOperationException
from hashrange.limits import CALL_BODY_BYTES_MAX, REQUEST_BODY_BYTES_MAX
from hashrange.neighbours.service import (
    Handler,
    Parameters,
    Result,
    Scope,
    Service,
    ServiceError,
)
from hashrange.wire.aws_chunked import is_chunked, read_chunks
from hashrange.wire.http.content_encoding import decode_body
from hashrange.wire.http.messages import HttpAnswer, HttpRequest
from hashrange.wire.protocols.addresses import (
    is_form,
    read_form,
    rpc_address,
    signing_service,
)
from hashrange.wire.protocols.codec import Call, Codec
from hashrange.wire.protocols.json_codec import BodyTooLargeError
from hashrange.wire.protocols.service_models import ServiceModels

__all__ = [
    "Call",
    "Handler",
    "Neighbours",
    "Parameters",
    "Result",
    "Scope",
    "Service",
    "ServiceError",
    "signing_service",
]

# A service that is known by its path-like requests also where it is not served.
_S3: Final = "s3"


@final
class Neighbours:
    """All neighbour services of a server and the codecs they are spoken to with."""

    def __init__(self, services: Iterable[Service]) -> None:
        services = tuple(services)
        self._by_version = {s.api_version: s for s in services if not s.rest}
        self._by_target = {s.target_prefix: s for s in services if s.target_prefix}
        self._by_signing_name = {s.signing_name: s for s in services}
        self._models = ServiceModels()

    @property
    def signing_names(self) -> frozenset[str]:
        """The services that credential scopes may name."""
        return frozenset(self._by_signing_name)

    def find(self, request: HttpRequest, scope_service: str) -> Call | None:
        """Return the call that a request is, or None if it is not for a neighbour.

        `scope_service` is the service the request was signed for.
        """
        address = rpc_address(request)
        if address is not None:
            service = self._by_target.get(address[0])
            return _prepare(Call(_codec("smithy-rpc-v2-cbor"), service, address[1], request))
        if request.head.is_call and request.head.target:
            prefix, _, operation = request.head.target.decode("latin-1").rpartition(".")
            target_service = self._by_target.get(prefix)
            if target_service is None:
                return None
            return _prepare(Call(_codec("json"), target_service, operation, request))
        if is_form(request):
            return self._find_form(request, scope_service)
        return self._find_path(request, scope_service)

    def _find_form(self, request: HttpRequest, scope_service: str) -> Call | None:
        call = _prepare(Call(_codec("query"), self._of_scope(scope_service), "", request))
        if call.refusal is not None:
            return call
        try:
            call.form = read_form(request, call.body)
        except ClientError as error:
            call.refusal = error
            return call
        if "Action" not in call.form:
            return None
        call.operation = call.form["Action"]
        if "Version" in call.form:
            call.service = self._by_version.get(call.form["Version"], call.service)
        return call

    def _find_path(self, request: HttpRequest, scope_service: str) -> Call | None:
        service = self._of_scope(scope_service)
        if service is not None and service.rest:
            return _prepare(Call(_codec(service.rest), service, "", request))
        if scope_service == _S3:
            return _prepare(Call(_codec("rest-xml"), None, "", request))
        return None

    def _of_scope(self, scope_service: str) -> Service | None:
        return self._by_signing_name.get(scope_service)

    async def identify(self, call: Call) -> None:
        """Load the model of a call's service and find the operation, or raise ClientError."""
        service = call.service
        if service is not None:
            call.model = await self._models.ready(service.name, service.api_version)
        if call.refusal is not None:
            raise call.refusal
        if service is None or call.model is None or call.codec.name not in call.model.protocols:
            raise UnknownOperationException
        name = call.codec.locate(call, call.model)
        if name not in call.model.operation_names or name not in service.handlers():
            raise UnknownOperationException
        call.operation = name
        call.operation_model = call.model.operation(name)

    def read(self, call: Call) -> None:
        """Read the parameters of an identified call."""
        assert call.operation_model is not None, "the call was not identified"
        call.parameters = call.codec.read(call, call.operation_model)

    def check(self, call: Call) -> None:
        """Raise ValidationException if the parameters break the constraints of the model."""
        from hashrange.wire.protocols.validation import validate

        assert call.operation_model is not None, "the call was not identified"
        if call.operation_model.input_shape is not None:
            validate(call.operation_model.input_shape, call.parameters)

    async def run(self, call: Call, scope: Scope) -> Result:
        """Carry out a decoded call."""
        assert call.service is not None, "the call was not identified"
        return await call.service.handlers()[call.operation](scope, call.parameters)

    def encode(self, call: Call, outcome: Result | ClientError, request_id: str) -> HttpAnswer:
        """Return the answer to a call."""
        if isinstance(outcome, ClientError):
            return call.codec.refuse(call, outcome, request_id)
        return call.codec.write(call, outcome, request_id)

    async def answer(self, call: Call, scope: Scope) -> HttpAnswer:
        """Take all steps of a call, for those who have no stages between them."""
        try:
            await self.identify(call)
            self.read(call)
            self.check(call)
            outcome: Result | ClientError = await self.run(call, scope)
        except ClientError as error:
            outcome = error
        return self.encode(call, outcome, scope.request_id)


def _codec(name: str) -> Codec:
    # Imported here, so that a server that is only asked for DynamoDB starts without them.
    from hashrange.wire.protocols.codecs import CODECS

    return CODECS[name]


def _unchunk(call: Call, coding: bytes) -> None:
    """Read a body in chunks; other codings of a body belong to the object."""
    if is_chunked(coding):
        try:
            call.body, trailers = read_chunks(call.body)
        except ClientError as error:
            call.refusal = error
        else:
            call.request.add_headers(trailers)


def _prepare(call: Call) -> Call:
    """Decompress the body of a call, and refuse it if that is too large."""
    bytes_max = (
        REQUEST_BODY_BYTES_MAX if call.service and call.service.rest else CALL_BODY_BYTES_MAX
    )
    coding = call.request.head.headers.get(b"content-encoding", b"")
    if call.service is not None and call.service.name == _S3:
        _unchunk(call, coding)
        return call
    try:
        call.body = decode_body(coding, call.body, bytes_max)
        if len(call.body) > bytes_max:
            raise BodyTooLargeError
    except BodyTooLargeError:
        call.refusal = ServiceError(
            "RequestEntityTooLarge", f"A request may have {bytes_max} bytes", status=413
        )
    except ClientError as error:
        call.refusal = error
    return call
