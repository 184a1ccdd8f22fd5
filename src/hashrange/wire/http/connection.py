"""One client connection: parses requests and writes responses in the same order.

Invariants:
1. At most one request of a connection is being answered; later ones are in `_waiting`.
2. A response is written with one call, and never after the connection was lost or closed.
3. Requests are answered, and their responses sent, at the end of the turn of the event loop (see
   `loop_turn`). Held responses are flushed before anything else is written or closed.
4. A handler that does not suspend (every read) needs no task. A handler that suspends is resumed by
   the future it waits for. Handlers may therefore not use features that need a current task
   (`asyncio.timeout`, `TaskGroup`).
5. Reading pauses while too many requests wait, or while the client does not read its answers. What
   was received by then and not parsed is in `_backlog`.
6. A turn answers only a few requests of each connection, the rest in later turns.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, final

from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser

from hashrange.api.scope import IN_PROCESS, Peer
from hashrange.pauses import begin_resuming, end_resuming
from hashrange.wire.http.head_sizes import head_bytes, refuse_sizes
from hashrange.wire.http.messages import (
    HEADERS_TOO_LARGE,
    MALFORMED,
    NOT_FOUND,
    TIMED_OUT,
    TOO_LARGE,
    Head,
    Headers,
    HttpAnswer,
    HttpRequest,
    head_without_upgrade,
    lower_names,
)
from hashrange.wire.http.overload import BUSY, refuse_overload
from hashrange.wire.http.phase import Phase
from hashrange.wire.http.stream_sink import StreamSink
from hashrange.wire.http.suspension import resume_after

if TYPE_CHECKING:
    from hashrange.wire.http.head_cache import Frame
    from hashrange.wire.http.server import Server

# The result of `next` for a coroutine that has ended; cheaper than catching StopIteration.
_DONE: Final = object()
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
# Marks a request that has to be parsed again; never sent.
_UPGRADE = HttpAnswer(426, b"")
# A content length with at most this many digits is left to `on_body`, which counts bytes.
_SHORT_LENGTH_DIGITS = 6
# Bytes parsed before the number of waiting requests is looked at, in a body and outside.
_BODY_PIECE_BYTES = 64 * 1024
_PIECE_BYTES = 4 * 1024
# A body of more pieces than this whose pieces are smaller than that is not worth its reading.
_PIECES_MAX = 2048
_PIECE_BYTES_MIN = 64
# Requests of one connection that are answered in one turn while there are other connections.
_ANSWERS_PER_TURN = 4

# Module constants, because looking up enum members is slow.
_IDLE: Final = Phase.IDLE
_HEADER: Final = Phase.HEADER
_BODY: Final = Phase.BODY
_LINGER: Final = Phase.LINGER


@final
class Connection:
    """The protocol object of one socket.

    Event loops need only the methods; without a base class, mypyc can compile it to a native one.
    """

    __slots__ = (
        "_age",
        "_answered",
        "_answering",
        "_backlog",
        "_body",
        "_frame",
        "_header_bytes",
        "_headers",
        "_is_at_start",
        "_is_fresh",
        "_is_half_closed",
        "_is_paused",
        "_is_queued",
        "_is_surplus",
        "_parser",
        "_peer",
        "_pieces",
        "_received_bytes",
        "_refusal",
        "_server",
        "_transport",
        "_turn",
        "_url",
        "_waiting",
        "_wants_continue",
        "body_bytes",
        "is_choked",
        "phase",
        "since",
    )

    def __init__(self, server: Server) -> None:
        self._server = server
        self._turn = server.turn
        self._transport: asyncio.Transport | None = None
        self._parser = HttpRequestParser(self)
        self._peer = IN_PROCESS
        self._waiting: deque[HttpRequest] = deque()
        # The request being answered, and its suspended handler.
        self._answered: HttpRequest | None = None
        self._answering: Iterator[Any] | None = None
        # Whether the next bytes begin a request, and how the last one began.
        self._is_at_start = True
        self._frame: Frame | None = None
        # Whether the client does not read its responses.
        self.is_choked = False
        self._is_fresh = self._is_half_closed = self._is_paused = False
        self._is_queued = self._is_surplus = self._wants_continue = False
        self._age = 0  # of the request being answered, if it has paused
        self._received_bytes = 0
        self._backlog = b""
        self.phase: Phase = _IDLE
        self.since = server.now
        self._begin_request()

    def _begin_request(self) -> None:
        self._url = b""
        self._headers: Headers = {}
        # A bytearray if it came in several pieces.
        self._body: bytes | bytearray = b""
        self.body_bytes = 0
        self._pieces = 0
        self._header_bytes = 0
        self._refusal: HttpAnswer | None = None

    @property
    def is_owed(self) -> bool:
        """Whether the client waits for an answer."""
        return self._answering is not None or bool(self._waiting)

    @property
    def unsent_bytes(self) -> int:
        """The bytes of unread answers."""
        return 0 if self._transport is None else self._transport.get_write_buffer_size()

    # Called by the event loop.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        stream: asyncio.Transport = transport  # type: ignore[assignment]  # always
        self._transport = stream
        address = transport.get_extra_info("peername")
        is_secure = transport.get_extra_info("sslcontext") is not None
        sink = StreamSink(self, stream, self._turn)
        cipher = transport.get_extra_info("cipher")
        tls = (cipher[1], cipher[0]) if cipher else None
        self._peer = Peer(address[0] if address else "", is_secure=is_secure, sink=sink, tls=tls)
        if not self._server.admit(self):
            stream.abort()
        self._is_surplus = self._server.has_surplus

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self.phase = _LINGER
        self._drop_input()
        self._server.forget(self)
        # The parser refers back to this object; without it, both go as soon as they are let go.
        self._parser = None  # type: ignore[assignment]

    def pause_writing(self) -> None:
        self.is_choked = True
        self.since = self._server.now
        self._pause_reading()
        self._server.note_choked(self)

    def resume_writing(self) -> None:
        self.is_choked = False
        self._server.choked.discard(self)
        self.answer_waiting()

    def eof_received(self) -> bool:
        """Keep the socket open until the outstanding answers are sent; TLS has no half-close."""
        self._turn.flush()
        self._is_half_closed = True
        return self.is_owed and not self._peer.is_secure

    def data_received(self, data: bytes) -> None:
        server = self._server
        request = server.head_cache.recall(data, self._frame) if self._is_at_start else None
        if (
            request is None
            or server.buffered_bytes + len(request.body) > server.bounds.buffered_bytes_max
        ):
            self._read(data)
        else:
            server.buffered_bytes += len(request.body)
            self.since = server.now
            self._frame = request.head.frame
            self._waiting.append(request)
        if self._waiting and self._answering is None and not self.is_choked:
            self._queue()
        if len(self._waiting) >= server.bounds.pipeline_max:
            self._pause_reading()

    def _queue(self) -> None:
        if not self._is_queued:
            self._is_queued = True
            self._turn.answer(self)

    def _read(self, data: bytes) -> None:
        """Parse bytes that do not begin with a known head; cache the head of a whole request."""
        before = len(self._waiting)
        self._parse(data)
        self._is_at_start = len(self._waiting) == before + 1 and self._server.head_cache.learn(
            data, self._waiting[-1]
        )

    def _parse(self, data: bytes) -> None:
        if self._backlog:
            data, self._backlog = self._backlog + data, b""
        while data and self.phase is not _LINGER:
            if len(self._waiting) >= self._server.bounds.pipeline_max:
                self._backlog = data
                return
            piece_bytes = _BODY_PIECE_BYTES if self.phase is _BODY else _PIECE_BYTES
            piece, data = data[:piece_bytes], data[piece_bytes:]
            self._received_bytes = len(piece)
            self._is_fresh = False
            try:
                self._parser.feed_data(piece)
            except HttpParserUpgrade as upgrade:
                data = self._decline_upgrade() + piece[upgrade.args[0] :] + data
            except HttpParserError:
                self._refusal = self._refusal or MALFORMED
            if self._refusal is not None:
                self._refuse_rest(self._refusal)
            elif self.phase is _HEADER:
                # Bytes of earlier requests do not count towards a header that begins here.
                self._header_bytes += (
                    head_bytes(self._url, self._headers) if self._is_fresh else self._received_bytes
                )
                if self._header_bytes > self._server.bounds.header_bytes_max:
                    self._refuse_rest(HEADERS_TOO_LARGE)

    def _decline_upgrade(self) -> bytes:
        """Return a head without its offer to upgrade, after which the parser reads no body."""
        if self._refusal is None:
            # CONNECT, after which nothing on this connection would be HTTP.
            self._waiting.pop()
            self._refusal = NOT_FOUND
        if self._refusal is not _UPGRADE:
            return b""
        head = head_without_upgrade(self._parser.get_method(), self._url, self._headers)
        self._parser = HttpRequestParser(self)
        self._begin_request()
        return head

    # Called by the parser.

    def on_url(self, url: bytes) -> None:
        self._is_fresh = self._is_fresh or not self._url
        self._url += url
        self.phase = _HEADER
        self.since = self._server.now

    def on_header(self, name: bytes, value: bytes) -> None:
        if self.phase is _HEADER:  # not a trailer
            self._headers[lower_names[name]] = value

    def on_headers_complete(self) -> None:
        headers = self._headers
        self.phase = _BODY
        if (
            len(headers.get(b"content-length", b"")) > _SHORT_LENGTH_DIGITS
            # Summing is only worthwhile when this much has arrived; the first piece counts less.
            or self._header_bytes + self._received_bytes + _PIECE_BYTES
            > self._server.bounds.header_bytes_max
        ):
            self._refusal = refuse_sizes(self._url, headers, self._server.bounds)
        if self._refusal is not None:
            return
        if b"upgrade" in headers and self._parser.should_upgrade():
            self._refusal = _UPGRADE
        elif b"expect" in headers:
            self._expect(headers[b"expect"])

    def on_body(self, body: bytes) -> None:
        if self._refusal is not None:
            return
        server = self._server
        size = len(body)
        self.body_bytes += size
        self._pieces += 1
        server.buffered_bytes += size
        if not self._body:
            self._body = body
        else:
            if type(self._body) is not bytearray:
                self._body = bytearray(self._body)
            self._body += body
        if self.body_bytes > server.bounds.body_bytes_max:
            self._refusal = TOO_LARGE
        elif self._pieces > _PIECES_MAX and self.body_bytes < self._pieces * _PIECE_BYTES_MIN:
            self._refusal = MALFORMED
        elif server.is_crowded_by(self.body_bytes):
            self._refusal = server.relieve(self)

    def on_message_complete(self) -> None:
        if self._refusal is not None:
            return
        parser = self._parser
        body = bytes(self._body)
        head = Head(parser.get_method(), self._url, self._headers)
        self._waiting.append(HttpRequest(head, body, parser.should_keep_alive()))
        self._begin_request()
        self.phase = _IDLE
        self.since = self._server.now

    # Refusals, time limits and the end.

    def expire(self) -> None:
        """Close the connection of a client that exceeded a time limit."""
        if self._transport is None:
            return
        if self.phase is _LINGER or self.is_choked:
            self._transport.abort()
        elif self.phase is _IDLE:
            self._turn.flush()
            self._transport.close()
        else:
            self._refuse_rest(TIMED_OUT)
            self.answer_waiting()

    def close_when_idle(self) -> None:
        """Close if idle; otherwise the answer to the current request closes."""
        if self._transport is not None and self.phase is _IDLE and not self.is_owed:
            self._turn.flush()
            self._transport.close()

    def abort(self) -> None:
        """Drop the connection and everything that was not sent."""
        if self._transport is not None:
            self._transport.abort()

    def shed_body(self) -> None:
        """Refuse the request that is being received, because its body takes too much memory."""
        self._refuse_rest(BUSY)
        self._queue()

    def _refuse_rest(self, refusal: HttpAnswer) -> None:
        """Answer unreadable input in its turn, then close the connection."""
        self._server.buffered_bytes -= self.body_bytes
        request = HttpRequest(Head(b"", b"", self._headers), b"", keep_alive=False)
        request.refusal = refusal
        self._begin_request()
        self.phase = _LINGER
        self.since = self._server.now
        self._waiting.append(request)

    def _drop_input(self) -> None:
        """Discard requests that will not be answered."""
        self._server.buffered_bytes -= self.body_bytes
        self._server.buffered_bytes -= sum(len(request.body) for request in self._waiting)
        self._begin_request()
        self._waiting.clear()
        self._backlog = b""

    def _expect(self, expectation: bytes) -> None:
        if expectation.lower() != b"100-continue" or self._transport is None:
            return
        if self.is_owed:
            # 100 Continue must not overtake earlier answers.
            self._wants_continue = True
        else:
            self._turn.flush()
            self._transport.write(_CONTINUE)

    def _pause_reading(self) -> None:
        if not self._is_paused and self._transport is not None:
            self._is_paused = True
            self._transport.pause_reading()

    # Answering.

    def answer_waiting(self) -> None:
        """Answer waiting requests in order until a handler suspends or the client stops reading."""
        if self._answering is not None:
            return
        waiting = self._waiting
        server = self._server
        self._is_queued = False
        answers = _ANSWERS_PER_TURN
        while waiting and not self.is_choked:
            if not answers and self._turn.is_shared:
                self._queue()
                return
            answers -= 1
            request = waiting.popleft()
            server.buffered_bytes -= len(request.body)
            request.peer = self._peer
            if self._is_surplus or server.in_flight >= server.bounds.in_flight_max:
                refuse_overload(request, is_surplus=self._is_surplus)
            answering = server.respond(request).__await__()
            awaited = next(answering, _DONE)
            if awaited is _DONE:
                self._write(request)
                continue
            self._age = end_resuming()
            self._answered = request
            self._answering = answering
            server.in_flight += 1
            server.buffered_bytes += len(request.body)
            resume_after(self._server.loop, awaited, self._resume)
            return
        if not waiting and (
            self._is_paused or self._backlog or self._wants_continue or self._is_half_closed
        ):
            self._catch_up()

    def _catch_up(self) -> None:
        """Do the actions that had to wait for the last answer."""
        transport = self._transport
        if transport is None or self.is_choked:
            return
        self._turn.flush()
        if self._backlog:
            self._parse(b"")
            if self._waiting:
                self._queue()
                return
        if self._wants_continue:
            self._wants_continue = False
            if self.phase is _BODY:
                transport.write(_CONTINUE)
        if self._is_paused:
            self._is_paused = False
            transport.resume_reading()
        if self._is_half_closed:
            transport.close()

    def _resume(self, _: object = None) -> None:
        request, answering = self._answered, self._answering
        assert request is not None
        assert answering is not None
        begin_resuming(self._age)
        try:
            awaited = next(answering, _DONE)
        except BaseException:
            # Not an Exception, which the pipeline catches; the client must not wait for ever.
            self._end_answer(request)
            self.abort()
            raise
        self._age = end_resuming()
        if awaited is not _DONE:
            resume_after(self._server.loop, awaited, self._resume)
            return
        self._end_answer(request)
        self._write(request)
        self.answer_waiting()

    def _end_answer(self, request: HttpRequest) -> None:
        self._age = 0
        self._answered = None
        self._answering = None
        self._server.in_flight -= 1
        self._server.buffered_bytes -= len(request.body)

    def _write(self, request: HttpRequest) -> None:
        transport = self._transport
        if transport is None:
            return
        if request.keep_alive and not self._server.is_stopping:
            self._turn.send(transport, request.response)
            return
        self._turn.flush()
        transport.write(request.response)
        self._drop_input()
        if self.phase is _LINGER and not self._is_half_closed:
            # Closing at once would reset the connection of a client that is still sending, which
            # might then never see the answer.
            if transport.can_write_eof():
                transport.write_eof()
        else:
            self.phase = _LINGER
            transport.close()
        self.since = self._server.now
