"""Streams in the catalog, and reading their logs: marks, positions and changes.

stream row := StreamRecord as JSON          under "s" world table 0 label, in the catalog

The stream that a table has is part of the table's record, which is what decisions see; its row here
is a copy, written in the same step, for reading streams. The copy remains after the stream is
disabled or the table deleted, until all records of the stream have expired.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, final

from hashrange.engine.base import STRONG, Changes, Engine, Fence, Row, RowKey
from hashrange.errors import TrimmedDataAccessException
from hashrange.limits import RESPONSE_PAGE_BYTES_MAX, STREAM_RETENTION_SECONDS
from hashrange.model.keys import successor
from hashrange.model.streams import ShardRecord, StreamRecord, unpack_stream
from hashrange.storage.catalog import STORE, Edit, stream_key, streams_prefix
from hashrange.storage.log import (
    CLOSED,
    MARKS,
    OPENED,
    TRIMMED,
    Change,
    change_span,
    change_time,
    mark_of,
    mark_prefix,
    sequence_of,
)

_CHUNK_ROWS: Final = 256
_PASSED_CHUNKS_MAX: Final = 8
_PAGE_ROWS: Final = 100
_STREAMS_KEPT_MAX: Final = 100
_UNBOUNDED: Final = 1 << 40


async def find_stream(
    engine: Engine, account: str, region: str, table: str, label: str, now: float
) -> StreamRecord | None:
    """Return a stream that can be read."""
    key = stream_key(account, region, table, label)
    (row,) = await engine.read([(STORE, 0, key)], STRONG)
    stream = None if row is None else _unpacked(row)
    return stream if stream is not None and stream.is_kept(now) else None


@lru_cache(maxsize=_STREAMS_KEPT_MAX)
def _unpacked(row: bytes) -> StreamRecord:
    """Return the stream of a row from a cache; the caller must not change it."""
    return unpack_stream(row)


async def list_streams(
    engine: Engine, prefix: bytes, *, after: bytes | None, streams_max: int, now: float
) -> tuple[list[StreamRecord], bool]:
    """Return a page of the streams whose rows begin with a prefix, and whether there are more."""
    lower, upper = prefix, successor(prefix)
    if after is not None:
        lower = max(lower, after + b"\x00")
    found: list[StreamRecord] = []
    while True:
        rows, ended = await engine.range(
            STORE,
            0,
            lower,
            upper,
            reverse=False,
            rows_max=_PAGE_ROWS,
            bytes_max=_UNBOUNDED,
            consistency=STRONG,
        )
        for _, row in rows:
            stream = unpack_stream(row)
            if not stream.is_kept(now):
                continue
            if len(found) == streams_max:
                return found, True
            found.append(stream)
        if ended:
            return found, False
        lower = rows[-1][0] + b"\x00"


async def all_streams(engine: Engine) -> list[StreamRecord]:
    """Return the streams of all accounts and regions, including expired ones."""
    streams, _ = await list_streams(
        engine, streams_prefix(), after=None, streams_max=_UNBOUNDED, now=float("-inf")
    )
    return streams


@final
class Bounds:
    """The range of sequence numbers of a shard's changes."""

    __slots__ = ("first", "last", "trimmed")

    def __init__(self) -> None:
        self.first = 0
        self.last: int | None = None  # None while the shard is open
        self.trimmed = 0  # the last change that was dropped for its age


async def read_bounds(
    engine: Engine, stream: StreamRecord, shard: ShardRecord | None = None
) -> dict[int, Bounds]:
    """Return the bounds of a stream's shards, or of one of them, by their numbers."""
    found = {shard.number: Bounds() for shard in stream.shards}
    for key, value in await _marks(engine, stream, shard):
        number, kind = mark_of(key)
        bounds = found.get(number)
        if bounds is None:
            continue
        if kind == OPENED:
            # Marks are in order, and the first one counts; see storage/stream_marks.
            bounds.first = bounds.first or sequence_of(key)
        elif kind == CLOSED:
            bounds.last = sequence_of(key)
        elif kind == TRIMMED:
            bounds.trimmed = int.from_bytes(value, "big")
    return found


