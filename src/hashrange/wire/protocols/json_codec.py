"""JSON bodies: decoding, encoding and decompression.

`decode` is bounded: orjson refuses documents nested deeper than 1024 levels, and `inflate` stops at
the size of body the server accepts.
"""

from __future__ import annotations

import zlib
from typing import Any

import orjson

from hashrange.errors import ClientError, SerializationException

_GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS


class BodyTooLargeError(ClientError):
    """A compressed body is larger than the server accepts once it is inflated."""

    status = 413


def decode(body: bytes) -> dict[str, Any]:
    """Return the JSON object of a body; AWS gives no detail about a body that is none."""
    try:
        request = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise SerializationException from None
    if type(request) is not dict:
        raise SerializationException("Unexpected value type in payload")
    return request


encode = orjson.dumps


def inflate(body: bytes, body_bytes_max: int) -> bytes:
    """Return a gzip or zlib body decompressed."""
    decompressor = zlib.decompressobj(_GZIP_OR_ZLIB)
    try:
        inflated = decompressor.decompress(body, body_bytes_max)
    except zlib.error:
        raise SerializationException from None
    if decompressor.unconsumed_tail:
        raise BodyTooLargeError
    if not decompressor.eof:
        raise SerializationException
    return inflated
