"""The two rows that describe a shard of a space: its head and its books. Pure.

Every step writes both, on the condition that the head's step number is the expected one.

head  := version (8) sequence (8) deleted at step (8) announcements (8), little-endian, and its
         step number in the row's own column
books := count of write ids (2) {write id (8), newest first} JSON {tallies, floors}

The write ids belong to the last steps, one each, without gap. So a write without an answer is
settled by looking for its id: see `was_applied`. Tallies are rows and bytes by name. The floor of a
store is a key below which it has no rows: readers begin there instead of reading what was deleted
in front of it, which Cassandra keeps for days.
"""

from __future__ import annotations

import struct
from typing import Final, final

import orjson

from hashrange.errors import CorruptionError

META_STORE: Final = 0
HEAD_KEY: Final = b"\x00"
BOOKS_KEY: Final = b"\x01"
WRITE_IDS_KEPT: Final = 64

_HEAD: Final = struct.Struct("<QQQQ")
_COUNT: Final = struct.Struct("<H")
_ID_BYTES: Final = 8


@final
class Head:
    """What a reader needs to know of a shard."""

    __slots__ = ("announced", "deleted_at", "sequence", "step", "version")

    def __init__(self) -> None:
        self.step = 0
        self.version = 0
        self.sequence = 0
        self.deleted_at = 0
        self.announced = 0

    def pack(self) -> bytes:
        """Return the value of the row; the step has a column of its own."""
        return _HEAD.pack(self.version, self.sequence, self.deleted_at, self.announced)


def unpack_head(value: bytes | None, step: int | None) -> Head:
    """Return the head of a shard; of one that was never written, a head at step 0."""
    head = Head()
    if value is None or step is None:
        return head
    try:
        head.version, head.sequence, head.deleted_at, head.announced = _HEAD.unpack(value)
    except struct.error as error:
        raise CorruptionError(f"row is not the head of a shard: {value[:40]!r}") from error
    head.step = step
    return head


@final
class Books:
    """The tallies of a shard, the ids of its last steps, and the floors of its stores."""

    __slots__ = ("floors", "tallies", "write_ids")

    def __init__(self) -> None:
        self.floors: dict[int, bytes] = {}
        self.tallies: dict[str, tuple[int, int]] = {}
        self.write_ids: list[bytes] = []

    def pack(self) -> bytes:
        """Return the value of the row."""
        ids = self.write_ids[:WRITE_IDS_KEPT]
        floors = {str(store): key.hex() for store, key in self.floors.items()}
        rest = orjson.dumps({"tallies": self.tallies, "floors": floors})
        return b"".join((_COUNT.pack(len(ids)), *ids, rest))

    def add(self, name: str, rows: int, size: int) -> None:
        """Add to a tally."""
        before = self.tallies.get(name, (0, 0))
        self.tallies[name] = (before[0] + rows, before[1] + size)


def unpack_books(value: bytes | None) -> Books:
    """Return the books of a shard."""
    books = Books()
    if value is None:
        return books
    try:
        (count,) = _COUNT.unpack_from(value)
        end = _COUNT.size + count * _ID_BYTES
        books.write_ids = [
            value[start : start + _ID_BYTES] for start in range(_COUNT.size, end, _ID_BYTES)
        ]
        rest = orjson.loads(value[end:])
        books.tallies = {name: (rows, size) for name, (rows, size) in rest["tallies"].items()}
        books.floors = {int(store): bytes.fromhex(key) for store, key in rest["floors"].items()}
    except (struct.error, KeyError, TypeError, ValueError) as error:
        raise CorruptionError(f"row is not the books of a shard: {value[:40]!r}") from error
    return books


def was_applied(step: int, write_ids: list[bytes], expected: int, write_id: bytes) -> bool | None:
    """Tell whether a write that expected a step was applied; None if that cannot be told.

    The shard is at `step`, and the ids of its last steps are known. The write, if it was applied,
    is step `expected` + 1.
    """
    place = step - (expected + 1)
    if place < 0:
        return False
    if place >= len(write_ids):
        return None
    return write_ids[place] == write_id
