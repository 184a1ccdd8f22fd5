"""The queue of global index changes, for engines that cannot change them with the item. Pure.

queue row := count of rows (2) {length (4) row} {operation} [time mark]
operation := length of store (1) store shard (4) length of key (2) number of its row (2) key
time mark := an operation without a store whose key is the time of the write (8, IEEE 754)

Little-endian; the number FFFF deletes the index row. A row that several indexes keep as it is
stands in the queue once. The time mark tells how far an index lags; to a follower that knows no
marks it is an operation on a store that is gone. A queue row is appended in the step that changes
the item, so its number orders it among all changes of that item. The follower
(services/index_follower) merges operations into the indexes with that number as version, which
makes repeating and overtaking harmless.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Final

from hashrange.engine.base import Changes, RowKey
from hashrange.errors import CorruptionError
from hashrange.model.schema import Table

_COUNT: Final = struct.Struct("<H")
_LENGTH: Final = struct.Struct("<I")
_ADDRESS: Final = struct.Struct("<IHH")
_TIME: Final = struct.Struct("<d")
_DELETED: Final = 0xFFFF
_NO_STORE: Final = ""

Operation = tuple[str, int, bytes, bytes | None]
"""Store, shard and key of an index row, and its new content, None to delete it."""


def queue_changes(
    table: Table, shard: int, indexed: Changes, changes: Changes, time: float | None = None
) -> None:
    """Append the changes of global index rows to the queue, with the time of their write."""
    kept = {put[:3] for put in indexed.puts}
    operations: list[Operation] = [(*key, None) for key in indexed.deletes if key not in kept]
    operations.extend(indexed.puts)
    if operations:
        if time is not None:
            operations.append((_NO_STORE, 0, _TIME.pack(time), None))
        changes.appends.append((table.queue_store, shard, b"", pack_operations(operations)))


def pack_operations(operations: Sequence[Operation]) -> bytes:
    """Return the queue row of operations."""
    numbers: dict[bytes, int] = {}
    parts: list[bytes] = []
    for store, shard, key, row in operations:
        number = _DELETED if row is None else numbers.setdefault(row, len(numbers))
        name = store.encode()
        parts += (bytes((len(name),)), name, _ADDRESS.pack(shard, len(key), number), key)
    rows: list[bytes] = []
    for row in numbers:
        rows += (_LENGTH.pack(len(row)), row)
    return b"".join((_COUNT.pack(len(numbers)), *rows, *parts))


def unpack_operations(value: bytes) -> tuple[list[Operation], float | None]:
    """Return the operations of a queue row, and when they were written if that is known."""
    time: float | None = None
    try:
        (count,) = _COUNT.unpack_from(value)
        position = _COUNT.size
        rows: list[bytes] = []
        for _ in range(count):
            (length,) = _LENGTH.unpack_from(value, position)
            position += _LENGTH.size
            rows.append(value[position : position + length])
            position += length
        operations: list[Operation] = []
        while position < len(value):
            address, number, position = _unpack_address(value, position)
            if address[0] == _NO_STORE:
                (time,) = _TIME.unpack(address[2])
                continue
            operations.append((*address, None if number == _DELETED else rows[number]))
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise CorruptionError(f"row is not from the index queue: {value[:40]!r}") from error
    return operations, time


def _unpack_address(value: bytes, position: int) -> tuple[RowKey, int, int]:
    length = value[position]
    position += 1
    store = value[position : position + length].decode()
    position += length
    shard, key_length, number = _ADDRESS.unpack_from(value, position)
    position += _ADDRESS.size
    key = value[position : position + key_length]
    return (store, shard, key), number, position + key_length
