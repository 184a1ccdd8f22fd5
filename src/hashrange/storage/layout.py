"""Row formats of items and tallies, and the key ranges of scan segments.

item row    := size (4 bytes, little-endian: the item's size as DynamoDB counts it) item
item        := the item in DynamoDB JSON, UTF-8, as it goes on the wire
tally row   := bytes (8 bytes, little-endian)

The size stands in front so that capacity and page limits need no decoding, and the rest of the row
is spliced into responses as it is. Index rows have the same format; their item is the projection.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Final

import orjson

from hashrange.errors import CorruptionError
from hashrange.limits import PARTITION_KEY_BYTES_MAX
from hashrange.model.values import Item

HEADER_BYTES = 4
# Takes half the time of `int.from_bytes` with a slice.
unpack_size: Final = struct.Struct("<I").unpack_from
PLACEMENT_BYTES = 4
PLACEMENT_COUNT = 1 << (8 * PLACEMENT_BYTES)

# Greater than every key: encoded partition keys end in a zero byte after at most this many bytes.
END_OF_KEYS = b"\xff" * (PLACEMENT_BYTES + PARTITION_KEY_BYTES_MAX + 1)


def pack_item(item: Item, size: int) -> bytes:
    """Return the row of an item whose DynamoDB size is known."""
    return size.to_bytes(HEADER_BYTES, "little") + orjson.dumps(item)


def unpack_item(row: bytes) -> Item:
    """Return the item of a row."""
    try:
        item: Item = orjson.loads(row[HEADER_BYTES:])
    except orjson.JSONDecodeError as error:
        raise CorruptionError(f"row is not an item: {row[:40]!r}") from error
    return item


def unpack_items(rows: Sequence[bytes]) -> list[Item]:
    """Return the items of many rows, decoded in one go, which takes 20 % less."""
    try:
        items: list[Item] = orjson.loads(b"[%b]" % b",".join([row[HEADER_BYTES:] for row in rows]))
    except orjson.JSONDecodeError:
        return [unpack_item(row) for row in rows]  # says which row it is
    return items


def row_size(row: bytes) -> int:
    """Return the DynamoDB size of a row's item."""
    size: int = unpack_size(row)[0]
    return size


def splice(row: bytes) -> orjson.Fragment:
    """Return a row's item as JSON to be copied into a response."""
    return orjson.Fragment(row[HEADER_BYTES:])


def splice_all(rows: Sequence[bytes]) -> list[orjson.Fragment]:
    """Return what `splice` makes of many rows, with fewer calls."""
    fragment = orjson.Fragment
    return [fragment(row[HEADER_BYTES:]) for row in rows]


def segment_bounds(segment: int, total_segments: int) -> tuple[bytes, bytes]:
    """Return the key range of one segment of a parallel scan."""
    lower = segment * PLACEMENT_COUNT // total_segments
    upper = (segment + 1) * PLACEMENT_COUNT // total_segments
    return _placement_bound(lower), _placement_bound(upper)


def _placement_bound(placement: int) -> bytes:
    if placement >= PLACEMENT_COUNT:
        return END_OF_KEYS
    return placement.to_bytes(PLACEMENT_BYTES, "big")


def pack_tally(size: int) -> bytes:
    """Return the row that keeps the size of an item collection."""
    return size.to_bytes(8, "little")


def unpack_tally(row: bytes | None) -> int:
    """Return the size of an item collection from its row."""
    return 0 if row is None else int.from_bytes(row, "little")
