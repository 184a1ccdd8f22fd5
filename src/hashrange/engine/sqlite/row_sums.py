"""Checksums of rows: how a damaged row is told from a good one.

    sum of a row of a store := (start & 0x7fffffff) << 32 | crc32(value, start)
    start                   := crc32(key, crc32(name of the store))
    sum of any other row    := crc32(its columns in order, as text, each with a zero byte)

The sum covers the store and the key, so a good row that is found in the place of another one is
refused as well. Its upper half covers the key alone: the row next to a gap can be checked without
reading its value, which may be large.
"""

from __future__ import annotations

import logging

from hashrange.errors import CorruptionError
from hashrange.quick_zlib import crc32

VALUE_MASK = 0xFFFFFFFF
_KEY_SHIFT = 32
_KEY_MASK = 0x7FFFFFFF
_log = logging.getLogger(__name__)


def seed_of(store: str) -> int:
    """Return what the checksums of a store's rows start from."""
    return crc32(store.encode())


def row_sum(seed: int, key: bytes, value: bytes) -> int:
    """Return the checksum of a row."""
    start = crc32(key, seed)
    return (start & _KEY_MASK) << _KEY_SHIFT | crc32(value, start)


def is_right_key(seed: int, key: object, stored_sum: object) -> bool:
    """Tell whether a stored key is the one that its checksum was computed from."""
    return (
        isinstance(key, bytes)
        and isinstance(stored_sum, int)
        and crc32(key, seed) & _KEY_MASK == stored_sum >> _KEY_SHIFT
    )


def is_right_row(seed: int, key: object, value: object, stored_sum: object) -> bool:
    """Tell whether a row is the one that its checksum was computed from."""
    return (
        isinstance(key, bytes)
        and isinstance(value, bytes)
        and row_sum(seed, key, value) == stored_sum
    )


def columns_sum(*columns: int | str) -> int:
    """Return the checksum of a row that is not in a store."""
    return crc32("".join(f"{column}\0" for column in columns).encode())


def checked_columns(table: str, row: object, count: int) -> tuple[int, ...]:
    """Return the numbers of a row (its name, its numbers, its checksum), or raise."""
    if isinstance(row, tuple) and len(row) == count + 2:
        name, numbers = row[0], row[1:-1]
        if all(type(number) is int for number in numbers) and (
            columns_sum(name, *numbers) == row[-1]
        ):
            return numbers
    raise damage(f"the row {row!r:.80} of {table}")


def damaged_row(store: str, key: bytes) -> CorruptionError:
    """Return the error for a damaged row, after logging it; a key is logged as its hash only."""
    return damage(f"a row of store {store} (crc32 of its key {crc32(key):08x})")


def damage(subject: str) -> CorruptionError:
    """Return the error for something damaged, after logging it."""
    message = f"{subject} is damaged: its checksum is wrong"
    _log.error("%s; run `hashrange check` on a stopped server", message)
    return CorruptionError(message)
