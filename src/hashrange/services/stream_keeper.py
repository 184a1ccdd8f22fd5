"""Maintains streams: trims old records, rolls shards over and splits busy ones.

Records are kept for a day. Older records are never returned; this service deletes them a few at
a time, and removes shards and streams without records. When a shard has been open for some
hours it is rolled over to a child, as on AWS, so that consumers meet closed shards in their tests
and not only in production; a shard that stays busy is split in two, so that several can read what
one could not.

All state is in the catalog and the logs, so the server can stop at any time. One process runs this
service; when nothing is due it costs a comparison of times.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Final, final

from hashrange.clock import Clock
from hashrange.engine.base import EVENTUAL, STRONG, Engine
from hashrange.errors import (
    AccessDeniedException,
    ResourceNotFoundException,
)
from hashrange.limits import (
    OPEN_SHARDS_MAX,
    SHARD_RECORDS_PER_SECOND_MAX,
    SHARD_SECONDS,
    STREAM_RETENTION_SECONDS,
)
from hashrange.model.records import TableRecord
from hashrange.model.streams import ShardRecord, StreamRecord
from hashrange.storage.catalog import Catalog, Edit
from hashrange.storage.log import change_span, change_time
from hashrange.storage.stream_marks import write_marks
from hashrange.storage.streams import (
    MarkRemoval,
    StreamRemoval,
    Trimming,
    all_streams,
    mark_keys,
    mark_shards,
    read_bounds,
)

_LOGGER = logging.getLogger("hashrange.streams")

_CHUNK_ROWS: Final = 200
_CHUNK_BYTES: Final = 1 << 18
_FOREVER: Final = float("inf")
_GONE_VERSION: Final = 1 << 62
"""A version of a table that is gone: above all that it had."""

# A shard is busy when its newest records came faster than a shard should take them; it is split
# when it was so every time it was looked at for a minute.
_WATCH_SECONDS: Final = 5.0
_WATCHED_ROWS: Final = 64
_BUSY_TIMES: Final = 12

Shard = tuple[str, int]
"""The store of a stream and the number of a shard."""


@final
class StreamKeeper:
    """Maintains all streams; one process runs it."""

    def __init__(self, engine: Engine, catalog: Catalog, clock: Clock) -> None:
        self._engine = engine
        self._catalog = catalog
        self._clock = clock
        self._counter = -1
        self._streams: list[StreamRecord] = []
        self._trim_at: dict[Shard, float] = {}  # not before which there is something to drop
        self._emptied: set[Shard] = set()
        self._marked: set[tuple[Shard, bool]] = set()  # shards with their marks, and if closed
        self._busy: dict[Shard, int] = {}  # how often in a row a shard was found busy
        self._watch_at = 0.0
        self._due_at = 0.0

    async def run_to_end(self) -> None:
        """Do all that is due now."""
        while await self.step():
            pass

    async def step(self) -> int:
        """Do a bounded piece of work for each stream; return how many had any."""
        now = self._clock.now()
        counter = self._engine.counter()
        if counter != self._counter:
            await self._find_streams()
            self._counter = counter
        elif now < self._due_at:
            return 0
        done = 0
        is_watching = now >= self._watch_at
        if is_watching:
            self._watch_at = now + _WATCH_SECONDS
        self._due_at = self._watch_at if self._streams else _FOREVER
        for stream in list(self._streams):
            try:
                if is_watching and stream.is_enabled:
                    await self._watch(stream, now)
                    await asyncio.sleep(0)
                if await self._keep(stream, now):
                    done += 1
                    await asyncio.sleep(0)
            except AccessDeniedException:
                continue  # the KMS key of its table cannot be used
        if done:
            self._due_at = now
        return done

    async def _find_streams(self) -> None:
        self._streams = await all_streams(self._engine)
        known = {
            (stream.store, shard.number) for stream in self._streams for shard in stream.shards
        }
        self._trim_at = {shard: time for shard, time in self._trim_at.items() if shard in known}
        self._busy = {shard: times for shard, times in self._busy.items() if shard in known}
        self._emptied &= known
        self._marked = {(shard, closed) for shard, closed in self._marked if shard in known}

    async def _keep(self, stream: StreamRecord, now: float) -> bool:
        """Do what is due for a stream, one piece; tell whether anything was."""
        if not stream.is_kept(now):
            await self._engine.write(StreamRemoval(stream))
            self._streams.remove(stream)
            _LOGGER.info("stream %s is forgotten", stream.arn)
            return True
        await self._repair_marks(stream, now)
        if stream.disabled_at is not None:
            self._note_due(stream.disabled_at + STREAM_RETENTION_SECONDS)
        elif self._needs_new_shards(stream, now):
            await self._renew_shards(stream, now)
            return True
        for shard in stream.shards:
            trim_at = self._trim_at.get((stream.store, shard.number), 0.0)
            if now >= trim_at:
                trim_at = await self._trim(stream, shard, now)
                self._trim_at[stream.store, shard.number] = trim_at
                if now >= trim_at:
                    return True
            self._note_due(trim_at)
        return False

    async def _repair_marks(self, stream: StreamRecord, now: float) -> None:
        """Make the marks that are missing because a process died after changing the catalog."""
        shards = [shard for shard in stream.shards if shard.is_kept(now)]
        wanted = {((stream.store, shard.number), shard.closed_at is not None) for shard in shards}
        if self._engine.capabilities.atomic_across_shards or wanted <= self._marked:
            return
        bounds = await read_bounds(self._engine, stream)
        missing = Edit(None)
        for shard in shards:
            if not bounds[shard.number].first:
                mark_shards(missing, stream, closed=[], opened=[shard])
            if shard.closed_at is not None and bounds[shard.number].last is None:
                mark_shards(missing, stream, closed=[shard], opened=[])
        if missing.marks:
            record = await self._catalog.find(stream.account, stream.region, stream.table)
            is_there = record is not None and record.store == stream.space
            version = record.version if record is not None and is_there else _GONE_VERSION
            await self._engine.fence(stream.space, stream.store_shards, version)
            await write_marks(self._engine, stream.store, missing.marks)
        self._marked |= wanted

    def _note_due(self, time: float) -> None:
        self._due_at = min(self._due_at, time)

    async def _trim(self, stream: StreamRecord, shard: ShardRecord, now: float) -> float:
        """Drop some of a shard's oldest records; return when to look again."""
        lower, upper = change_span(shard.number, 0)
        rows, _ = await self._engine.range(
            stream.store,
            stream.store_shard(shard),
            lower,
            upper,
            reverse=False,
            rows_max=_CHUNK_ROWS,
            bytes_max=_CHUNK_BYTES,
            consistency=STRONG,
        )
        doomed: list[bytes] = []
        for key, value in rows:
            if change_time(value) > now - STREAM_RETENTION_SECONDS:
                break
            doomed.append(key)
        if doomed:
            await self._engine.write(Trimming(stream, shard, doomed))
            return now
        if rows:
            return change_time(rows[0][1]) + STREAM_RETENTION_SECONDS
        if shard.closed_at is None:
            return now + STREAM_RETENTION_SECONDS
        if shard.is_kept(now):
            return shard.closed_at + STREAM_RETENTION_SECONDS
        marks = await mark_keys(self._engine, stream, shard)
        if marks:
            await self._engine.write(MarkRemoval(stream, shard, marks))
        self._emptied.add((stream.store, shard.number))
        return _FOREVER

    def _needs_new_shards(self, stream: StreamRecord, now: float) -> bool:
        for shard in stream.open_shards():
            if self._is_split_due(stream, shard):
                return True
            roll_at = shard.opened_at + SHARD_SECONDS
            if now >= roll_at:
                return True
            self._note_due(roll_at)
        return False

    def _is_split_due(self, stream: StreamRecord, shard: ShardRecord) -> bool:
        return self._busy.get((stream.store, shard.number), 0) >= _BUSY_TIMES

    async def _renew_shards(self, stream: StreamRecord, now: float) -> None:
        """Roll over the shards that are old and split those that are busy, in one step."""
        split = {
            shard.number for shard in stream.open_shards() if self._is_split_due(stream, shard)
        }
        emptied = {number for store, number in self._emptied if store == stream.store}

        def renew(record: TableRecord | None) -> Edit:
            current = None if record is None else record.stream
            if record is None or current is None or current.store != stream.store:
                raise ResourceNotFoundException
            if not current.is_enabled:
                raise ResourceNotFoundException
            edit = Edit(record, stream=current)
            for shard in current.open_shards():
                if shard.number in split or now >= shard.opened_at + SHARD_SECONDS:
                    children = current.replace(shard, 2 if shard.number in split else 1, now)
                    mark_shards(edit, current, closed=[shard], opened=children)
            current.shards = [shard for shard in current.shards if shard.number not in emptied]
            return edit

        for number in split:
            self._busy[stream.store, number] = 0
        try:
            await self._catalog.change(stream.account, stream.region, stream.table, renew)
        except ResourceNotFoundException:
            return  # disabled or deleted just now
        _LOGGER.debug("shards of stream %s were renewed", stream.arn)

    async def _watch(self, stream: StreamRecord, now: float) -> None:
        """Note which of a stream's shards are busy."""
        shards = stream.open_shards()
        for shard in shards:
            key = (stream.store, shard.number)
            can_split = len(shards) < OPEN_SHARDS_MAX and shard.upper - shard.first > 1
            if can_split and await self._is_busy(stream, shard, now):
                self._busy[key] = self._busy.get(key, 0) + 1
            else:
                self._busy.pop(key, None)

    async def _is_busy(self, stream: StreamRecord, shard: ShardRecord, now: float) -> bool:
        lower, upper = change_span(shard.number, 0)
        rows, ended = await self._engine.range(
            stream.store,
            stream.store_shard(shard),
            lower,
            upper,
            reverse=True,
            rows_max=_WATCHED_ROWS,
            bytes_max=_CHUNK_BYTES,
            consistency=EVENTUAL,
        )
        if ended or len(rows) < 2:
            return False
        newest, oldest = change_time(rows[0][1]), change_time(rows[-1][1])
        seconds = newest - oldest
        if seconds <= 0 or now - newest > _WATCH_SECONDS:
            return False
        return (len(rows) - 1) / seconds > SHARD_RECORDS_PER_SECOND_MAX
