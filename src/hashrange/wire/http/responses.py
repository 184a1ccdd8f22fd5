"""Renders responses; the head comes from a template that is rebuilt once a second.

A head carries what AWS sends: `x-amzn-RequestId` (52 characters of [0-9A-V], unique per request)
and `x-amz-crc32`, the checksum of the body that SDKs verify.
"""

from __future__ import annotations

import os
from base64 import b32hexencode
from time import gmtime, strftime
from typing import Final, final

from hashrange.quick_zlib import crc32

_CORS_LINES = (
    b"Access-Control-Allow-Origin: %b\r\nVary: Origin\r\n"
    b"Access-Control-Expose-Headers: x-amzn-RequestId,x-amzn-ErrorType,x-amz-request-id,"
    b"x-amz-id-2,x-amzn-ErrorMessage,x-amz-crc32,Date\r\n"
)
# DynamoDB's request ids all end like this.
_REQUEST_ID_TAIL = b"VV4KQNSO5AEMVJF66Q9ASUAAJG"

# Spelt out, because the standard library's table is slow to import.
_PHRASES: Final = {
    200: "OK",
    201: "Created",
    202: "Accepted",
    204: "No Content",
    206: "Partial Content",
    304: "Not Modified",
    400: "Bad Request",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    408: "Request Timeout",
    409: "Conflict",
    410: "Gone",
    412: "Precondition Failed",
    413: "Payload Too Large",
    415: "Unsupported Media Type",
    416: "Range Not Satisfiable",
    422: "Unprocessable Content",
    429: "Too Many Requests",
    431: "Request Header Fields Too Large",
    500: "Internal Server Error",
    501: "Not Implemented",
    502: "Bad Gateway",
    503: "Service Unavailable",
    504: "Gateway Timeout",
}

_Key = tuple[int, bytes, bool, bytes]
_Template = tuple[bytes, bytes, bytes, bytes]
"""The bytes before the length, before the request id, before the checksum, and after it."""

# The last two digits of the counter and what follows them.
_REQUEST_ID_ENDS: Final = [b"%02X%b" % (low, _REQUEST_ID_TAIL) for low in range(256)]


@final
class ResponseWriter:
    """Renders answers to bytes and generates request ids."""

    def __init__(self) -> None:
        # Ten random characters per process, then sixteen of a counter.
        self._prefix = b32hexencode(os.urandom(10))[:10]
        self._count = int.from_bytes(os.urandom(5), "big") << 8
        self._request_id_start = b""
        self._templates: dict[_Key, _Template] = {}

    def next_request_id(self) -> bytes:
        """Return the id of a new request."""
        low = self._count & 0xFF
        if low == 0:
            self._request_id_start = b"%b%014X" % (self._prefix, self._count >> 8)
        self._count += 1
        return self._request_id_start + _REQUEST_ID_ENDS[low]

    def tick(self) -> None:
        """Drop the templates, because their Date is out of date."""
        self._templates.clear()

    def render(
        self,
        request_id: bytes,
        status: int,
        body: bytes,
        content_type: bytes,
        extra: bytes = b"",
        *,
        closing: bool,
        reader: bytes,
        body_bytes: int | None = None,
    ) -> bytes:
        """Return the whole response.

        `extra` are header lines beyond the usual ones, `reader` is the origin of an allowed page,
        `body_bytes` the length to tell of a body that is not in the response.
        """
        key = (status, content_type, closing, reader)
        template = self._templates.get(key)
        if template is None:
            template = self._templates[key] = _template(key)
        start, before_id, before_checksum, end = template
        body_bytes = len(body) if body_bytes is None else body_bytes
        length, checksum = str(body_bytes).encode(), str(crc32(body)).encode()
        if extra:
            end = end[:-2] + extra + b"\r\n"
        return b"".join(
            (start, length, before_id, request_id, before_checksum, checksum, end, body)
        )


def _template(key: _Key) -> _Template:
    status, content_type, closing, reader = key
    date = strftime("%a, %d %b %Y %H:%M:%S GMT", gmtime())
    start = b"".join(
        [
            f"HTTP/1.1 {status} {_PHRASES[status]}\r\n".encode(),
            f"Server: Server\r\nDate: {date}\r\n".encode(),
            b"Content-Type: " + content_type + b"\r\n" if content_type else b"",
            b"Content-Length: ",
        ]
    )
    connection = b"close" if closing else b"keep-alive"
    before_id = b"\r\nConnection: " + connection + b"\r\nx-amzn-RequestId: "
    end = b"\r\n" + (_CORS_LINES % reader if reader else b"") + b"\r\n"
    return start, before_id, b"\r\nx-amz-crc32: ", end
