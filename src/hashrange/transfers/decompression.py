"""Decompresses objects in pieces of a bounded size, so that no input fills the memory."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Iterator
from typing import Any, Final, Protocol

from hashrange.transfers.data_files import Blocking

_GZIP: Final = 31
_PIECE_BYTES: Final = 1 << 16


class DecompressionError(Exception):
    """The content is not what its compression type says."""


class _Decompressor(Protocol):
    def feed(self, chunk: bytes) -> Iterator[bytes]: ...

    def end(self) -> None: ...


class _Plain:
    def feed(self, chunk: bytes) -> Iterator[bytes]:
        yield chunk

    def end(self) -> None:
        """Plain content may end anywhere."""


class _Gzip:
    """One or more gzip members, one behind the other."""

    def __init__(self) -> None:
        self._member = zlib.decompressobj(_GZIP)
        self._is_fresh = True

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        try:
            while chunk:
                self._is_fresh = False
                yield self._member.decompress(chunk, _PIECE_BYTES)
                chunk = self._member.unconsumed_tail
                if self._member.eof:
                    chunk = self._member.unused_data
                    self._member = zlib.decompressobj(_GZIP)
                    self._is_fresh = True
        except zlib.error as error:
            raise DecompressionError(f"the content is not gzip: {error}") from error

    def end(self) -> None:
        if not self._is_fresh:
            raise DecompressionError("the content ends within a gzip member")


class _Zstandard:
    """One or more zstandard frames; needs the library `zstandard` (an extra)."""

    def __init__(self) -> None:
        try:
            import zstandard
        except ImportError as error:
            raise DecompressionError("ZSTD input needs zstandard: pip install zstandard") from error
        self._error: type[Exception] = zstandard.ZstdError
        self._make = zstandard.ZstdDecompressor
        self._frame: Any = self._make().decompressobj(write_size=_PIECE_BYTES)
        self._is_fresh = True

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        try:
            while chunk:
                self._is_fresh = False
                yield self._frame.decompress(chunk)
                if not self._frame.eof:
                    return
                chunk = self._frame.unused_data
                self._frame = self._make().decompressobj(write_size=_PIECE_BYTES)
                self._is_fresh = True
        except self._error as error:
            raise DecompressionError(f"the content is not zstandard: {error}") from error

    def end(self) -> None:
        if not self._is_fresh:
            raise DecompressionError("the content ends within a zstandard frame")


_KINDS: Final[dict[str, type[_Plain] | type[_Gzip] | type[_Zstandard]]] = {
    "NONE": _Plain,
    "GZIP": _Gzip,
    "ZSTD": _Zstandard,
}


async def decompressed(
    chunks: AsyncIterator[bytes], compression: str, blocking: Blocking
) -> AsyncIterator[bytes]:
    """Yield content in pieces; raises DecompressionError if it is damaged or cut off."""
    decompressor: _Decompressor = _KINDS[compression]()
    async for chunk in chunks:
        pieces = decompressor.feed(chunk)
        while (piece := await blocking.call(next, pieces, None)) is not None:
            if piece:
                yield piece
    decompressor.end()
