"""JSON bytes to requests and back.

`decode` is bounded: orjson refuses documents nested deeper than 1024 levels.
"""

from __future__ import annotations

from typing import Any

import orjson

from hashrange.errors import SerializationException


class BodyTooLargeError(Exception):
    """A compressed body is larger than the server accepts once it is inflated."""


def decode(body: bytes) -> dict[str, Any]:
    """Return the request of a body; AWS says no more about a body that is not a JSON object."""
    try:
        request = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise SerializationException from None
    if type(request) is not dict:
        raise SerializationException("Unexpected value type in payload")
    return request


encode = orjson.dumps
