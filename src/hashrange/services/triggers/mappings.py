"""Runs one mapping: its shards, parents before children, and their positions.

A shard begins once its parent is delivered to the last record, so the changes of an item stay in
order across shards. Positions are written behind, a few times in a second: a restart repeats what
was delivered after the last of them, and skips nothing.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Final, final

from hashrange.errors import (
    AccessDeniedException,
    CorruptionError,
    EngineError,
    UnknownOutcomeError,
)
from hashrange.model.streams import ShardRecord, StreamRecord
from hashrange.model.triggers import Position
from hashrange.services.triggers.shards import Delivery, ShardRun
from hashrange.storage.triggers import TriggerStore

_LOGGER = logging.getLogger("hashrange.triggers")

_SAVE_SECONDS: Final = 0.05
_RETRY_SECONDS: Final = 1.0
_STREAM_GONE: Final = "PROBLEM: Stream not found"


@final
class MappingRun:
    """The delivery of a stream to a function, until it is stopped."""

    def __init__(self, delivery: Delivery, store: TriggerStore) -> None:
        self._delivery = delivery
        self._store = store
        self._uuid = delivery.mapping.uuid
        self._positions: dict[str, Position] = {}
        self._saved: dict[str, Position] = {}
        self._result: str | None = None
        self._saved_result: str | None = None
        self._runs: dict[str, ShardRun] = {}
        self._dirty = asyncio.Event()
        self._changed = asyncio.Event()
        self._is_stopping = False

    def look_again(self) -> None:
        """Look for new shards."""
        self._changed.set()

    def stop(self) -> None:
        """End as soon as the invocations that are under way are over."""
        self._is_stopping = True
        self._changed.set()
        for run in self._runs.values():
            run.stop()

    async def run(self) -> None:
        """Deliver until stopped."""
        self._positions = await self._store.positions(self._uuid)
        self._saved = dict(self._positions)
        saving = asyncio.create_task(self._save_again_and_again())
        try:
            async with asyncio.TaskGroup() as group:
                while not self._is_stopping:
                    self._changed.clear()
                    await self._start_shards(group)
                    await self._changed.wait()
        finally:
            saving.cancel()
            await asyncio.gather(saving, return_exceptions=True)
            await self._save()

    async def _start_shards(self, group: asyncio.TaskGroup) -> None:
        """Start the shards whose parents are delivered."""
        stream = await self._delivery.source.current()
        if stream is None:
            self._report(_STREAM_GONE)
            return
        ids = {shard.id for shard in stream.shards}
        for shard in stream.shards:
            if shard.id not in self._runs and self._is_next(stream, shard):
                self._begin(group, shard)
        for gone in [id for id in self._positions if id not in ids and id not in self._runs]:
            del self._positions[gone]
            self._dirty.set()

    def _is_next(self, stream: StreamRecord, shard: ShardRecord) -> bool:
        if self._has_ended(shard.id):
            return False
        # A parent that is forgotten has nothing left to deliver.
        parent = None if shard.parent is None else stream.shard(shard.parent)
        return parent is None or self._has_ended(parent.id)

    def _has_ended(self, shard_id: str) -> bool:
        position = self._positions.get(shard_id)
        return position is not None and position.has_ended

    def _begin(self, group: asyncio.TaskGroup, shard: ShardRecord) -> None:
        start = self._positions.get(shard.id) or Position([0])
        run = ShardRun(self._delivery, shard.id, start, self._report)
        self._runs[shard.id] = run
        group.create_task(self._run_shard(shard.id, run))

    async def _run_shard(self, shard_id: str, run: ShardRun) -> None:
        """Deliver a shard; try again later if the engine fails, or its KMS key cannot be used."""
        has_ended = False
        try:
            has_ended = await run.run()
        except* (
            AccessDeniedException,
            CorruptionError,
            EngineError,
            UnknownOutcomeError,
        ) as failures:
            _LOGGER.error("reading %s failed", shard_id, exc_info=failures)
            await asyncio.sleep(_RETRY_SECONDS)
        position = run.position
        position.has_ended = has_ended
        self._positions[shard_id] = position
        del self._runs[shard_id]
        self._dirty.set()
        self._changed.set()

    def _report(self, result: str | None) -> None:
        if result is not None:
            self._result = result
        self._dirty.set()

    async def _save_again_and_again(self) -> None:
        while True:
            await self._dirty.wait()
            self._dirty.clear()
            await self._save()
            await asyncio.sleep(_SAVE_SECONDS)

    async def _save(self) -> None:
        """Save the positions that have changed since the last time."""
        current = dict(self._positions)
        for shard_id, run in self._runs.items():
            current[shard_id] = run.position
        changes: dict[str, Position | None] = {
            shard_id: position
            for shard_id, position in current.items()
            if self._saved.get(shard_id) != position
        }
        changes |= {shard_id: None for shard_id in self._saved if shard_id not in current}
        result = self._result if self._result != self._saved_result else None
        if not changes and result is None:
            return
        try:
            await self._store.save(self._uuid, changes, result)
        except (EngineError, UnknownOutcomeError):
            _LOGGER.exception("the position of mapping %s cannot be written", self._uuid)
            self._dirty.set()
            return
        self._saved = current
        self._saved_result = result or self._saved_result
