"""Operations that are found by method and path: those of triggers, in the manner of AWS Lambda.

Requests are signed as all others are. What a browser sends on behalf of some page (it has an
`Origin`) is refused: a page must not be able to register functions on the machine of its reader.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final, final
from urllib.parse import parse_qsl, unquote

from hashrange.api.operation import Operation
from hashrange.api.shapes.scalars import Number
from hashrange.errors import (
    AccessDeniedException,
    ClientError,
    InternalServerError,
    UnknownOperationException,
)
from hashrange.wire.auth.sigv4 import Authenticator
from hashrange.wire.dispatch import Dispatcher
from hashrange.wire.http.messages import PLAIN_JSON, HttpAnswer, HttpRequest
from hashrange.wire.protocols.json_codec import decode, encode

_PREFIXES: Final = (b"/2015-03-31/", b"/_hashrange/")
_PLACEHOLDER: Final = re.compile(r"\{(\w+)\}")
# Where Lambda's answers differ in status from those of DynamoDB to errors of the same name.
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
class Route:
    """An operation and where it is found; `{name}` in the path is a member of the request."""

    __slots__ = ("method", "operation", "path", "status")

    def __init__(self, method: str, path: str, operation: Operation, status: int = 200) -> None:
        self.method = method.encode()
        self.path = re.compile(_PLACEHOLDER.sub(r"(?P<\1>[^/]+)", path))
        self.operation = operation
        self.status = status


@final
class RestJson:
    """Answers requests by their paths."""

    def __init__(
        self, routes: Sequence[Route], dispatcher: Dispatcher, authenticator: Authenticator
    ) -> None:
        self._routes = routes
        self._dispatcher = dispatcher
        self._authenticator = authenticator

    def owns(self, url: bytes) -> bool:
        """Tell whether a request is one of these."""
        return url.startswith(_PREFIXES)

    async def answer(self, request: HttpRequest, request_id: bytes) -> HttpAnswer:
        """Return the answer to a request; raises nothing."""
        try:
            if request.head.has_origin:
                raise AccessDeniedException("Requests of web pages are not accepted here.")
            identity = self._authenticator.authenticate(request)
            route, members = self._find(request)
        except ClientError as error:
            return _error_answer(error)
        outcome = await self._dispatcher.perform(route.operation, members, identity, request_id)
        if isinstance(outcome, ClientError):
            return _error_answer(outcome)
        return HttpAnswer(route.status, encode(outcome), PLAIN_JSON)

    def _find(self, request: HttpRequest) -> tuple[Route, dict[str, Any]]:
        """Return the route of a request, and its members from body, path and query."""
        url = request.head.url.decode("latin-1")
        path, _, query = url.partition("?")
        path = path.rstrip("/")
        for route in self._routes:
            match = route.path.fullmatch(path)
            if match is None or route.method != request.head.method:
                continue
            members = decode(request.body) if request.body else {}
            shapes = route.operation.shape.members
            for name, text in parse_qsl(query):
                is_number = isinstance(shapes.get(name), Number) and text.isdecimal()
                members[name] = int(text) if is_number else text
            members |= {name: unquote(text) for name, text in match.groupdict().items()}
            return route, members
        raise UnknownOperationException("There is no such operation")


def _error_answer(error: ClientError) -> HttpAnswer:
    code = "ServiceException" if isinstance(error, InternalServerError) else error.code
    text = "Message" if error.code in _CAPITALISED else "message"
    document = {"Type": "Service" if error.status >= 500 else "User", text: error.message}
    extra = f"x-amzn-ErrorType: {code}\r\n".encode()
    status = _STATUSES.get(code, error.status)
    return HttpAnswer(status, encode(document), PLAIN_JSON, extra)
