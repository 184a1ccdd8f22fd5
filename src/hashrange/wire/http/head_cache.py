"""Cache of parsed request heads.

The heads of a client's requests are equal, except for the signature and the invocation id that SDKs
generate for each request. The cache key is the head without these two parts, the cached value is
the parsed `Head`. Measured: see docs/decisions/0013-head-cache.md.

Invariant: `recall` returns what the parser would read from the same bytes. Therefore the two parts
may consist of letters, digits and hyphens only, which have no meaning to the parser, and they are
always looked for at the first place that announces them.
"""

from __future__ import annotations

from typing import Final, final

from hashrange.wire.http.messages import ID_NAME, SIGNATURE_BYTES, Head, HttpRequest

_END: Final = b"\r\n\r\n"
_LINE_END: Final = b"\r\n"
_SIGNATURE: Final = b"Signature="
# The part of the header name that is equal in title case (Go) and lower case (other SDKs).
_ID: Final = b"nvocation-"
_ID_SKIPPED: Final = len(b"nvocation-id: ")
_ID_BYTES: Final = 36
# A few kilobytes each at most; the date in a head changes every second.
_HEADS_MAX: Final = 512
_HEAD_BYTES_MAX: Final = 2048
# Requests with these headers need the parser.
_SPECIAL: Final = (b"expect", b"transfer-encoding", b"upgrade")


@final
class HeadCache:
    """The heads of recent requests; one cache per server process."""

    __slots__ = ("_heads",)

    def __init__(self) -> None:
        self._heads: dict[bytes, Head] = {}

    def recall(self, data: bytes) -> HttpRequest | None:
        """Return the request in these bytes if they are exactly one request with a known head."""
        end = data.find(_END) + len(_END)
        sign = data.find(_SIGNATURE, 0, end) + len(_SIGNATURE)
        mark = data.find(_ID, 0, end)
        if mark >= 0:
            mark += _ID_SKIPPED
        head = self._heads.get(_without(data, sign, mark, end))
        if head is None or len(data) - end != head.body_bytes:
            return None
        signature = data[sign : sign + SIGNATURE_BYTES]
        id = data[mark : mark + _ID_BYTES] if mark >= 0 else b""
        if not signature.isalnum() or (mark >= 0 and not _is_id(id)):
            return None
        return HttpRequest(head, data[end:], True, signature, id)

    def learn(self, data: bytes, request: HttpRequest) -> bool:
        """Cache the head of a request; tell whether the bytes are exactly this request."""
        end = data.find(_END) + len(_END)
        headers = request.head.headers
        if (
            len(data) - end != len(request.body)
            or data[end:] != request.body
            or not request.keep_alive
            or request.refusal is not None
            # One line per header, the request line, and an empty line.
            or data.count(_LINE_END, 0, end) != len(headers) + 2
            or any(name in headers for name in _SPECIAL)
        ):
            return False
        sign = data.find(_SIGNATURE, 0, end) + len(_SIGNATURE)
        mark = data.find(_ID, 0, end)
        if mark >= 0:
            mark += _ID_SKIPPED
        key = _without(data, sign, mark, end)
        if (
            key
            and end <= _HEAD_BYTES_MAX
            and _has_signature(data, sign, headers.get(b"authorization", b""))
            and (mark < 0 or _has_id(data, mark))
        ):
            if len(self._heads) >= _HEADS_MAX:
                self._heads.clear()
            request.head.body_bytes = len(request.body)
            self._heads[key] = request.head
        return True


def _without(data: bytes, sign: int, mark: int, end: int) -> bytes:
    """Return a head without its signature and invocation id; empty if they do not fit in.

    Compiled code raises an error for a slice that begins behind its end.
    """
    signed = sign + SIGNATURE_BYTES
    marked = mark + _ID_BYTES
    if mark < 0:
        return data[:sign] + data[signed:end] if signed <= end else b""
    if marked <= sign and signed <= end:
        return data[:mark] + data[marked:sign] + data[signed:end]
    if signed <= mark and marked <= end:
        return data[:sign] + data[signed:mark] + data[marked:end]
    return b""


def _has_signature(data: bytes, sign: int, authorization: bytes) -> bool:
    """Tell whether the signature ends the Authorization header that the parser read."""
    line = _line(data, sign, sign + SIGNATURE_BYTES)
    name, _, value = line.partition(b": ")
    return name.lower() == b"authorization" and value == authorization + _LINE_END


def _has_id(data: bytes, mark: int) -> bool:
    """Tell whether the invocation id is the whole value of its header."""
    line = _line(data, mark, mark + _ID_BYTES)
    id = data[mark : mark + _ID_BYTES]
    return line.lower() == ID_NAME + b": " + id.lower() + _LINE_END


def _line(data: bytes, within: int, end: int) -> bytes:
    """Return the line around a position, up to a given end and its line end."""
    start = data.rfind(_LINE_END, 0, within) + len(_LINE_END)
    return data[start : end + len(_LINE_END)]


def _is_id(id: bytes) -> bool:
    return len(id) == _ID_BYTES and id.translate(None, b"-").isalnum()
