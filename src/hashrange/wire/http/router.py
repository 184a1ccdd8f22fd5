"""What each HTTP request is answered: the API, the health routes, and what browsers ask first."""

from __future__ import annotations

import logging
from collections.abc import Coroutine
from time import perf_counter
from typing import Any, final

from hashrange.errors import ClientError, ServiceUnavailableException
from hashrange.wire.auth.sigv4 import Authenticator
from hashrange.wire.dispatch import Answer, Dispatcher
from hashrange.wire.http.bounds import Bounds
from hashrange.wire.http.messages import (
    JSON_1_0,
    PLAIN_JSON,
    TEXT,
    XML,
    HttpAnswer,
    HttpRequest,
)
from hashrange.wire.http.responses import ResponseWriter
from hashrange.wire.neighbour_calls import NeighbourCalls
from hashrange.wire.protocols.json_codec import BodyTooLargeError, encode, inflate
from hashrange.wire.protocols.rest_json import RestJson
from hashrange.wire.services import Call

_LOGGER = logging.getLogger("hashrange.requests")

NOT_FOUND = HttpAnswer(404, b"<UnknownOperationException/>\n", XML)
TOO_LARGE = HttpAnswer(413, b"<RequestEntityTooLargeException/>\n", XML)
HEADERS_TOO_LARGE = HttpAnswer(431, b"<RequestHeaderSectionTooLargeException/>\n", XML)
MALFORMED = HttpAnswer(400, b"<BadRequestException/>\n", XML)
TIMED_OUT = HttpAnswer(408, b"<RequestTimeoutException/>\n", XML)

_PREFLIGHT_SECONDS = 172800


def overloaded(reason: str) -> HttpAnswer:
    """Return the answer that tells SDKs to come back a little later."""
    error = ServiceUnavailableException(
        f"The server is overloaded: {reason}. Reduce the rate of requests and try again."
    )
    return HttpAnswer(error.status, encode(error.document()), JSON_1_0)


@final
class Router:
    """Answers requests; one per server process, shared by its connections."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        authenticator: Authenticator,
        bounds: Bounds,
        region: str,
        rest: RestJson | None = None,
        neighbours: NeighbourCalls | None = None,
    ) -> None:
        self.writer = ResponseWriter()
        # Set while the server stops, so that clients go elsewhere.
        self.is_stopping = False
        self._dispatcher = dispatcher
        self._authenticator = authenticator
        self._bounds = bounds
        self._rest = rest
        self._neighbours = neighbours
        self._logs_requests = _LOGGER.isEnabledFor(logging.DEBUG)
        self._health = HttpAnswer(200, f"healthy: dynamodb.{region}.amazonaws.com ".encode(), TEXT)

    def respond(self, request: HttpRequest) -> Coroutine[Any, Any, None]:
        """Return the coroutine that makes the response to a request."""
        if (
            request.head.target[:8] != b"DynamoDB"
            and request.refusal is None
            and self._neighbours is not None
        ):
            call = self._neighbours.find(request)
            if call is not None:
                return self._answer_neighbour(self._neighbours, call)
        if request.head.is_call and request.refusal is None:
            return self._call(request)
        return self._answer(request)

    async def _answer(self, request: HttpRequest) -> None:
        """Answer what is not a call of the API."""
        request_id = self.writer.next_request_id()
        if request.refusal is not None:
            answer = request.refusal
        elif self._rest is not None and self._rest.owns(request.head.url):
            answer = await self._rest.answer(request, request_id)
        else:
            answer = self._other(request)
        self._render(request_id, request, answer)

    async def _answer_neighbour(self, neighbours: NeighbourCalls, call: Call) -> None:
        """Answer a call of a neighbour service."""
        request_id = self.writer.next_request_id()
        self._render(request_id, call.request, await neighbours.answer(call, request_id))

    async def _call(self, request: HttpRequest) -> None:
        """Answer a call of the API."""
        request_id = self.writer.next_request_id()
        start = perf_counter() if self._logs_requests else 0.0
        head = request.head
        content_type = head.content_type
        if content_type is None:
            if request.body:
                self._render(request_id, request, NOT_FOUND)
                return
            content_type = PLAIN_JSON
        target = head.target
        body = request.body
        try:
            identity = head.identity or self._authenticator.authenticate(request)
            if head.is_encoded:
                body = self._inflate(request)
        except BodyTooLargeError:
            self._render(request_id, request, TOO_LARGE)
            return
        except ClientError as error:
            status, document = self._refuse(request, target, error)
        else:
            status, document = await self._dispatcher.answer(target, body, identity, request_id)
        if self._logs_requests:
            _log(request_id, target, status, perf_counter() - start)
        request.response = self.writer.render(
            request_id,
            status,
            document,
            content_type,
            closing=self.is_stopping or not request.keep_alive,
            cors=head.has_origin,
        )

    def _render(self, request_id: bytes, request: HttpRequest, answer: HttpAnswer) -> None:
        response = self.writer.render(
            request_id,
            answer.status,
            answer.body,
            answer.content_type,
            answer.extra,
            closing=self.is_stopping or not request.keep_alive,
            cors=request.head.has_origin,
        )
        request.response = (
            response.removesuffix(answer.body) if request.head.method == b"HEAD" else response
        )

    def _refuse(self, request: HttpRequest, target: bytes, refusal: ClientError) -> Answer:
        try:
            body = self._inflate(request)
        except (ClientError, BodyTooLargeError):
            body = b""
        return self._dispatcher.refuse(target, body, refusal)

    def _inflate(self, request: HttpRequest) -> bytes:
        coding = request.headers.get(b"content-encoding", b"").strip().lower()
        if coding in (b"", b"identity"):
            return request.body
        if coding in (b"gzip", b"x-gzip", b"deflate"):
            return inflate(request.body, self._bounds.body_bytes_max)
        return request.body

    def _other(self, request: HttpRequest) -> HttpAnswer:
        path = request.head.url.partition(b"?")[0]
        if request.head.method in (b"GET", b"HEAD"):
            if path == b"/":
                return self._health
            if path == b"/healthz":
                return HttpAnswer(200, b"ok\n", TEXT)
            if path == b"/readyz":
                if self.is_stopping:
                    return HttpAnswer(503, b"stopping\n", TEXT)
                return HttpAnswer(200, b"ready\n", TEXT)
        elif request.head.method == b"OPTIONS" and request.head.has_origin:
            return _preflight(request)
        return NOT_FOUND


def _log(request_id: bytes, target: bytes, status: int, seconds: float) -> None:
    operation = target.rpartition(b".")[2].decode("latin-1")
    _LOGGER.debug(
        "%s %d in %.1f ms, request %s", operation, status, seconds * 1000, request_id.decode()
    )


def _preflight(request: HttpRequest) -> HttpAnswer:
    extra = b"Access-Control-Max-Age: %d\r\n" % _PREFLIGHT_SECONDS
    for asked, allowed in (
        (b"access-control-request-headers", b"Access-Control-Allow-Headers"),
        (b"access-control-request-method", b"Access-Control-Allow-Methods"),
    ):
        if asked in request.headers:
            extra += b"%b: %b\r\n" % (allowed, request.headers[asked])
    return HttpAnswer(200, b"", b"", extra)
