"""HTTP messages of the router: a request as it was read, and an answer before it is written."""

from __future__ import annotations

from typing import Final, final

from hashrange.wire.auth.identity import Identity

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

# What a client may call its JSON, and what it is called in the answer.
CONTENT_TYPES = {JSON_1_0: JSON_1_0, JSON_1_1: JSON_1_1, PLAIN_JSON: PLAIN_JSON}


class _LowerNames(dict[bytes, bytes]):
    """Header names as they were sent, and in lower case; clients use few, always the same."""

    def __missing__(self, name: bytes) -> bytes:
        lower = name.lower()
        if len(name) <= _KEPT_NAME_BYTES_MAX and len(self) < _KEPT_NAMES_MAX:
            self[name] = lower
        return lower


lower_names: Final = _LowerNames()


@final
class Head:
    """What stands before the body of a request, and what the server reads in it.

    Many requests have the same one, but for a signature and an id; see `heads`.
    """

    __slots__ = (
        "body_bytes",
        "content_type",
        "has_origin",
        "headers",
        "identity",
        "is_call",
        "is_encoded",
        "method",
        "target",
        "url",
    )

    def __init__(self, method: bytes, url: bytes, headers: Headers) -> None:
        self.method = method
        self.url = url
        self.headers = headers
        self.is_call = method == b"POST" and (url == b"/" or url[:2] == b"/?")
        self.content_type = _json_content_type(headers.get(b"content-type", b""))
        self.target = headers.get(b"x-amz-target", b"")
        self.has_origin = b"origin" in headers
        self.is_encoded = b"content-encoding" in headers
        # Who sends requests with this head, whatever their signature and id.
        self.identity: Identity | None = None
        # How long the bodies of the requests with this head are, if there may be several.
        self.body_bytes = 0


@final
class HttpRequest:
    """A request, read completely, and the whole response to it, once there is one.

    `signature` and `id` are those of this request if it shares its head with others.
    `refusal` is set when it must not be carried out.
    """

    __slots__ = ("_headers", "body", "head", "id", "keep_alive", "refusal", "response", "signature")

    def __init__(
        self, head: Head, body: bytes, keep_alive: bool, signature: bytes = b"", id: bytes = b""
    ) -> None:
        self.head = head
        self.body = body
        self.keep_alive = keep_alive
        self.signature = signature
        self.id = id
        self.refusal: HttpAnswer | None = None
        self.response = b""
        self._headers: Headers | None = None

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
    """A status, a body with its type, and header lines beyond the usual ones."""

    __slots__ = ("body", "content_type", "extra", "status")

    def __init__(
        self, status: int, body: bytes, content_type: bytes = JSON_1_0, extra: bytes = b""
    ) -> None:
        self.status = status
        self.body = body
        self.content_type = content_type
        self.extra = extra


def _json_content_type(given: bytes) -> bytes | None:
    """Return the content type for the answer, or None when the request's is not JSON at all."""
    known = CONTENT_TYPES.get(given)
    if known is not None:
        return known
    return CONTENT_TYPES.get(given.partition(b";")[0].strip().lower())
