"""Refuses requests whose headers are, or whose bodies will be, too large."""

from __future__ import annotations

from typing import Final

from hashrange.wire.http.bounds import Bounds
from hashrange.wire.http.messages import HEADERS_TOO_LARGE, TOO_LARGE, Headers, HttpAnswer

# A content length with more digits is too large.
_LENGTH_DIGITS_MAX: Final = 12


def head_bytes(url: bytes, headers: Headers) -> int:
    """Return the size of a URL and headers."""
    return len(url) + sum(len(name) + len(value) for name, value in headers.items())


def refuse_sizes(url: bytes, headers: Headers, bounds: Bounds) -> HttpAnswer | None:
    """Return the refusal of a request that is too large, or None."""
    length = headers.get(b"content-length", b"")
    if len(length) > _LENGTH_DIGITS_MAX or (length and int(length) > bounds.body_bytes_max):
        return TOO_LARGE
    return HEADERS_TOO_LARGE if head_bytes(url, headers) > bounds.header_bytes_max else None
