"""JSON bodies: decoding, encoding and decompression.

`decode` is bounded: orjson refuses documents nested deeper than 1024 levels.
"""

from __future__ import annotations

from typing import Any

import orjson

from hashrange.errors import ClientError, SerializationException


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
