"""Content codings: bodies of requests that come compressed, and of responses that go so.

A body that cannot be decoded, for whatever reason, is an internal failure, as it is on AWS. The
work on a body is bounded by the size the server accepts. A body that unfolds to far more than
was sent may have few members, because reading them costs much more than sending them did.
"""

from __future__ import annotations

import zlib
from typing import Final

from hashrange.errors import InternalFailure
from hashrange.pauses import Pace
from hashrange.quick_zlib import QUICKEST, compress, compressobj
from hashrange.wire.protocols.json_codec import BodyTooLargeError

PLAIN_BYTES_MAX: Final = 4096
"""Responses of up to so many bytes are not compressed."""

LARGE_BYTES: Final = 1 << 18
"""Responses of more bytes are compressed in slices."""

_GZIP: Final = 16 + zlib.MAX_WBITS
_ZLIB: Final = zlib.MAX_WBITS
_WINDOWS: Final = {b"gzip": _GZIP, b"x-gzip": _GZIP, b"deflate": _ZLIB}
# What follows a member is copied, so a body is decoded in pieces and has only so many members.
_PIECE_BYTES: Final = 1 << 16
_MEMBERS_MAX: Final = 1000
_INFLATED_PIECE_BYTES: Final = 1 << 18
# A body of more bytes than this, and than this many times those sent, is a bomb if it has many
# JSON members. Long texts that repeat themselves have few.
_TRUSTED_BYTES: Final = 1 << 19
_TRUSTED_RATIO: Final = 32
_BOMB_MARKS_MAX: Final = 1 << 17


def decode_body(coding: bytes, body: bytes, bytes_max: int) -> bytes:
    """Return a body without the content coding that its header names."""
    coding = coding.strip().lower()
    if coding in (b"", b"identity"):
        return body
    window = _WINDOWS.get(coding)
    if window is None:
        raise InternalFailure
    try:
        return _inflate(body, window, bytes_max)
    except zlib.error:
        raise InternalFailure from None


def _inflate(body: bytes, window: int, bytes_max: int) -> bytes:
    """Decompress a body; one of gzip may have several members, which are joined."""
    inflated: list[bytes] = []
    marks = size = 0
    trusted = _TRUSTED_BYTES + _TRUSTED_RATIO * len(body)
    members = 1
    decompressor = zlib.decompressobj(window)
    for start in range(0, len(body), _PIECE_BYTES):
        piece = body[start : start + _PIECE_BYTES]
        while piece:
            if decompressor.eof:
                members += 1
                if window != _GZIP or members > _MEMBERS_MAX:
                    raise InternalFailure
                decompressor = zlib.decompressobj(window)
            content = decompressor.decompress(piece, _INFLATED_PIECE_BYTES)
            size += len(content)
            marks += content.count(b"{") + content.count(b"[") + content.count(b",")
            if size > bytes_max or (size > trusted and marks > _BOMB_MARKS_MAX):
                raise BodyTooLargeError
            inflated.append(content)
            piece = decompressor.unconsumed_tail or decompressor.unused_data
    if not decompressor.eof:
        # All input is read; a few bytes of output may be pending.
        inflated.append(decompressor.flush())
    if not decompressor.eof:
        raise InternalFailure
    return b"".join(inflated)


def encode_body(accepted: bytes, body: bytes) -> tuple[bytes, bytes]:
    """Return a body in a coding that Accept-Encoding asks for, and the header line to say so."""
    coding = _choose(accepted)
    if coding is None:
        return body, b""
    compressed = compress(body, QUICKEST, _WINDOWS[coding])
    return compressed, b"Content-Encoding: %b\r\n" % coding


async def encode_large_body(accepted: bytes, body: bytes) -> tuple[bytes, bytes]:
    """Do what `encode_body` does, in slices."""
    coding = _choose(accepted)
    if coding is None:
        return body, b""
    compressor = compressobj(QUICKEST, zlib.DEFLATED, _WINDOWS[coding])
    pace = Pace()
    pieces: list[bytes] = []
    for start in range(0, len(body), _PIECE_BYTES):
        pieces.append(compressor.compress(body[start : start + _PIECE_BYTES]))
        if pace.is_over():
            await pace.pause()
    pieces.append(compressor.flush())
    return b"".join(pieces), b"Content-Encoding: %b\r\n" % coding


def _choose(accepted: bytes) -> bytes | None:
    """Return gzip or deflate, whichever is preferred, or None if neither is accepted."""
    weights = {b"gzip": 0.0, b"deflate": 0.0}
    for element in accepted.lower().split(b","):
        coding, _, parameter = element.partition(b";")
        coding = coding.strip()
        if coding in weights:
            weights[coding] = _weight(parameter.strip())
    best = max(weights, key=lambda coding: weights[coding])
    return best if weights[best] > 0 else None


def _weight(parameter: bytes) -> float:
    name, _, value = parameter.partition(b"=")
    if name.strip() != b"q":
        return 1.0
    try:
        return float(value)
    except ValueError:
        return 0.0
