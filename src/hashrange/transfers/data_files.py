"""Compressed files of an export, written in pieces. Compression leaves the event loop to others."""

from __future__ import annotations

import asyncio
import base64
import hashlib
from collections.abc import Callable
from typing import Final, ParamSpec, TypeVar, final

from hashrange.objects.base import ObjectStore, Upload
from hashrange.quick_zlib import QUICK, compressobj

_GZIP: Final = 31  # the window size that asks for a gzip header and trailer

P = ParamSpec("P")
Answer = TypeVar("Answer")


@final
class Blocking:
    """Runs what takes long in a thread, or at once where there is no event loop."""

    def __init__(self, *, is_inline: bool = False) -> None:
        self._is_inline = is_inline

    async def call(
        self, act: Callable[P, Answer], *arguments: P.args, **options: P.kwargs
    ) -> Answer:
        """Do something that takes long."""
        if self._is_inline:
            return act(*arguments, **options)
        return await asyncio.to_thread(act, *arguments, **options)


@final
class DataFile:
    """One file; complete, it is described as manifests describe it."""

    def __init__(self, upload: Upload, blocking: Blocking) -> None:
        self._upload = upload
        self._blocking = blocking
        self._compressor = compressobj(QUICK, wbits=_GZIP)
        self._digest = hashlib.md5(usedforsecurity=False)

    async def write(self, lines: bytes) -> None:
        """Append lines."""
        await self._send(await self._blocking.call(self._compress, lines))

    def _compress(self, lines: bytes) -> bytes:
        return self._digested(self._compressor.compress(lines))

    def _digested(self, compressed: bytes) -> bytes:
        self._digest.update(compressed)
        return compressed

    async def _send(self, compressed: bytes) -> None:
        if compressed:
            await self._upload.write(compressed)

    async def complete(self) -> tuple[str, str]:
        """Make the file visible; return its MD5 in Base64, and its ETag."""
        await self._send(self._digested(self._compressor.flush()))
        entry = await self._upload.complete()
        return base64.b64encode(self._digest.digest()).decode(), entry.etag

    async def abort(self) -> None:
        """Forget the file."""
        await self._upload.abort()


async def begin_file(objects: ObjectStore, bucket: str, key: str, blocking: Blocking) -> DataFile:
    """Begin to write a file."""
    return DataFile(await objects.begin(bucket, key), blocking)
