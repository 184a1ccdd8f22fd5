"""The codec of DynamoDB and DynamoDB Streams: AWS JSON, with the operation in `X-Amz-Target`.

Errors are documents with a `__type`. The answer has the content type of the request.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterable
from typing import Final, final

from hashrange.api.operation import Operation, Request, Response, Service
from hashrange.api.scope import RequestScope
from hashrange.errors import ClientError, UnknownOperationException
from hashrange.limits import REQUEST_BODY_BYTES_MAX
from hashrange.wire.http.content_encoding import decode_body
from hashrange.wire.http.messages import PLAIN_JSON, TOO_LARGE, HttpAnswer, HttpRequest
from hashrange.wire.protocols.bulk_numbers import settle_numbers
from hashrange.wire.protocols.json_codec import BodyTooLargeError, decode, encode
from hashrange.wire.protocols.large_json import decode_large

# Larger bodies are decoded in slices.
_SMALL_BYTES_MAX: Final = 64 * 1024
# More values than that are checked off the event loop.
_FEW_VALUES_MAX: Final = 5000


@final
class TargetJson:
    """Decodes and encodes for all services that are found by a target."""

    def __init__(
        self, services: Iterable[Service], body_bytes_max: int = REQUEST_BODY_BYTES_MAX
    ) -> None:
        self._body_bytes_max = body_bytes_max
        self._operations = {
            f"{service.target_prefix}.{name}".encode(): operation
            for service in services
            for name, operation in service.operations.items()
        }

    def decode(
        self, request: HttpRequest, scope: RequestScope
    ) -> tuple[Operation, Request | None] | Awaitable[tuple[Operation, Request | None]]:
        """Return the operation and its parameters; unreadable bodies are reported first."""
        head = request.head
        try:
            operation = self._find(head.target, scope)
        finally:
            body = self._inflate(request) if head.is_encoded else request.body
            is_small = len(body) <= _SMALL_BYTES_MAX
            # An error raised here takes the place of an unknown operation.
            parameters = decode(body) if body and is_small else None
        if not is_small:
            return _decode_large(operation, body, scope)
        return operation, parameters

    def identify(self, request: HttpRequest, scope: RequestScope) -> str | None:
        """Return the service that a request has to be signed for; unknown ones are refused."""
        return self._find(request.head.target, scope).service.signing_name

    def _find(self, target: bytes, scope: RequestScope) -> Operation:
        operation = self._operations.get(target)
        if operation is None:
            scope.service = ""
            scope.operation = target.rpartition(b".")[2].decode("latin-1")
            raise UnknownOperationException
        scope.service = operation.service.name
        scope.operation = operation.name
        return operation

    def encode(self, request: HttpRequest, scope: RequestScope, response: Response) -> HttpAnswer:
        """Return the answer of an operation that succeeded."""
        body = encode(response) if response else self._operations[request.head.target].empty_body
        return HttpAnswer(200, body, request.head.content_type or PLAIN_JSON)

    def encode_error(
        self, request: HttpRequest, scope: RequestScope, error: ClientError
    ) -> HttpAnswer:
        """Return an error document."""
        if isinstance(error, BodyTooLargeError):
            return TOO_LARGE
        content_type = request.head.content_type or PLAIN_JSON
        return HttpAnswer(error.status, encode(error.document()), content_type)

    def _inflate(self, request: HttpRequest) -> bytes:
        coding = request.headers.get(b"content-encoding", b"")
        return decode_body(coding, request.body, self._body_bytes_max)


async def _decode_large(
    operation: Operation, body: bytes, scope: RequestScope
) -> tuple[Operation, Request]:
    parameters = await decode_large(body)
    if body.count(b",") > _FEW_VALUES_MAX:
        scope.is_bulky = True
        await settle_numbers(parameters)
    return operation, parameters
