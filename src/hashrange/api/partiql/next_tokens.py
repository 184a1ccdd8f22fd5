"""NextToken: where a SELECT goes on, bound to its statement.

token := base64url( digest (16 bytes: SHA-256 of the statement and its parameters, cut short)
                    span (4 bytes, big-endian: which of the spans the position is in)
                    position (the key of the last row that was read) )

A token is not secret: a forged one reads nothing that its statement could not read.
"""

from __future__ import annotations

import hashlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as Base64Error

import orjson

from hashrange.api.operation import Request
from hashrange.errors import ValidationException
from hashrange.storage.reads import Span

_DIGEST_BYTES = 16
_SPAN_BYTES = 4


def _digest(request: Request) -> bytes:
    content = orjson.dumps([request["Statement"], request.get("Parameters")])
    return hashlib.sha256(content).digest()[:_DIGEST_BYTES]


def write_token(request: Request, span: int, position: bytes) -> str:
    """Return the token to go on after a position in one of the spans of a statement."""
    content = _digest(request) + span.to_bytes(_SPAN_BYTES, "big") + position
    return urlsafe_b64encode(content).decode()


def remaining_spans(request: Request, spans: list[Span]) -> tuple[int, list[Span]]:
    """Return the spans still to be read, and the number of the first of them."""
    token = request.get("NextToken")
    if token is None:
        return 0, spans
    try:
        content = urlsafe_b64decode(token.encode())
    except (Base64Error, ValueError):
        raise _invalid() from None
    digest, rest = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
    span, position = int.from_bytes(rest[:_SPAN_BYTES], "big"), rest[_SPAN_BYTES:]
    if len(digest) < _DIGEST_BYTES or not position:
        raise _invalid()
    if digest != _digest(request):
        raise ValidationException("NextToken does not match request")
    if span >= len(spans) or not spans[span].lower <= position < spans[span].upper:
        raise _invalid()
    return span, [spans[span].after(position), *spans[span + 1 :]]


def _invalid() -> ValidationException:
    return ValidationException("Invalid NextToken")
