"""Marks of stream shards, for engines that cannot change catalog and log in one step.

A mark that is appended says where in the sequence a shard was opened or closed. Here marks follow
the catalog, each in a decision of its own that may be repeated: a row beside the mark tells that
it was made. A shard is closed only once its CLOSED mark is there: the table is fenced before, so no
change can come after the mark. Changes may come before the OPENED mark, which is then made again
with the number of the first of them; the smallest number counts.

done row := nothing                         under "m" shard "A" or "Z"
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, final

from hashrange.engine.base import SEQUENCE_BYTES, STRONG, Changes, Engine, Fence, RowKey
from hashrange.model.keys import successor
from hashrange.storage.log import OPENED, change_span, mark_of, sequence_of
from hashrange.storage.settled_writes import write_surely

_UNBOUNDED: Final = 1 << 40


@final
class _Mark:
    """The decision that appends a mark, unless that was done before."""

    __slots__ = ("_mark", "fences", "keys")

    def __init__(self, store: str, shard: int, mark: bytes) -> None:
        self.fences: Sequence[Fence] = ()
        self._mark = mark
        self.keys: Sequence[RowKey] = ((store, shard, mark[:-1] + mark[-1:].upper()),)

    def decide(self, rows: Sequence[bytes | None]) -> Changes:
        changes = Changes()
        if rows[0] is None:
            store, shard, _ = self.keys[0]
            changes.puts.append((*self.keys[0], b""))
            changes.appends.append((store, shard, self._mark, b""))
        return changes


@final
class _EarlierMark:
    """The decision that marks a shard as opened at a number."""

    __slots__ = ("fences", "keys")

    def __init__(self, store: str, shard: int, mark: bytes, number: int) -> None:
        self.fences: Sequence[Fence] = ()
        key = mark + number.to_bytes(SEQUENCE_BYTES, "big")
        self.keys: Sequence[RowKey] = ((store, shard, key),)

    def decide(self, rows: Sequence[bytes | None]) -> Changes:
        changes = Changes()
        changes.puts.append((*self.keys[0], b""))
        return changes


async def write_marks(engine: Engine, store: str, marks: Sequence[tuple[int, bytes]]) -> None:
    """Make the marks of a stream, given as shard of the store and key prefix; may be repeated."""
    for shard, mark in marks:
        await write_surely(engine, _Mark(store, shard, mark))
        number, kind = mark_of(mark)
        if kind == OPENED:
            marked = await _first_number(engine, (store, shard), mark, successor(mark))
            changed = await _first_number(engine, (store, shard), *change_span(number, 0))
            if marked is not None and changed is not None and changed < marked:
                await write_surely(engine, _EarlierMark(store, shard, mark, changed))


async def _first_number(
    engine: Engine, place: tuple[str, int], lower: bytes, upper: bytes
) -> int | None:
    """Return the smallest number of appended rows in a range."""
    rows, _ = await engine.range(
        *place,
        lower,
        upper,
        reverse=False,
        rows_max=1,
        bytes_max=_UNBOUNDED,
        consistency=STRONG,
    )
    return sequence_of(rows[0][0]) if rows else None
