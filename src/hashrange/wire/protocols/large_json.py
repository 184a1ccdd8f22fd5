"""Decodes large JSON bodies in pieces, so that none holds the event loop for long.

Time and memory for decoding follow from the number of values more than from the number of bytes.
Commas and opening brackets, which C code counts in no time, bound the number of values. A part with
few of each is decoded at once. Any other is split into its members, whose ends msgspec finds
without making objects. An item has 400 KB, and each of its values counts at least one byte, so a
part with no more of each than an item may have is decoded in groups of members, however many they
are. A denser part that cannot be split into a few members is too large for an item.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, final

import orjson

from hashrange.errors import SerializationException, ValidationException
from hashrange.limits import (
    ATTRIBUTE_NAME_BYTES_MAX,
    ITEM_BYTES_MAX,
    LIST_MEMBERS_MAX,
    NESTING_LEVELS_MAX,
)
from hashrange.pauses import Pace, enter_lane

if TYPE_CHECKING:
    import msgspec

# Opening brackets and commas beside an item in the part that holds it.
_SLACK: Final = 4096
_COUNT_MAX: Final = ITEM_BYTES_MAX + _SLACK
_AT_ONCE_MAX: Final = 100_000
# Members of so many bytes are decoded together.
_GROUP_BYTES: Final = 256 * 1024
# JSON of an item; no dense item has more, unless it is padded.
_PART_BYTES_MAX: Final = 16 * ITEM_BYTES_MAX
# Levels of a request above its items; with them, the levels that are split.
_LEVELS_MAX: Final = 8
# Levels of JSON inside an item, in which each level of values takes two.
_ITEM_LEVELS_MAX: Final = 2 * NESTING_LEVELS_MAX + _LEVELS_MAX
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
            pace = Pace()
            request = await _Splitter(body, pace).value(0, len(body), _LEVELS_MAX)
            await pace.pause()
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

    def __init__(self, body: bytes, pace: Pace) -> None:
        import msgspec

        self._body = body
        self._view = memoryview(body)
        self._skip = msgspec.json.Decoder(msgspec.Raw).decode
        self._list_members = msgspec.json.Decoder(list[msgspec.Raw]).decode
        self._object_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
        self._error = msgspec.DecodeError
        self.pace = pace

    async def value(self, start: int, end: int, levels: int) -> Any:
        """Return the value of a part, which has nothing but white space around it."""
        await self.pace.pause()
        if _is_sparse(self._body, start, end, _AT_ONCE_MAX):
            return orjson.loads(self._view[start:end])
        if end - start <= _PART_BYTES_MAX and _is_sparse(self._body, start, end, _COUNT_MAX):
            return await self._item(self._body[start:end], _ITEM_LEVELS_MAX)
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

    async def _item(self, part: bytes, levels: int) -> Any:
        """Return the value of a part that may be an item, or be inside one."""
        if _is_sparse(part, 0, len(part), _AT_ONCE_MAX):
            return orjson.loads(part)
        await self.pace.pause()
        # A list or a map counts four bytes, a text that looks like the type of one at least two.
        if not levels or part.count(b'"L"') + part.count(b'"M"') > _COUNT_MAX // 2:
            raise ValidationException(_TOO_LARGE)
        try:
            if part.lstrip()[:1] == b"[":
                return await self._groups(self._list_members(part), levels)
            members = self._object_members(part)
        except self._error:
            raise SerializationException from None
        await self.pace.pause()
        names = list(members)
        return dict(zip(names, await self._groups(list(members.values()), levels), strict=True))

    async def _groups(self, members: list[msgspec.Raw], levels: int) -> list[Any]:
        """Return the values of members, many of which are decoded together."""
        values: list[Any] = []
        group: list[bytes] = []
        size = 0
        for member in members:
            if size + len(member) > _GROUP_BYTES:
                values += orjson.loads(b"[%b]" % b",".join(group))
                await self.pace.pause()
                group, size = [], 0
            if len(member) > _GROUP_BYTES:
                values.append(await self._item(bytes(member), levels - 1))
            else:
                group.append(bytes(member))
                size += len(member)
        values += orjson.loads(b"[%b]" % b",".join(group))
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
