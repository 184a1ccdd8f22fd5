"""A POST over HTTP/1.1 on the event loop: one request per connection, bounded, cancellable."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from contextlib import suppress
from typing import Final, final
from urllib.parse import urlsplit

from httptools import HttpParserError, HttpResponseParser

from hashrange.services.triggers.targets import ANSWER_BYTES_MAX

_CHUNK_BYTES: Final = 1 << 16
_PORTS: Final = {"http": 80, "https": 443}


class HttpError(Exception):
    """There is no valid answer: not HTTP, none at all, or too large."""


async def post(url: str, body: bytes, headers: Mapping[str, str]) -> tuple[int, bytes]:
    """Post a body; return status and body of the answer. Follows no redirection.

    Raises OSError when the endpoint cannot be reached, HttpError when there is no valid answer.
    """
    parts = urlsplit(url)
    if parts.hostname is None:
        raise HttpError(f"{url} names no host")
    is_secure = parts.scheme == "https"
    reader, writer = await asyncio.open_connection(
        parts.hostname,
        parts.port or _PORTS[parts.scheme],
        ssl=ssl.create_default_context() if is_secure else None,
    )
    try:
        target = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
        lines = {
            "Host": parts.netloc.rpartition("@")[2],
            "Content-Length": str(len(body)),
            "Connection": "close",
            **headers,
        }
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        writer.write(f"POST {target} HTTP/1.1\r\n{head}\r\n".encode() + body)
        return await _read_answer(reader)
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


async def _read_answer(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    answer = _Answer()
    try:
        while not answer.is_complete and (chunk := await reader.read(_CHUNK_BYTES)):
            answer.feed(chunk)
    except HttpParserError as error:
        raise HttpError(f"the answer is not HTTP: {error}") from error
    if answer.status == 0:
        raise HttpError("the connection was closed without an answer")
    return answer.status, b"".join(answer.chunks)


@final
class _Answer:
    """An answer as the parser reports it."""

    def __init__(self) -> None:
        self.status = 0
        self.chunks: list[bytes] = []
        self.is_complete = False
        self._room = ANSWER_BYTES_MAX
        self._parser = HttpResponseParser(self)

    def feed(self, chunk: bytes) -> None:
        self._parser.feed_data(chunk)

    def on_headers_complete(self) -> None:
        self.status = self._parser.get_status_code()

    def on_body(self, body: bytes) -> None:
        self._room -= len(body)
        if self._room < 0:
            raise HttpError("the answer is too large")
        self.chunks.append(body)

    def on_message_complete(self) -> None:
        # An interim answer, such as 100 Continue, is followed by the real one.
        self.is_complete = self.status >= 200
