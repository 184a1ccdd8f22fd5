"""Bodies that S3 clients send in chunks of their own (aws-chunked). Pure.

body    := {chunk} "0" [extension] CRLF {trailer} [CRLF]
chunk   := size in hexadecimal [extension] CRLF content CRLF
trailer := name ":" value CRLF

An extension may hold the signature of its chunk: ";chunk-signature=" and hexadecimal digits.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from hashrange.errors import SerializationException

_SIZE_DIGITS_MAX: Final = 8
_SIGNATURE: Final = b"chunk-signature="


class Chunk(NamedTuple):
    """A chunk, and its signature, which is empty if there is none."""

    content: bytes
    signature: bytes


def is_chunked(coding: bytes) -> bool:
    """Tell whether a Content-Encoding says that a body is in chunks."""
    return b"aws-chunked" in [part.strip() for part in coding.split(b",")]


def read_chunks(body: bytes) -> tuple[bytes, dict[bytes, bytes]]:
    """Return the content of a body, and its trailers by their names in lower case."""
    chunks, trailers = split_chunks(body)
    return b"".join([chunk.content for chunk in chunks]), trailers


def split_chunks(body: bytes) -> tuple[list[Chunk], dict[bytes, bytes]]:
    """Return the chunks of a body, the empty one at the end included, and its trailers."""
    chunks: list[Chunk] = []
    position = 0
    while True:
        end = body.find(b"\r\n", position)
        text, _, extension = body[position:end].partition(b";")
        text = text.strip()
        if end < 0 or not text or len(text) > _SIZE_DIGITS_MAX:
            raise _malformed()
        try:
            size = int(text, 16)
        except ValueError:
            raise _malformed() from None
        if size < 0:
            raise _malformed()
        position = end + 2
        chunks.append(Chunk(body[position : position + size], _signature(extension)))
        if not size:
            return chunks, _read_trailers(body[position:])
        position += size
        if body[position : position + 2] != b"\r\n":
            raise _malformed()
        position += 2


def _signature(extension: bytes) -> bytes:
    extension = extension.strip()
    return extension[len(_SIGNATURE) :] if extension.startswith(_SIGNATURE) else b""


def _read_trailers(text: bytes) -> dict[bytes, bytes]:
    trailers: dict[bytes, bytes] = {}
    for line in text.split(b"\r\n"):
        name, colon, value = line.partition(b":")
        if colon:
            trailers[name.strip().lower()] = value.strip()
    return trailers


def _malformed() -> SerializationException:
    return SerializationException("The body is not in chunks")
