"""The history of a table: the row format of earlier versions of items. Pure.

version row := header who old               under the item's key and the sequence of the change
header      := time (8 bytes, IEEE 754) flags (1) length of who (1)
who         := the principal that made the change, in UTF-8, or nothing if it is not known
old         := the item row before the change, or nothing if there was no item

A change adds one row that holds what it replaced. So the value of an item at a time is the old row
of its first change after that time, or else the item as it is now; what an insert adds is a few
bytes, and turning the history on copies nothing. Rows of one item lie together in the order of
their commits, and the whole store is in the order of the table. A change is never older than the
one before it: what counts is the greatest time of a change and all before it, so clocks that
differ by milliseconds cannot put versions in another order than their commits.
"""

from __future__ import annotations

import struct
from typing import Final, final

from hashrange.engine.base import SEQUENCE_BYTES, Changes, RowKey
from hashrange.errors import CorruptionError

BY_SERVICE: Final = 1
"""The flag of a deletion that the service made by itself: time to live."""

_HEADER: Final = struct.Struct("<dBB")
_WHO_BYTES_MAX: Final = 255


def log_version(
    store: str, row: RowKey, old: bytes | None, who: tuple[float, int, bytes], changes: Changes
) -> None:
    """Append what a change of the item at `row` replaces; `who` is time, flags and principal."""
    time, flags, principal = who
    principal = principal[:_WHO_BYTES_MAX]
    value = b"".join((_HEADER.pack(time, flags, len(principal)), principal, old or b""))
    changes.appends.append((store, row[1], row[2], value))


@final
class Version:
    """A change read back from a history; `old` is the item row before it, None if there was none.

    `key` is the key of the item.
    """

    __slots__ = ("by_service", "key", "old", "sequence", "time", "who")

    def __init__(self, key: bytes, value: bytes) -> None:
        self.key = key[:-SEQUENCE_BYTES]
        self.sequence = int.from_bytes(key[-SEQUENCE_BYTES:], "big")
        try:
            self.time, flags, length = _HEADER.unpack_from(value)
        except struct.error as error:
            raise CorruptionError(f"row is not a version: {value[:40]!r}") from error
        first = _HEADER.size + length
        self.by_service = bool(flags & BY_SERVICE)
        self.who = value[_HEADER.size : first].decode(errors="replace")
        self.old: bytes | None = value[first:] or None


def version_time(value: bytes) -> float:
    """Return when a change was made, from its row."""
    time: float = _HEADER.unpack_from(value)[0]
    return time


def replaced_row(value: bytes) -> bytes | None:
    """Return the item row that a change replaced, from its row."""
    return value[_HEADER.size + value[9] :] or None
