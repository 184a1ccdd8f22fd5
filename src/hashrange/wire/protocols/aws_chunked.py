"""Bodies that S3 clients send in chunks of their own (aws-chunked). Pure.

body    := {chunk} "0" [extension] CRLF {trailer} [CRLF]
chunk   := size in hexadecimal [extension] CRLF content CRLF
trailer := name ":" value CRLF

Extensions hold signatures of chunks, which are not looked at: the signature of the request covers
its head, and a checksum in the trailer covers the content.
"""

from __future__ import annotations

from typing import Final

from hashrange.errors import SerializationException

_SIZE_DIGITS_MAX: Final = 8


def is_chunked(coding: bytes) -> bool:
    """Tell whether a Content-Encoding says that a body is in chunks."""
    return b"aws-chunked" in [part.strip() for part in coding.split(b",")]


def read_chunks(body: bytes) -> tuple[bytes, dict[bytes, bytes]]:
    """Return the content of a body, and its trailers by their names in lower case."""
    parts: list[bytes] = []
    position = 0
    while True:
        end = body.find(b"\r\n", position)
        text = body[position:end].partition(b";")[0].strip()
        if end < 0 or not text or len(text) > _SIZE_DIGITS_MAX:
            raise _malformed()
        try:
            size = int(text, 16)
        except ValueError:
            raise _malformed() from None
        position = end + 2
        if not size:
            return b"".join(parts), _read_trailers(body[position:])
        parts.append(body[position : position + size])
        position += size
        if body[position : position + 2] != b"\r\n":
            raise _malformed()
        position += 2


def _read_trailers(text: bytes) -> dict[bytes, bytes]:
    trailers: dict[bytes, bytes] = {}
    for line in text.split(b"\r\n"):
        name, colon, value = line.partition(b":")
        if colon:
            trailers[name.strip().lower()] = value.strip()
    return trailers


def _malformed() -> SerializationException:
    return SerializationException("The body is not in chunks")
