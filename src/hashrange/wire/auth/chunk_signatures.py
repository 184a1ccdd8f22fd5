"""Signatures of chunks: each covers its chunk and the signature before it, the first the head's.

Clients that cannot know the hash of a body in advance sign it chunk by chunk, and the trailers at
the end with one more signature. A chunk that was changed, left out, added or moved is refused.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from hashlib import sha256
from typing import Final

from hashrange.errors import InvalidSignatureException, SerializationException
from hashrange.wire.aws_chunked import split_chunks

UNSIGNED_TRAILER: Final = b"STREAMING-UNSIGNED-PAYLOAD-TRAILER"
_SIGNED: Final = b"STREAMING-AWS4-HMAC-SHA256-PAYLOAD"
_SIGNED_TRAILER: Final = b"STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER"
PAYLOADS: Final = frozenset({UNSIGNED_TRAILER, _SIGNED, _SIGNED_TRAILER})
"""What a request may say instead of the hash of a body in chunks."""

_TRAILER_SIGNATURE: Final = b"x-amz-trailer-signature"
_NOTHING: Final = sha256(b"").hexdigest().encode()


def check_chunks(
    body: bytes, declared: bytes, start: bytes, seed: bytes, sign: Callable[[bytes], str]
) -> None:
    """Refuse a body whose chunks are not signed as it is declared.

    `start` is the time and the credential scope, a line each; `seed` the signature of the head.
    """
    if declared not in (_SIGNED, _SIGNED_TRAILER):
        return
    try:
        chunks, trailers = split_chunks(body)
    except SerializationException:
        raise _refusal() from None
    before = seed
    for chunk in chunks:
        digest = sha256(chunk.content).hexdigest().encode()
        text = b"AWS4-HMAC-SHA256-PAYLOAD\n%b%b\n%b\n%b" % (start, before, _NOTHING, digest)
        before = _check(sign(text), chunk.signature)
    if declared == _SIGNED_TRAILER:
        given = trailers.pop(_TRAILER_SIGNATURE, b"")
        lines = b"".join(b"%b:%b\n" % pair for pair in sorted(trailers.items()))
        digest = sha256(lines).hexdigest().encode()
        _check(sign(b"AWS4-HMAC-SHA256-TRAILER\n%b%b\n%b" % (start, before, digest)), given)
    elif trailers:
        raise _refusal()


def _check(expected: str, given: bytes) -> bytes:
    if not hmac.compare_digest(expected.encode(), given):
        raise _refusal()
    return given


def _refusal() -> InvalidSignatureException:
    return InvalidSignatureException(
        "The request signature we calculated does not match the signature you provided. "
        "Check your AWS Secret Access Key and signing method. "
        "Consult the service documentation for details."
    )
