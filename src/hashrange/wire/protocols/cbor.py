"""CBOR (RFC 8949), as much of it as Smithy's RPC protocol uses.

The reader takes all major types with definite and indefinite lengths, and tag 1 as a time; it drops
other tags. It is bounded: lengths are compared with what is left of the input before anything is
allocated, and nesting and the number of values have limits. The writer uses definite lengths only.

Written here because a library would read much more (shared references, arbitrary tags, numbers of
any size) from untrusted input than the protocol needs.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final, NoReturn, final

from hashrange.errors import SerializationException
from hashrange.limits import CALL_ITEMS_MAX, CALL_LEVELS_MAX
from hashrange.wire.protocols import timestamps

_BREAK: Final = 0xFF
_INDEFINITE: Final = 31
_TIME_TAG: Final = 1
_SIMPLE: Final = {20: False, 21: True, 22: None, 23: None}
_FLOATS: Final = {25: (">e", 2), 26: (">f", 4), 27: (">d", 8)}


def decode(body: bytes) -> Any:
    """Return the one value of a message."""
    reader = _Reader(body)
    value = reader.value(0)
    if reader.position != len(body):
        _refuse("Bytes follow the value")
    return value


def _refuse(reason: str) -> NoReturn:
    raise SerializationException(f"Malformed CBOR: {reason}")


@final
class _Reader:
    __slots__ = ("_body", "_items", "position")

    def __init__(self, body: bytes) -> None:
        self._body = body
        self._items = 0
        self.position = 0

    def value(self, level: int) -> Any:
        self._items += 1
        if self._items > CALL_ITEMS_MAX:
            _refuse("Too many values")
        if level > CALL_LEVELS_MAX:
            _refuse("Nested too deep")
        first = self._take(1)[0]
        major, info = first >> 5, first & 31
        if major == 7:
            return self._simple(info)
        length = self._length(info)
        if major <= 1 or major == 6:
            if length is None:
                _refuse("A number of indefinite length")
            if major == 6:
                return self._tagged(length, level)
            return length if major == 0 else -1 - length
        if major <= 3:
            return self._string(major, length)
        return self._array(length, level) if major == 4 else self._map(length, level)

    def _take(self, count: int) -> bytes:
        end = self.position + count
        if end > len(self._body):
            _refuse("Unexpected end")
        taken = self._body[self.position : end]
        self.position = end
        return taken

    def _length(self, info: int) -> int | None:
        """Return a number, or None for an indefinite length."""
        if info < 24:
            return info
        if info <= 27:
            return int.from_bytes(self._take(1 << (info - 24)), "big")
        if info == _INDEFINITE:
            return None
        return _refuse("A reserved length")

    def _is_break(self) -> bool:
        if self._body[self.position : self.position + 1] == b"\xff":
            self.position += 1
            return True
        return False

    def _string(self, major: int, length: int | None) -> str | bytes:
        joined = b"".join(self._chunks(major)) if length is None else self._take(length)
        if major == 2:
            return joined
        try:
            return joined.decode()
        except UnicodeDecodeError:
            _refuse("Text that is not UTF-8")

    def _chunks(self, major: int) -> Iterator[bytes]:
        while not self._is_break():
            first = self._take(1)[0]
            length = self._length(first & 31)
            if first >> 5 != major or length is None:
                _refuse("A wrong part of a string")
            yield self._take(length)

    def _left(self, length: int | None) -> Iterator[None]:
        """Yield once for each element of an array or map."""
        if length is None:
            while not self._is_break():
                yield
            return
        if length > len(self._body) - self.position:
            _refuse("Unexpected end")
        for _ in range(length):
            yield

    def _array(self, length: int | None, level: int) -> list[Any]:
        return [self.value(level + 1) for _ in self._left(length)]

    def _map(self, length: int | None, level: int) -> dict[str, Any]:
        entries: dict[str, Any] = {}
        for _ in self._left(length):
            key = self.value(level + 1)
            if not isinstance(key, str):
                _refuse("A key that is not text")
            entries[key] = self.value(level + 1)
        return entries

    def _tagged(self, tag: int, level: int) -> Any:
        value = self.value(level + 1)
        if tag != _TIME_TAG:
            return value
        if not isinstance(value, int | float):
            _refuse("A time that is not a number")
        return timestamps.read_number(value)

    def _simple(self, info: int) -> Any:
        if info in _SIMPLE:
            return _SIMPLE[info]
        if info in _FLOATS:
            form, count = _FLOATS[info]
            return struct.unpack(form, self._take(count))[0]
        _refuse("An unknown simple value")


def encode(value: Any) -> bytes:
    """Return a value as a message."""
    out = bytearray()
    _write(value, out)
    return bytes(out)


def _write(value: Any, out: bytearray) -> None:
    if value is None:
        out.append(0xF6)
    elif isinstance(value, bool):
        out.append(0xF5 if value else 0xF4)
    elif isinstance(value, int):
        _write_head(*((0, value) if value >= 0 else (1, -1 - value)), out)
    elif isinstance(value, float):
        out += struct.pack(">Bd", 0xFB, value)
    elif isinstance(value, str):
        text = value.encode()
        _write_head(3, len(text), out)
        out += text
    elif isinstance(value, bytes):
        _write_head(2, len(value), out)
        out += value
    elif isinstance(value, datetime):
        _write_head(6, _TIME_TAG, out)
        _write(timestamps.to_epoch(value), out)
    else:
        _write_container(value, out)


def _write_container(value: Any, out: bytearray) -> None:
    if isinstance(value, dict):
        _write_head(5, len(value), out)
        for key, member in value.items():
            _write(key, out)
            _write(member, out)
        return
    assert isinstance(value, list), f"CBOR has no {type(value).__name__}"
    _write_head(4, len(value), out)
    for member in value:
        _write(member, out)


def _write_head(major: int, number: int, out: bytearray) -> None:
    if number < 24:
        out.append(major << 5 | number)
        return
    power = 0 if number < 1 << 8 else 1 if number < 1 << 16 else 2 if number < 1 << 32 else 3
    out.append(major << 5 | 24 + power)
    out += number.to_bytes(1 << power, "big")
