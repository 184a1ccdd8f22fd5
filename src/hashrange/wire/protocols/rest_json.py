"""The codec of Lambda: REST-JSON, with the operation in method and path.

Errors have their type in the header `x-amzn-ErrorType`. Requests that a browser sends for a web
page (they have an `Origin`) are refused: a page must not be able to register functions on the
machine of its reader.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final, final
from urllib.parse import parse_qsl, unquote

from hashrange.api.operation import Operation, Request, Response, Route, Service
from hashrange.api.scope import RequestScope
from hashrange.api.shapes.scalars import Number
from hashrange.errors import (
    AccessDeniedException,
    ClientError,
    InternalServerError,
    UnknownOperationException,
)
from hashrange.wire.http.messages import PLAIN_JSON, HttpAnswer, HttpRequest
from hashrange.wire.protocols.json_codec import decode, encode

_PLACEHOLDER: Final = re.compile(r"\{(\w+)\}")
# Statuses in which Lambda's errors differ from DynamoDB's errors of the same name.
_STATUSES: Final = {
    "AccessDeniedException": 403,
    "ResourceNotFoundException": 404,
    "UnknownOperationException": 404,
    "InvalidSignatureException": 403,
    "MissingAuthenticationTokenException": 403,
    "UnrecognizedClientException": 403,
}
# Errors whose text Lambda sends as `Message`.
_CAPITALISED: Final = frozenset(
    ("AccessDeniedException", "ResourceInUseException", "ResourceNotFoundException")
)


@final
class _Path:
    """An operation with its compiled route."""

    __slots__ = ("method", "operation", "pattern", "prefix", "status")

    def __init__(self, operation: Operation, route: Route) -> None:
        self.operation = operation
        self.method = route.method.encode()
        self.pattern = re.compile(_PLACEHOLDER.sub(r"(?P<\1>[^/]+)", route.path))
        self.status = route.status
        # The first part of the path, which no other protocol uses.
        self.prefix = f"/{route.path.split('/')[1]}/".encode()


@final
class RestJson:
    """Decodes and encodes for the services whose operations have routes."""

    def __init__(self, services: Iterable[Service]) -> None:
        self._paths = [
            _Path(operation, operation.route)
            for service in services
            for operation in service.operations.values()
            if operation.route is not None
        ]
        self._prefixes = tuple({path.prefix for path in self._paths})
        self._statuses = {
            (path.operation.service.name, path.operation.name): path.status for path in self._paths
        }

    def owns(self, url: bytes) -> bool:
        """Tell whether a request belongs to one of the services."""
        return url.startswith(self._prefixes)

    def decode(self, request: HttpRequest, scope: RequestScope) -> tuple[Operation, Request]:
        """Return the operation, and its parameters from body, path and query."""
        url = request.head.url.decode("latin-1")
        path, _, query = url.partition("?")
        operation, values = self._find(request.head.method, path.rstrip("/"), scope)
        if request.head.has_origin:
            raise AccessDeniedException("Requests of web pages are not accepted here.")
        if operation is None:
            raise UnknownOperationException("There is no such operation")
        parameters = decode(request.body) if request.body else {}
        shapes = operation.shape.members
        for name, text in parse_qsl(query):
            is_number = isinstance(shapes.get(name), Number) and text.isdecimal()
            parameters[name] = int(text) if is_number else text
        parameters |= {name: unquote(text) for name, text in values.items()}
        return operation, parameters

    def _find(
        self, method: bytes, path: str, scope: RequestScope
    ) -> tuple[Operation | None, dict[str, Any]]:
        """Return the operation of a path with the values of its placeholders."""
        for known in self._paths:
            match = known.pattern.fullmatch(path)
            if match is not None and known.method == method:
                scope.service = known.operation.service.name
                scope.operation = known.operation.name
                return known.operation, match.groupdict()
        scope.service = scope.operation = ""
        return None, {}

    def encode(self, request: HttpRequest, scope: RequestScope, response: Response) -> HttpAnswer:
        """Return the answer of an operation that succeeded."""
        status = self._statuses[scope.service, scope.operation]
        return HttpAnswer(status, encode(response), PLAIN_JSON)

    def encode_error(
        self, request: HttpRequest, scope: RequestScope, error: ClientError
    ) -> HttpAnswer:
        """Return an error document, with the type of the error in a header."""
        code = "ServiceException" if isinstance(error, InternalServerError) else error.code
        text = "Message" if error.code in _CAPITALISED else "message"
        document = {"Type": "Service" if error.status >= 500 else "User", text: error.message}
        extra = f"x-amzn-ErrorType: {code}\r\n".encode()
        return HttpAnswer(_STATUSES.get(code, error.status), encode(document), PLAIN_JSON, extra)
