"""Routes HTTP requests: to the API, to the health checks, or to the answer for browsers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from typing import Any, Final, final

import orjson

from hashrange.api.operation import Service
from hashrange.wire.http.bounds import Bounds
from hashrange.wire.http.content_encoding import (
    LARGE_BYTES,
    PLAIN_BYTES_MAX,
    encode_body,
    encode_large_body,
)
from hashrange.wire.http.messages import (
    NOT_FOUND,
    PLAIN_JSON,
    TEXT,
    HttpAnswer,
    HttpRequest,
)
from hashrange.wire.http.responses import ResponseWriter
from hashrange.wire.http.visitors import Visitors
from hashrange.wire.neighbour_codec import NeighbourCodec, find_call
from hashrange.wire.pipeline import Pipeline
from hashrange.wire.protocols.rest_json import RestJson
from hashrange.wire.protocols.target_json import TargetJson
from hashrange.wire.scrapes import Scrapes
from hashrange.wire.services import Neighbours

_PREFLIGHT_SECONDS: Final = 172800
# The request has no signature with a region.
_HEALTHY: Final = HttpAnswer(200, b"healthy: dynamodb.us-east-1.amazonaws.com ", TEXT)


Health = Callable[[], tuple[bool, dict[str, object]]]
"""Tells whether the engine works, and what there is to know about it."""


def no_health() -> tuple[bool, dict[str, object]]:
    """Tell of an engine in this process, which works as long as the process does."""
    return True, {"engine": "local"}


@final
class Router:
    """Answers requests; one per server process, shared by its connections."""

    def __init__(
        self,
        pipeline: Pipeline,
        services: Iterable[Service],
        neighbours: Neighbours,
        visitors: Visitors,
        bounds: Bounds,
        scrapes: Scrapes | None = None,
    ) -> None:
        self.writer = ResponseWriter()
        self.health: Health = no_health
        # Set while the server stops, so that clients go elsewhere.
        self.is_stopping = False
        by_protocol: dict[str, list[Service]] = {"json": [], "rest-json": []}
        for service in services:
            by_protocol[service.protocol].append(service)
        self._pipeline = pipeline
        self._neighbours = neighbours
        self._visitors = visitors
        self._scrapes = scrapes
        self._json = TargetJson(by_protocol["json"], bounds.body_bytes_max)
        self._rest = RestJson(by_protocol["rest-json"])

    def respond(self, request: HttpRequest) -> Coroutine[Any, Any, None]:
        """Return the coroutine that makes the response to a request."""
        if not request.head.is_examined:
            self._visitors.examine(request)
        if request.refusal is not None:
            return self._answer(request)
        if request.head.is_own_call:
            return self._call(request)
        codec = find_call(self._neighbours, request)
        if codec is not None:
            return self._call_neighbour(request, codec)
        return self._call(request) if request.head.is_call else self._answer(request)

    async def _call_neighbour(self, request: HttpRequest, codec: NeighbourCodec) -> None:
        """Answer a request to a neighbour service."""
        request_id = self.writer.next_request_id()
        answer = await self._pipeline.answer(request, codec, request_id)
        self._render(request_id, request, answer)
        if answer.pieces is not None:
            await _send_pieces(request, answer.pieces)

    async def _call(self, request: HttpRequest) -> None:
        """Answer a request to `POST /`."""
        request_id = self.writer.next_request_id()
        if request.head.content_type is None and request.body:
            self._render(request_id, request, NOT_FOUND)
            return
        answer = await self._pipeline.answer(request, self._json, request_id)
        if len(answer.body) > LARGE_BYTES:
            await _compress(request, answer)
        self._render(request_id, request, answer)

    async def _answer(self, request: HttpRequest) -> None:
        """Answer any other request."""
        request_id = self.writer.next_request_id()
        if request.refusal is not None:
            answer = request.refusal
        elif self._rest.owns(request.head.url):
            answer = await self._pipeline.answer(request, self._rest, request_id)
        elif self._scrapes is not None and _is_scrape(request):
            answer = await self._scrapes.answer(request)
        else:
            answer = self._other(request)
        self._render(request_id, request, answer)

    def _render(self, request_id: bytes, request: HttpRequest, answer: HttpAnswer) -> None:
        head = request.head
        body, extra = answer.body, answer.extra
        if len(body) > PLAIN_BYTES_MAX:
            accepted = head.headers.get(b"accept-encoding")
            if accepted is not None and b"Content-Encoding: " not in extra:
                body, line = encode_body(accepted, body)
                extra += line
        response = self.writer.render(
            request_id,
            answer.status,
            body,
            answer.content_type,
            extra,
            closing=self.is_stopping or not request.keep_alive,
            reader=head.reader,
            body_bytes=answer.length,
        )
        request.response = response.removesuffix(body) if head.method == b"HEAD" else response

    def _other(self, request: HttpRequest) -> HttpAnswer:
        path = request.head.url.partition(b"?")[0]
        if request.head.method in (b"GET", b"HEAD"):
            if path == b"/":
                return _HEALTHY
            if path == b"/healthz":
                return HttpAnswer(200, b"ok\n", TEXT)
            if path == b"/healthz/engine":
                is_well, details = self.health()
                return HttpAnswer(
                    200 if is_well else 503, orjson.dumps(details) + b"\n", PLAIN_JSON
                )
            if path == b"/readyz":
                if self.is_stopping:
                    return HttpAnswer(503, b"stopping\n", TEXT)
                return HttpAnswer(200, b"ready\n", TEXT)
        elif request.head.method == b"OPTIONS" and request.head.reader:
            return _preflight(request)
        return NOT_FOUND


async def _compress(request: HttpRequest, answer: HttpAnswer) -> None:
    """Compress a large answer, if the client wants that, while others are answered."""
    accepted = request.head.headers.get(b"accept-encoding")
    if accepted is not None:
        answer.body, line = await encode_large_body(accepted, answer.body)
        answer.extra += line


async def _send_pieces(request: HttpRequest, pieces: AsyncIterator[bytes]) -> None:
    """Send a head and, unless only that was asked for, the body behind it in pieces."""
    if request.head.method == b"HEAD":
        return
    sink = request.peer.sink
    assert sink is not None, "a request with a streamed answer came through a connection"
    head, request.response = request.response, b""
    try:
        await sink.send(head)
        async for piece in pieces:
            await sink.send(piece)
    except ConnectionError:
        return
    except Exception:
        # The head promised more; only the end of the connection can tell that it does not come.
        sink.abort()
        raise


def _is_scrape(request: HttpRequest) -> bool:
    head = request.head
    return head.method == b"GET" and head.url.partition(b"?")[0] == b"/metrics"


def _preflight(request: HttpRequest) -> HttpAnswer:
    extra = b"Access-Control-Max-Age: %d\r\n" % _PREFLIGHT_SECONDS
    for asked, allowed in (
        (b"access-control-request-headers", b"Access-Control-Allow-Headers"),
        (b"access-control-request-method", b"Access-Control-Allow-Methods"),
    ):
        if asked in request.headers:
            extra += b"%b: %b\r\n" % (allowed, request.headers[asked])
    return HttpAnswer(200, b"", b"", extra)
