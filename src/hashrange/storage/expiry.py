"""The expiry index: rows that order items by expiry time. Pure.

expiry key := second (8 bytes, big-endian: after which the item is expired) item key
expiry row := nothing

A table with time to live enabled has an expiry store with a row for each item that has a usable
time: an attribute of type N, not negative, in seconds since 1970; fractions count as a full second.
The row changes in the same step as its item, so each item has at most one row, which is up to date.
A time in milliseconds is a time in the far future; values of other types are not times.

Items that expired more than five years ago are kept, as on AWS. They have rows too, because the age
of an item changes with the clock; the sweep skips them.
"""

from __future__ import annotations

from math import ceil
from typing import Final

from hashrange.engine.base import Changes, RowKey
from hashrange.limits import EXPIRED_SECONDS_MAX
from hashrange.model.schema import Table
from hashrange.model.values import Value

SECOND_BYTES: Final = 8
_DIGITS_MAX: Final = 18  # fewer than eight bytes can hold, and more than any clock will show


def expiry_second(value: Value | None) -> int | None:
    """Return the second after which an item with this time is expired; None when it never is."""
    if value is None:
        return None
    text: str | None = value.get("N")
    if text is None:
        return None
    whole, _, fraction = text.partition(".")
    if len(whole) > _DIGITS_MAX or not whole.isdecimal():
        return None
    return int(whole) + 1 if fraction else int(whole)


def expiry_key(second: int, key: bytes) -> bytes:
    """Return where the expiry row of the item with this key is."""
    return second.to_bytes(SECOND_BYTES, "big") + key


def expired_seconds(now: float) -> range:
    """Return the seconds after which items are expired by now, and not too long ago."""
    return range(max(0, ceil(now - EXPIRED_SECONDS_MAX)), max(0, ceil(now)))


def change_expiry(
    table: Table, row: RowKey, old: Value | None, new: Value | None, changes: Changes
) -> None:
    """Add the change of an item's expiry row to `changes`.

    `row` is where the item is.
    """
    _, shard, key = row
    before, after = expiry_second(old), expiry_second(new)
    if before == after:
        return
    if before is not None:
        changes.deletes.append((table.expiry_store, shard, expiry_key(before, key)))
    if after is not None:
        changes.puts.append((table.expiry_store, shard, expiry_key(after, key), b""))
