"""HTTP messages: a request that was read completely, and an answer before it is written."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Final, final

from hashrange.api.scope import IN_PROCESS

if TYPE_CHECKING:
    from hashrange.wire.http.head_cache import Frame

Headers = dict[bytes, bytes]
"""Header names in lower case."""

ID_NAME: Final = b"amz-sdk-invocation-id"
SIGNATURE_BYTES: Final = 64
_KEPT_NAMES_MAX = 1000
_KEPT_NAME_BYTES_MAX = 64

JSON_1_0 = b"application/x-amz-json-1.0"
JSON_1_1 = b"application/x-amz-json-1.1"
PLAIN_JSON = b"application/json"
XML = b"application/xml"
TEXT = b"text/plain"

# The content types of JSON requests, and the content type of the answer.
CONTENT_TYPES = {JSON_1_0: JSON_1_0, JSON_1_1: JSON_1_1, PLAIN_JSON: PLAIN_JSON}


class _LowerNames(dict[bytes, bytes]):
    """Cache from header names as they were sent to lower case; clients use few names."""

    def __missing__(self, name: bytes) -> bytes:
        lower = name.lower()
        if len(name) <= _KEPT_NAME_BYTES_MAX and len(self) < _KEPT_NAMES_MAX:
            self[name] = lower
        return lower


lower_names: Final = _LowerNames()


@final
class Head:
    """The request line and the headers of a request, and what the server derives from them.

    Requests that differ only in signature and invocation id share one head; see `head_cache`.
    """

    __slots__ = (
        "agent",
        "at",
        "authorization_start",
        "body_bytes",
        "content_type",
        "frame",
        "headers",
        "is_call",
        "is_encoded",
        "is_examined",
        "is_own_call",
        "is_plainly_signed",
        "method",
        "origin",
        "reader",
        "signing",
        "target",
        "trace",
        "url",
    )

    def __init__(self, method: bytes, url: bytes, headers: Headers) -> None:
        self.method = method
        self.url = url
        self.headers = headers
        self.agent = headers.get(b"user-agent", b"")
        self.is_call = method == b"POST" and (url == b"/" or url[:2] == b"/?")
        self.content_type = _json_content_type(headers.get(b"content-type", b""))
        self.target = headers.get(b"x-amz-target", b"")
        # The targets of DynamoDB and DynamoDB Streams begin like this, those of neighbours never.
        self.is_own_call = self.is_call and self.target.startswith(b"DynamoDB")
        # The web page that made the request, and the page that may read the answer; see `visitors`.
        self.origin = headers.get(b"origin")
        self.reader = b""
        self.is_examined = False
        self.is_encoded = b"content-encoding" in headers
        # The Authorization header without its signature: a client sends the same all day.
        self.authorization_start = headers.get(b"authorization", b"")[:-SIGNATURE_BYTES]
        self.is_plainly_signed = url == b"/" and b"x-amz-date" in headers
        # The W3C trace context, or else AWS's own form of it.
        self.trace = headers.get(b"traceparent") or headers.get(b"x-amzn-trace-id", b"")
        # The earlier time at which the request reads; see `api/recovery/time_travel`.
        self.at = headers.get(b"x-hashrange-at", b"")
        # What the verifier of signatures remembers for requests that share this head.
        self.signing: object = None
        # Where the head is cached, and the length of the bodies of requests that share it.
        self.frame: Frame | None = None
        self.body_bytes = 0


@final
class HttpRequest:
    """A request that was read completely and, later, the whole response to it.

    `signature` and `id` are those of this request if it shares its head with others.
    `refusal` is the answer to a request that must not be carried out.
    """

    __slots__ = (
        "_headers",
        "body",
        "head",
        "id",
        "keep_alive",
        "peer",
        "refusal",
        "response",
        "signature",
    )

    def __init__(
        self, head: Head, body: bytes, keep_alive: bool, signature: bytes = b"", id: bytes = b""
    ) -> None:
        self.head = head
        self.body = body
        self.keep_alive = keep_alive
        self.signature = signature
        self.id = id
        self.peer = IN_PROCESS
        self.refusal: HttpAnswer | None = None
        self.response = b""
        self._headers: Headers | None = None

    def add_headers(self, headers: Headers) -> None:
        """Add headers that came behind the body."""
        self._headers = {**self.headers, **headers}

    @property
    def headers(self) -> Headers:
        """The headers with this request's own signature and id."""
        headers = self._headers
        if headers is None:
            headers = self.head.headers
            if self.signature:
                headers = headers.copy()
                start = headers[b"authorization"][:-SIGNATURE_BYTES]
                headers[b"authorization"] = start + self.signature
                if self.id:
                    headers[ID_NAME] = self.id
            self._headers = headers
        return headers


@final
class HttpAnswer:
    """A status, a body with its type, and header lines beyond the usual ones.

    `length` is set if it is not that of the body: of an answer to HEAD, or one whose body comes
    in `pieces`.
    """

    __slots__ = ("body", "content_type", "extra", "length", "pieces", "status")

    def __init__(
        self, status: int, body: bytes, content_type: bytes = JSON_1_0, extra: bytes = b""
    ) -> None:
        self.status = status
        self.body = body
        self.content_type = content_type
        self.extra = extra
        self.length: int | None = None
        self.pieces: AsyncIterator[bytes] | None = None


NOT_FOUND: Final = HttpAnswer(404, b"<UnknownOperationException/>\n", XML)
TOO_LARGE: Final = HttpAnswer(413, b"<RequestEntityTooLargeException/>\n", XML)
HEADERS_TOO_LARGE: Final = HttpAnswer(400, b"<RequestHeaderSectionTooLargeException/>\n", XML)
MALFORMED: Final = HttpAnswer(400, b"<BadRequestException/>\n", XML)
TIMED_OUT: Final = HttpAnswer(408, b"<RequestTimeoutException/>\n", XML)


def _json_content_type(given: bytes) -> bytes | None:
    """Return the content type for the answer, or None when the request's is not JSON at all."""
    known = CONTENT_TYPES.get(given)
    if known is not None:
        return known
    return CONTENT_TYPES.get(given.partition(b";")[0].strip().lower())


def head_without_upgrade(method: bytes, url: bytes, headers: Headers) -> bytes:
    """Return the bytes of a head without its offer to speak another protocol."""
    lines = [b"%b %b HTTP/1.1" % (method, url)]
    lines += [
        b"%b: %b" % (name, value)
        for name, value in headers.items()
        if name not in (b"connection", b"upgrade")
    ]
    return b"\r\n".join(lines) + b"\r\n\r\n"