async def _marks(engine: Engine, stream: StreamRecord, shard: ShardRecord | None) -> list[Row]:
    """Return the rows of the marks of one shard, or of all."""
    prefix = MARKS if shard is None else mark_prefix(shard.number, b"")
    places = range(stream.store_shards) if shard is None else [stream.store_shard(shard)]
    found: list[Row] = []
    for place in places:
        rows, _ = await engine.range(
            stream.store,
            place,
            prefix,
            successor(prefix),
            reverse=False,
            rows_max=_UNBOUNDED,
            bytes_max=_UNBOUNDED,
            consistency=STRONG,
        )
        found += rows
    return found


async def newest_change(engine: Engine, stream: StreamRecord, shard: ShardRecord) -> int:
    """Return the number of a shard's newest change, 0 if it has none."""
    lower, upper = change_span(shard.number, 0)
    rows, _ = await engine.range(
        stream.store,
        stream.store_shard(shard),
        lower,
        upper,
        reverse=True,
        rows_max=1,
        bytes_max=_UNBOUNDED,
        consistency=STRONG,
    )
    return sequence_of(rows[0][0]) if rows else 0


async def first_change(
    engine: Engine, stream: StreamRecord, shard: ShardRecord, position: int
) -> Row | None:
    """Return the row of a shard's first change at or after a position."""
    lower, upper = change_span(shard.number, position)
    rows, _ = await engine.range(
        stream.store,
        stream.store_shard(shard),
        lower,
        upper,
        reverse=False,
        rows_max=1,
        bytes_max=_UNBOUNDED,
        consistency=STRONG,
    )
    return rows[0] if rows else None


async def position_at(engine: Engine, stream: StreamRecord, shard: ShardRecord, time: float) -> int:
    """Return the position of a shard's first change made at or after a time.

    Changes are logged in commit order, in which times ascend except for small differences. This
    is a binary search, so the result is exact except for those differences.
    """
    low, high = 0, await newest_change(engine, stream, shard) + 1
    while low < high:
        middle = (low + high) // 2
        row = await first_change(engine, stream, shard, middle)
        if row is None or change_time(row[1]) >= time:
            high = middle
        else:
            low = sequence_of(row[0]) + 1
    return low


@final
class ChangePage:
    """Some changes of a shard in order, and where to go on: None when the shard has ended.

    `is_at_horizon` tells that the position is still among changes too old to be shown.
    """

    __slots__ = ("changes", "is_at_horizon", "position")

    def __init__(self) -> None:
        self.changes: list[Change] = []
        self.position: int | None = None
        self.is_at_horizon = False


async def read_changes(
    engine: Engine,
    stream: StreamRecord,
    shard: ShardRecord,
    position: int,
    *,
    changes_max: int,
    now: float,
    from_horizon: bool = False,
) -> ChangePage:
    """Read changes of a shard from a position on, at most a megabyte of them.

    What is older than the retention is passed over when reading from the horizon, and otherwise
    refused. The shard must be as it was found before this call: if it was closed then, all its
    changes are seen, and it ends with them.
    """
    has_ended = await _has_ended(engine, stream, shard)
    if not from_horizon:
        await check_not_trimmed(engine, stream, shard, position)
    horizon = now - STREAM_RETENTION_SECONDS
    page = ChangePage()
    page.position = position
    page.is_at_horizon = from_horizon
    room = RESPONSE_PAGE_BYTES_MAX
    for _ in range(_PASSED_CHUNKS_MAX):
        lower, upper = change_span(shard.number, page.position)
        rows, ended = await engine.range(
            stream.store,
            stream.store_shard(shard),
            lower,
            upper,
            reverse=False,
            rows_max=min(_CHUNK_ROWS, changes_max - len(page.changes)),
            bytes_max=room,
            consistency=STRONG,
        )
        for key, value in rows:
            room -= len(value)
            change = Change(key, value)
            if change.time <= horizon:
                if not page.is_at_horizon:
                    raise trimmed()
            elif room < 0 and page.changes:
                return page
            else:
                page.is_at_horizon = False
                page.changes.append(change)
            page.position = change.sequence + 1
        if ended:
            if has_ended:
                page.position = None
            return page
        if room <= 0 or len(page.changes) >= changes_max:
            return page
        await asyncio.sleep(0)
    return page


