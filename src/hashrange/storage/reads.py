"""Pages of query and scan: rows in key order, filtered, under the limits on items and bytes.

A page ends after `limit` rows were looked at, or after the row with which their sizes reach one
megabyte, whichever comes first; it then has a position to go on from, even if nothing follows.
Rows are fetched in chunks so that a page never holds more than it needs and long pages give way
to other requests.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from typing import Protocol, final

from hashrange.engine.base import STRONG, Engine, Row, shard_of
from hashrange.expressions.conditions import Condition
from hashrange.expressions.key_conditions import KeyRange
from hashrange.limits import RESPONSE_PAGE_BYTES_MAX
from hashrange.model.keys import encode_part, partition_start, prefix_part, successor
from hashrange.model.schema import KeyPart
from hashrange.model.values import Item
from hashrange.pauses import Pace
from hashrange.storage.layout import (
    END_OF_KEYS,
    PLACEMENT_BYTES,
    PLACEMENT_COUNT,
    unpack_items,
    unpack_size,
)

_CHUNK_ROWS = 256
# Rows that are filtered between two looks at the clock; large ones come few at a time anyhow.
_FILTERED_ROWS = 64
# Rows that are kept decoded as well; items may take thirty times the memory of their rows.
_KEPT_ITEMS_BYTES_MAX = 512 * 1024

Place = tuple[str, int]
"""A store and how many shards it has."""


@final
class Span:
    """The keys of a store from `lower` up to, not including, `upper`, and a reading direction.

    A span that is read backwards lies in one shard, as the keys of one partition do.
    """

    __slots__ = ("lower", "place", "reverse", "upper")

    def __init__(self, place: Place, lower: bytes, upper: bytes, *, reverse: bool = False) -> None:
        self.place = place
        self.lower = lower
        self.upper = upper
        self.reverse = reverse

    def holds(self, key: bytes) -> bool:
        """Tell whether a key is in the span."""
        return self.lower <= key < self.upper

    def after(self, key: bytes) -> Span:
        """Return what is left of the span beyond a key, in reading direction."""
        if self.reverse:
            return Span(self.place, self.lower, min(key, self.upper), reverse=True)
        return Span(self.place, max(key + b"\x00", self.lower), self.upper)

    def shard(self) -> int:
        """Return the shard of its first keys."""
        shards = self.place[1]
        return 0 if shards == 1 else shard_of(self.lower, shards)

    def beyond(self, shard: int) -> Span | None:
        """Return what is left of the span in later shards, if anything."""
        shards = self.place[1]
        if shard + 1 >= shards:
            return None
        first = -(-(shard + 1) * PLACEMENT_COUNT // shards)  # rounded up
        lower = first.to_bytes(PLACEMENT_BYTES, "big")
        return Span(self.place, lower, self.upper) if lower < self.upper else None


def query_span(
    place: Place,
    partition: Sequence[KeyPart],
    sort: Sequence[KeyPart],
    keys: KeyRange,
    *,
    reverse: bool,
) -> Span:
    """Return the span of rows that a key condition selects."""
    start = partition_start(partition, keys.partition)
    for part, value in zip(sort, keys.sort_equal, strict=False):
        start += encode_part(part.type, value)
    if keys.operator is None:
        return Span(place, start, successor(start), reverse=reverse)
    lower, upper = _sort_bounds(start, sort[len(keys.sort_equal)].type, keys)
    return Span(place, lower, upper, reverse=reverse)


def _sort_bounds(start: bytes, kind: str, keys: KeyRange) -> tuple[bytes, bytes]:
    """Return the bounds that the condition on a sort key sets within its partition."""
    operator = keys.operator
    if operator == "begins_with":
        prefix = start + prefix_part(kind, keys.operands[0])
        return prefix, successor(prefix)
    first = start + encode_part(kind, keys.operands[0])
    if operator == "<":
        return start, first
    if operator == "<=":
        return start, successor(first)
    if operator == ">":
        return successor(first), successor(start)
    if operator == ">=":
        return first, successor(start)
    assert operator == "BETWEEN"
    return first, successor(start + encode_part(kind, keys.operands[1]))


@final
class Page:
    """One page: the rows that passed the filter, with their items if they were decoded."""

    __slots__ = (
        "items",
        "kept_bytes",
        "kept_row_bytes",
        "last_row",
        "rows",
        "scanned_bytes",
        "scanned_count",
    )

    def __init__(self) -> None:
        self.rows: list[bytes] = []
        self.items: list[Item] = []
        # The sizes of `rows`, as DynamoDB counts them and in fact.
        self.kept_bytes = 0
        self.kept_row_bytes = 0
        self.scanned_count = 0
        self.scanned_bytes = 0
        # The last row looked at, if the page ended before its range did.
        self.last_row: bytes | None = None


async def is_empty(engine: Engine, place: Place) -> bool:
    """Tell whether a store has no rows."""
    store, shards = place
    for shard in range(shards):
        rows, _ = await engine.range(
            store,
            shard,
            b"",
            END_OF_KEYS,
            reverse=False,
            rows_max=1,
            bytes_max=1,
            consistency=STRONG,
        )
        if rows:
            return False
    return True


class Ranges(Protocol):
    """What a page is read from: an engine, or a table as it was."""

    async def range(
        self,
        store: str,
        shard: int,
        lower: bytes,
        upper: bytes,
        *,
        reverse: bool,
        rows_max: int,
        bytes_max: int,
        consistency: int,
    ) -> tuple[list[Row], bool]: ...


async def read_page(
    engine: Ranges,
    span: Span,
    *,
    limit: int | None,
    condition: Condition | None,
    consistency: int,
    page: Page | None = None,
) -> Page:
    """Read one page of a range. `page.items` is filled if there is a condition and little is kept.

    If a page is given, rows of this range are added to it while it has room.
    """
    if page is None:
        page = Page()
    room = limit if limit is not None else RESPONSE_PAGE_BYTES_MAX
    pace = Pace()
    while True:
        shard = span.shard()
        rows, at_end = await engine.range(
            span.place[0],
            shard,
            span.lower,
            span.upper,
            reverse=span.reverse,
            rows_max=min(room, _CHUNK_ROWS),
            bytes_max=RESPONSE_PAGE_BYTES_MAX - page.scanned_bytes,
            consistency=consistency,
        )
        full = None
        at_once = _CHUNK_ROWS if condition is None else _FILTERED_ROWS
        for start in range(0, len(rows), at_once):
            full = _take(page, rows[start : start + at_once], condition)
            if full is not None:
                break
            if pace.is_over():
                await pace.pause_or_restart()
        room -= len(rows)
        if full or (room == 0 and rows):
            page.last_row = full or rows[-1][1]
            return page
        following = span.beyond(shard) if at_end else span.after(rows[-1][0])
        if following is None:
            return page
        span = following
        if pace.is_over():
            await pace.pause_or_restart()


def _take(page: Page, rows: Sequence[Row], condition: Condition | None) -> bytes | None:
    """Add rows to a page; return the row with which it reached its size, if one did."""
    scanned = [row for _, row in rows]
    sizes: list[int] = [unpack_size(row)[0] for row in scanned]
    last = None
    if page.scanned_bytes + sum(sizes) >= RESPONSE_PAGE_BYTES_MAX:
        count = _count_until(RESPONSE_PAGE_BYTES_MAX - page.scanned_bytes, sizes)
        del scanned[count:], sizes[count:]
        last = scanned[-1]
    scanned_bytes = sum(sizes)
    page.scanned_bytes += scanned_bytes
    page.scanned_count += len(scanned)
    if condition is None:
        page.rows += scanned
        page.kept_bytes += scanned_bytes
    else:
        items = unpack_items(scanned)
        are_kept = list(map(condition.matches, items))
        kept = list(compress(scanned, are_kept))
        page.rows += kept
        page.kept_bytes += sum(compress(sizes, are_kept))
        page.kept_row_bytes += sum(map(len, kept))
        if page.kept_row_bytes <= _KEPT_ITEMS_BYTES_MAX:
            page.items += compress(items, are_kept)
        else:
            page.items.clear()
    return last


def _count_until(wanted_bytes: int, sizes: Sequence[int]) -> int:
    """Return how many rows it takes to reach a size that all of them together do reach."""
    count = reached_bytes = 0
    while reached_bytes < wanted_bytes:
        reached_bytes += sizes[count]
        count += 1
    return count
