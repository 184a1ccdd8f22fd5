"""The change log: the row format of item changes in the store of a stream. Pure.

A stream has a store of its own:

change row  := header keys old new          under "r" shard sequence
mark row    := nothing                      under "m" shard "a" or "z" sequence
trim row    := sequence                     under "m" shard "t"
header      := time (8 bytes, IEEE 754) kind (1) flags (1) nothing (2) length of keys (4) of old (4)
keys        := the key as an item row; old and new are item rows too, or empty
shard       := number of the shard (4 bytes, big-endian)
sequence    := as the engine numbers appended rows (8 bytes, big-endian)

All else is little-endian. Rows are copied in as they are in the table, with the item's size in
front, so writing a change encodes nothing but the key, and reading it splices. The marks "a" and
"z" are appended when a shard is opened and closed: their numbers bound the numbers of its changes.
The trim row holds the number of the last change that was dropped for its age.
"""

from __future__ import annotations

import struct
from typing import Final, final
from zlib import adler32

import orjson

from hashrange.engine.base import SEQUENCE_BYTES, Changes, RowKey
from hashrange.errors import CorruptionError
from hashrange.model.schema import Table
from hashrange.model.streams import SHARD_BYTES, change_prefix
from hashrange.model.values import Item, item_size
from hashrange.storage.history import log_version
from hashrange.storage.indexes import same_item
from hashrange.storage.layout import HEADER_BYTES, pack_item, row_size, unpack_item

INSERT: Final = 1
MODIFY: Final = 2
REMOVE: Final = 3
BY_SERVICE: Final = 1
"""The flag of a deletion that the service made by itself: time to live."""

MARKS: Final = b"m"
OPENED: Final = b"a"
CLOSED: Final = b"z"
TRIMMED: Final = b"t"

_HEADER: Final = struct.Struct("<dBBxxII")
_SET: Final = b'S":['  # as in "SS", "NS" and "BS"
# Sequence numbers have 63 bits.
_LAST: Final = b"\xff" * SEQUENCE_BYTES


def change_span(shard: int, position: int) -> tuple[bytes, bytes]:
    """Return the key range of a shard's changes from a sequence number on."""
    prefix = change_prefix(shard)
    return prefix + position.to_bytes(SEQUENCE_BYTES, "big"), prefix + _LAST


def mark_prefix(shard: int, kind: bytes) -> bytes:
    """Return the key prefix of a shard's mark; for TRIMMED, the whole key."""
    return MARKS + shard.to_bytes(SHARD_BYTES, "big") + kind


def mark_of(key: bytes) -> tuple[int, bytes]:
    """Return the shard and the kind of a mark from its key."""
    return int.from_bytes(key[1 : 1 + SHARD_BYTES], "big"), key[5:6]


def sequence_of(key: bytes) -> int:
    """Return the sequence number that ends an appended row's key."""
    return int.from_bytes(key[-SEQUENCE_BYTES:], "big")


def is_change(
    rows: tuple[bytes | None, bytes | None], items: tuple[Item | None, Item | None]
) -> bool:
    """Tell whether a write changes its item; rows are decoded unless the items are given."""
    old_row, new_row = rows
    if old_row is None or new_row is None:
        return old_row is not new_row
    if old_row == new_row:
        return False
    # Values are stored in canonical form, so the rows of equal items have the same bytes, if in
    # another order; and the lower half of this checksum is the sum of the bytes.
    if len(old_row) != len(new_row) or (adler32(old_row) ^ adler32(new_row)) & 0xFFFF:
        return True
    old, new = items
    old = unpack_item(old_row) if old is None else old
    new = unpack_item(new_row) if new is None else new
    # Only the members of sets may be in another order and the values be equal all the same.
    return old != new and (_SET not in new_row or not same_item(old, new))


def log_change(
    table: Table,
    row: RowKey,
    key_item: Item,
    rows: tuple[bytes | None, bytes | None],
    who: tuple[float, int, bytes],
    changes: Changes,
) -> None:
    """Append the change of the item at `row` to the logs that its table has.

    `who` is the time of the write, its flags and its principal.
    """
    for store in table.history_stores:
        log_version(store, row, rows[0], who, changes)
    stream = table.stream
    if stream is None:
        return
    _, shard, key = row
    old, new = rows
    kind = INSERT if old is None else REMOVE if new is None else MODIFY
    if len(key_item) != len(table.key_names):
        key_item = {name: key_item[name] for name in table.key_names}
    keys = pack_item(key_item, item_size(key_item))
    kept_old = old if stream.keeps_old and old is not None else b""
    kept_new = new if stream.keeps_new and new is not None else b""
    header = _HEADER.pack(who[0], kind, who[1], len(keys), len(kept_old))
    value = b"".join((header, keys, kept_old, kept_new))
    changes.appends.append((stream.store, shard, stream.prefix(key), value))


@final
class Change:
    """A change read back from the log. The rows `keys`, `old` and `new` are item rows."""

    __slots__ = ("by_service", "keys", "kind", "new", "old", "sequence", "time")

    def __init__(self, key: bytes, value: bytes) -> None:
        self.sequence = sequence_of(key)
        try:
            self.time, self.kind, flags, keys, old = _HEADER.unpack_from(value)
        except struct.error as error:
            raise CorruptionError(f"row is not a change: {value[:40]!r}") from error
        first = _HEADER.size
        self.by_service = bool(flags & BY_SERVICE)
        self.keys = value[first : first + keys]
        self.old = value[first + keys : first + keys + old]
        self.new = value[first + keys + old :]

    @property
    def size(self) -> int:
        """The size of the record as DynamoDB counts it: its key and its images."""
        size = row_size(self.keys)
        for row in (self.old, self.new):
            if row:
                size += row_size(row)
        return size

    def splice(self, row: bytes) -> orjson.Fragment:
        """Return one of its rows as JSON to be copied into a response."""
        return orjson.Fragment(row[HEADER_BYTES:])


def change_time(value: bytes) -> float:
    """Return when a change was made, from its row."""
    time: float = _HEADER.unpack_from(value)[0]
    return time
