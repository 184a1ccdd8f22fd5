"""HTTP messages of the edge: a request as it was read, and an answer before it is written."""

from __future__ import annotations

from typing import Final, final

Headers = dict[bytes, bytes]
"""Header names in lower case."""

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
class HttpRequest:
    """A request, read completely, and the whole response to it, once there is one.

    `refusal` is set when it must not be carried out.
    """

    __slots__ = ("body", "headers", "keep_alive", "method", "refusal", "response", "url")

    def __init__(
        self, method: bytes, url: bytes, headers: Headers, body: bytes, keep_alive: bool
    ) -> None:
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.keep_alive = keep_alive
        self.refusal: HttpAnswer | None = None
        self.response = b""


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


def json_content_type(headers: Headers) -> bytes | None:
    """Return the content type for the answer, or None when the request's is not JSON at all."""
    given = headers.get(b"content-type", b"")
    known = CONTENT_TYPES.get(given)
    if known is not None:
        return known
    return CONTENT_TYPES.get(given.partition(b";")[0].strip().lower())