async def _has_ended(engine: Engine, stream: StreamRecord, shard: ShardRecord) -> bool:
    """Tell whether a shard can get no more changes."""
    if shard.closed_at is None:
        return False
    if engine.capabilities.atomic_across_shards:
        return True
    # Writes that do not know that the shard is closed are over when it is marked.
    bounds = await read_bounds(engine, stream, shard)
    return bounds[shard.number].last is not None


async def check_not_trimmed(
    engine: Engine, stream: StreamRecord, shard: ShardRecord, position: int
) -> None:
    """Refuse a position whose changes were trimmed."""
    (row,) = await engine.read([_trim_mark(stream, shard)], STRONG)
    if row is not None and position <= int.from_bytes(row, "big"):
        raise trimmed()


def _trim_mark(stream: StreamRecord, shard: ShardRecord) -> RowKey:
    return (stream.store, stream.store_shard(shard), mark_prefix(shard.number, TRIMMED))


def trimmed() -> TrimmedDataAccessException:
    """Return the error for reading changes that were trimmed."""
    return TrimmedDataAccessException("The data you are trying to access has been trimmed")


@final
class Trimming:
    """The decision that drops changes from a shard for their age."""

    __slots__ = ("_doomed", "_last", "fences", "keys")

    def __init__(self, stream: StreamRecord, shard: ShardRecord, doomed: Sequence[bytes]) -> None:
        self.fences: Sequence[Fence] = ()
        self._doomed = doomed
        self._last = sequence_of(doomed[-1]).to_bytes(8, "big")
        self.keys: Sequence[RowKey] = (_trim_mark(stream, shard),)

    def decide(self, rows: Sequence[bytes | None]) -> Changes:
        changes = Changes()
        store, shard, _ = self.keys[0]
        changes.deletes.extend((store, shard, key) for key in self._doomed)
        changes.puts.append((*self.keys[0], max(self._last, rows[0] or b"")))
        return changes


async def mark_keys(engine: Engine, stream: StreamRecord, shard: ShardRecord) -> list[bytes]:
    """Return the keys of a shard's marks."""
    return [key for key, _ in await _marks(engine, stream, shard)]


def mark_shards(
    edit: Edit,
    stream: StreamRecord,
    *,
    closed: Sequence[ShardRecord],
    opened: Sequence[ShardRecord],
) -> None:
    """Append marks to the log where shards of a stream are closed and opened."""
    for shards, kind in ((closed, CLOSED), (opened, OPENED)):
        edit.marks.extend(
            (stream.store_shard(shard), mark_prefix(shard.number, kind)) for shard in shards
        )


@final
class MarkRemoval:
    """The decision that deletes the marks of a shard of which nothing is kept."""

    __slots__ = ("fences", "keys")

    def __init__(self, stream: StreamRecord, shard: ShardRecord, doomed: Sequence[bytes]) -> None:
        self.fences: Sequence[Fence] = ()
        place = stream.store_shard(shard)
        self.keys: Sequence[RowKey] = [(stream.store, place, key) for key in doomed]

    def decide(self, rows: Sequence[bytes | None]) -> Changes:
        changes = Changes()
        changes.deletes.extend(self.keys)
        return changes


@final
class StreamRemoval:
    """The decision that forgets a stream of which nothing is kept, with its store."""

    __slots__ = ("_store", "fences", "keys")

    def __init__(self, stream: StreamRecord) -> None:
        self.fences: Sequence[Fence] = ()
        self._store = stream.store
        key = stream_key(stream.account, stream.region, stream.table, stream.label)
        self.keys: Sequence[RowKey] = ((STORE, 0, key),)

    def decide(self, rows: Sequence[bytes | None]) -> Changes:
        changes = Changes()
        if rows[0] is not None and unpack_stream(rows[0]).store == self._store:
            changes.deletes.append(self.keys[0])
        changes.drops.append(self._store)
        return changes
