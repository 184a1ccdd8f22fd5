"""Decodes large JSON bodies in pieces, so that none holds the event loop for long.

Time and memory for decoding follow from the number of values more than from the number of bytes.
Commas and opening brackets, which C code counts in no time, bound the number of values. A part with
no more of each than an item may have is decoded at once. Any other is split into its members, whose
ends msgspec finds without making objects. An item has 400 KB, and each of its values counts at
least one byte, so a dense part that cannot be split into a few members is too large for an item.
"""

from __future__ import annotations

import re
from typing import Any, Final, final

import orjson

from hashrange.errors import SerializationException, ValidationException
from hashrange.limits import ATTRIBUTE_NAME_BYTES_MAX, ITEM_BYTES_MAX, LIST_MEMBERS_MAX
from hashrange.pauses import Pace, enter_lane

# Opening brackets and commas beside an item in the part that holds it.
_SLACK: Final = 4096
_COUNT_MAX: Final = ITEM_BYTES_MAX + _SLACK
_AT_ONCE_MAX: Final = 100_000
# JSON of an item; no dense item has more, unless it is padded.
_PART_BYTES_MAX: Final = 16 * ITEM_BYTES_MAX
# Levels of a request above its items; with them, the levels that are split.
_LEVELS_MAX: Final = 8
_SPACE: Final = re.compile(rb"[ \t\n\r]*")
_NAME: Final = re.compile(rb'"(?:[^"\\]|\\.)*+"', re.DOTALL)
_NAME_BYTES_MAX: Final = 6 * ATTRIBUTE_NAME_BYTES_MAX  # if all of it is escaped
_TRAILING: Final = re.compile(r"trailing characters \(byte ([0-9]+)\)")
_OPENING: Final = (b",", b"{", b"[")
_TOO_LARGE: Final = "Item size has exceeded the maximum allowed size"


async def decode_large(body: bytes) -> dict[str, Any]:
    """Return the JSON object of a body, as `json_codec.decode` does; pause between its parts."""
    await enter_lane()
    try:
        if _is_sparse(body, 0, len(body), _AT_ONCE_MAX):
            request = orjson.loads(body)
        else:
            splitter = _Splitter(body)
            request = await splitter.value(0, len(body), _LEVELS_MAX)
            await splitter.pace.pause()
    except (orjson.JSONDecodeError, RecursionError):
        raise SerializationException from None
    if type(request) is not dict:
        raise SerializationException("Unexpected value type in payload")
    return request


def _is_sparse(body: bytes, start: int, end: int, count_max: int) -> bool:
    """Tell whether a part has no more commas and brackets of each kind than that."""
    return all(body.count(mark, start, end) <= count_max for mark in _OPENING)


@final
class _Splitter:
    """Decodes parts of one body."""

    def __init__(self, body: bytes) -> None:
        import msgspec

        self._body = body
        self._view = memoryview(body)
        self._skip = msgspec.json.Decoder(msgspec.Raw).decode
        self._error = msgspec.DecodeError
        self.pace = Pace()

    async def value(self, start: int, end: int, levels: int) -> Any:
        """Return the value of a part, which has nothing but white space around it."""
        await self.pace.pause()
        count_max = _COUNT_MAX if end - start <= _PART_BYTES_MAX else _AT_ONCE_MAX
        if _is_sparse(self._body, start, end, count_max):
            return orjson.loads(self._view[start:end])
        start = self._after_space(start)
        opening = self._body[start : start + 1]
        if not levels or opening not in (b"{", b"["):
            raise ValidationException(_TOO_LARGE)
        await self.pace.pause()
        is_object = opening == b"{"
        members = await self._split(start + 1, end, b"}" if is_object else b"]", is_object)
        values = []
        for _, first, last in members:
            values.append(await self.value(first, last, levels - 1))
        if is_object:
            return dict(zip([name for name, _, _ in members], values, strict=True))
        return values

    async def _split(
        self, position: int, end: int, closing: bytes, is_object: bool
    ) -> list[tuple[str, int, int]]:
        """Return name, start and end of the members of an object or a list that is not empty."""
        body = self._body
        members: list[tuple[str, int, int]] = []
        while len(members) < LIST_MEMBERS_MAX:
            name = ""
            if is_object:
                position = self._after_space(position)
                match = _NAME.match(body, position, position + _NAME_BYTES_MAX)
                if match is None:
                    raise SerializationException
                name = orjson.loads(match.group())
                position = self._after_space(match.end())
                if body[position : position + 1] != b":":
                    raise SerializationException
                position += 1
            last = position + self._length(position, end)
            members.append((name, position, last))
            position = last + 1
            if body[last : last + 1] == closing:
                if self._after_space(position) != end and body[position:end].strip():
                    raise SerializationException
                return members
            if body[last : last + 1] != b",":
                raise SerializationException
            if self.pace.is_over():
                await self.pace.pause()
        raise ValidationException(_TOO_LARGE)

    def _length(self, start: int, end: int) -> int:
        """Return the length of the value that begins here, with the white space around it."""
        try:
            self._skip(self._view[start:end])
        except self._error as error:
            # The only way to learn where a value ends: the complaint about what follows.
            match = _TRAILING.search(str(error))
            if match is not None:
                return int(match.group(1)) - 1  # it counts from 1
        raise SerializationException

    def _after_space(self, position: int) -> int:
        match = _SPACE.match(self._body, position)
        assert match is not None
        return match.end()
