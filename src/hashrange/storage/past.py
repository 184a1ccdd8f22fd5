"""Reads a table as it was: its items merged with its history, in key order.

A `PastView` answers `range` as an engine does, so pages, restores and backups read the past like
the present. A `Cut` says which changes come after the moment that is read. Items are read
before their history: an item that changes in between has its old row there. The state is exact for
all changes that were committed before the view was made; see `settle`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final, Protocol, final

from hashrange.engine.base import SEQUENCE_BYTES, STRONG, Engine, Row, RowKey
from hashrange.model.records import TableRecord
from hashrange.storage.catalog import Catalog, Edit
from hashrange.storage.history import replaced_row, version_time
from hashrange.storage.log import sequence_of

_CHUNK_ROWS: Final = 256
_FIRST_ROWS: Final = 16  # of an item, beyond which a binary search is quicker
_CHUNK_BYTES: Final = 1 << 20
# Behind all versions of an item, whose numbers have 63 bits.
_BEHIND: Final = b"\xff" * (SEQUENCE_BYTES + 1)


async def settle(catalog: Catalog, record: TableRecord) -> None:
    """Have all writes to a table end that were begun before.

    Writes built before are refused and built again, so their times are later than this call.
    """

    def touch(current: TableRecord | None) -> Edit:
        is_same = current is not None and current.store == record.store
        return Edit(current, is_seen_by_requests=is_same)

    await catalog.change(record.account, record.region, record.name, touch)


class Cut(Protocol):
    """A moment in the history of a table."""

    def is_before(self, version: Row) -> bool:
        """Tell whether the moment comes before a change."""


@final
class TimeCut:
    """The moment after all changes made up to a time."""

    __slots__ = ("_time",)

    def __init__(self, time: float) -> None:
        self._time = time

    def is_before(self, version: Row) -> bool:
        return version_time(version[1]) > self._time


@final
class BeginningCut:
    """The moment at which the history began: all its changes come after it."""

    __slots__ = ()

    def is_before(self, version: Row) -> bool:
        return True


@final
class PastView:
    """The items of one table as they were at a moment."""

    __slots__ = ("_cut", "_engine", "_history")

    def __init__(self, engine: Engine, history_store: str, cut: Cut) -> None:
        self._engine = engine
        self._history = history_store
        self._cut = cut

    async def read(self, keys: Sequence[RowKey]) -> list[bytes | None]:
        """Return the rows of items."""
        rows = await self._engine.read(keys, STRONG)
        for position, (_, shard, key) in enumerate(keys):
            version = await self.first_after(shard, key)
            if version is not None:
                rows[position] = replaced_row(version[1])
        return rows

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
    ) -> tuple[list[Row], bool]:
        """Return items of a range in key order, and whether the range ended there."""
        while True:
            rows, ended = await self._engine.range(
                store,
                shard,
                lower,
                upper,
                reverse=reverse,
                rows_max=rows_max,
                bytes_max=bytes_max,
                consistency=STRONG,
            )
            low, high = lower, upper
            if not ended and reverse:
                low = rows[-1][0]
            elif not ended:
                high = rows[-1][0] + b"\x00"
            found, low, high = await self._merge(shard, rows, (low, high), reverse=reverse)
            count = _fitting(found, rows_max, bytes_max)
            if count:
                return found[:count], False
            if (low, high) == (lower, upper):
                return found, True
            if found:
                return found, False
            lower, upper = (lower, low) if reverse else (high, upper)
            await asyncio.sleep(0)

    async def _merge(
        self, shard: int, rows: Sequence[Row], span: tuple[bytes, bytes], *, reverse: bool
    ) -> tuple[list[Row], bytes, bytes]:
        """Put the rows of a span back to what they were; return them and how far that reaches."""
        low, high = span
        bound = high[:-1] + _BEHIND if rows and high == rows[-1][0] + b"\x00" else high
        versions, ended = await self._engine.range(
            self._history,
            shard,
            low,
            bound,
            reverse=reverse,
            rows_max=_CHUNK_ROWS,
            bytes_max=_CHUNK_BYTES,
            consistency=STRONG,
        )
        # Per item, the first change after the moment: the one with the smallest number.
        first: dict[bytes, Row] = {}
        for version in versions:
            key = version[0][:-SEQUENCE_BYTES]
            if self._cut.is_before(version) and (reverse or key not in first):
                first[key] = version
        if not ended:
            # The rest of the last item's versions is beyond this chunk.
            key = versions[-1][0][:-SEQUENCE_BYTES]
            first.pop(key, None)
            if low <= key < high:
                found_first = await self.first_after(shard, key)
                if found_first is not None:
                    first[key] = found_first
                low, high = (key, high) if reverse else (low, key + b"\x00")
            elif not reverse:
                # Versions of the item before the span, which was read before.
                low, high = low, min(high, key + _BEHIND)
        merged: dict[bytes, bytes | None] = {key: row for key, row in rows if low <= key < high}
        for key, version in first.items():
            if low <= key < high:
                merged[key] = replaced_row(version[1])
        found = [(key, row) for key, row in merged.items() if row is not None]
        found.sort(reverse=reverse)
        return found, low, high

    async def first_after(self, shard: int, key: bytes) -> Row | None:
        """Return the first change of an item after the moment."""
        rows, ended = await self._versions(shard, key, 0, _FIRST_ROWS)
        for version in rows:
            if self._cut.is_before(version):
                return version
        if ended:
            return None
        low = sequence_of(rows[-1][0]) + 1
        (newest,), _ = await self._versions(shard, key, low, 1, reverse=True)
        if not self._cut.is_before(newest):
            return None
        found = newest
        high = sequence_of(newest[0])
        while low < high:
            middle = (low + high) // 2
            (version,), _ = await self._versions(shard, key, middle, 1)
            if self._cut.is_before(version):
                found, high = version, middle
            else:
                low = sequence_of(version[0]) + 1
        return found

    async def _versions(
        self, shard: int, key: bytes, number: int, rows_max: int, *, reverse: bool = False
    ) -> tuple[list[Row], bool]:
        """Return changes of an item from a number on, and whether these are all."""
        return await self._engine.range(
            self._history,
            shard,
            key + number.to_bytes(SEQUENCE_BYTES, "big"),
            key + _BEHIND,
            reverse=reverse,
            rows_max=rows_max,
            bytes_max=_CHUNK_BYTES,
            consistency=STRONG,
        )


def _fitting(rows: Sequence[Row], rows_max: int, bytes_max: int) -> int:
    """Return how many rows reach a bound, 0 if they stay below both."""
    size = 0
    for count, (_, row) in enumerate(rows, 1):
        size += len(row)
        if count == rows_max or size >= bytes_max:
            return count
    return 0
