"""Transaction locks: rows that reserve an item, with the image it shall get. Pure.

lock row := attempt (16 bytes) time (8 bytes, IEEE 754) kind (1) length of name (2) name image
name     := key of the transaction's ledger row
image    := the item row that replaces the present one; empty unless the kind is PUT

All little-endian. A lock lies beside its item, under the same key, in a store of the table's space
that exists only where the engine cannot change several shards in one step. A lock alone decides
nothing: the verdict of the ledger on the attempt decides what becomes of the item.
"""

from __future__ import annotations

import struct
from typing import Final, final

from hashrange.engine.base import RowKey, space_of
from hashrange.errors import CorruptionError
from hashrange.model.schema import LOCKS

CHECK: Final = 0
"""The item stays as it is, but must not change before the transaction is decided."""
PUT: Final = 1
DELETE: Final = 2

ATTEMPT_BYTES: Final = 16
_HEADER: Final = struct.Struct(f"<{ATTEMPT_BYTES}sdBH")


def lock_row(item: RowKey) -> RowKey:
    """Return where the lock of an item is."""
    store, shard, key = item
    return (space_of(store) + LOCKS, shard, key)


@final
class Lock:
    """A lock: its transaction, its time, and the new image of the item."""

    __slots__ = ("attempt", "image", "kind", "name", "time")

    def __init__(
        self, attempt: bytes, name: bytes, time: float, kind: int, image: bytes = b""
    ) -> None:
        self.attempt = attempt
        self.name = name
        self.time = time
        self.kind = kind
        self.image = image

    def pack(self) -> bytes:
        """Return its row."""
        header = _HEADER.pack(self.attempt, self.time, self.kind, len(self.name))
        return header + self.name + self.image

    def with_image(self, kind: int, image: bytes) -> Lock:
        """Return the lock of another item of the same transaction."""
        return Lock(self.attempt, self.name, self.time, kind, image)

    def applied_to(self, row: bytes | None) -> bytes | None:
        """Return the item's row once the transaction is committed, given its present one."""
        if self.kind == CHECK:
            return row
        return self.image if self.kind == PUT else None


def unpack_lock(row: bytes) -> Lock:
    """Return the lock of a row."""
    try:
        attempt, time, kind, length = _HEADER.unpack_from(row)
    except struct.error as error:
        raise CorruptionError(f"row is not a lock: {row[:40]!r}") from error
    first = _HEADER.size
    return Lock(attempt, row[first : first + length], time, kind, row[first + length :])
