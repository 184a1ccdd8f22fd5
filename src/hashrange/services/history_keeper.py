"""Keeps histories within their windows: drops versions that no time in the window needs.

A version is needed while its change lies in the window. The store is walked in the order of the
table, a few rows at a time, again and again: a round takes at least an hour, and at most a
twentieth of the window. So a history holds the changes of its window and at most a twentieth more.
Reads compute the window from the clock, so a version that is still there is never shown.

The position of a round is kept in memory: a process that takes over begins anew.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final, final

from hashrange.clock import Clock
from hashrange.engine.base import STRONG, Changes, Engine, Fence, Row, RowKey
from hashrange.model.records import TableRecord
from hashrange.model.recovery import SECONDS_PER_DAY
from hashrange.storage.catalog import Catalog
from hashrange.storage.history import version_time
from hashrange.storage.layout import END_OF_KEYS

_CHUNK_ROWS: Final = 200
_CHUNK_BYTES: Final = 1 << 18
_ROUND_SECONDS_MIN: Final = 3600.0
_ROUNDS_PER_WINDOW: Final = 20
# Greater than every key of an item and all its versions.
_END: Final = END_OF_KEYS * 3


@final
class HistoryKeeper:
    """Keeps all histories; one process runs it."""

    def __init__(self, engine: Engine, catalog: Catalog, clock: Clock) -> None:
        self._engine = engine
        self._catalog = catalog
        self._clock = clock
        self._counter = -1
        self._rounds: dict[str, _Round] = {}

    async def run_to_end(self) -> None:
        """Do all that is due now."""
        while await self.step():
            pass

    async def step(self) -> int:
        """Do a bounded piece of work for each history; return how many had any."""
        counter = self._engine.counter()
        if counter != self._counter:
            await self._find_histories()
            self._counter = counter
        done = 0
        now = self._clock.now()
        for round in list(self._rounds.values()):
            if now >= round.due_at:
                await self._advance(round, now)
                done += 1
                await asyncio.sleep(0)
        return done

    async def _find_histories(self) -> None:
        found: dict[str, _Round] = {}
        for where in await self._catalog.recording():
            record = await self._catalog.find(*where)
            recovery = None if record is None else record.recovery
            if record is not None and recovery is not None and recovery.is_enabled:
                round = self._rounds.get(recovery.store) or _Round(record, self._clock.now())
                round.seconds = recovery.days * SECONDS_PER_DAY
                found[recovery.store] = round
        self._rounds = found

    async def _advance(self, round: _Round, now: float) -> None:
        """Take a round one chunk further."""
        rows, ended = await self._engine.range(
            round.store,
            round.shard,
            round.position,
            _END,
            reverse=False,
            rows_max=_CHUNK_ROWS,
            bytes_max=_CHUNK_BYTES,
            consistency=STRONG,
        )
        doomed = [(round.store, round.shard, key) for key in expired(rows, now - round.seconds)]
        if doomed:
            await self._engine.write(_Removal(doomed))
        round.pass_chunk(rows, now, ended=ended)


@final
class _Round:
    """How far a walk through a history has come, and when to go on."""

    __slots__ = ("_begun_at", "_shards", "due_at", "position", "seconds", "shard", "store")

    def __init__(self, record: TableRecord, now: float) -> None:
        assert record.recovery is not None
        self.store = record.recovery.store
        self._shards = record.shards
        self.seconds = record.recovery.days * SECONDS_PER_DAY
        self.shard = 0
        self.position = b""
        self._begun_at = now
        self.due_at = now + self._pause()

    def _pause(self) -> float:
        return max(_ROUND_SECONDS_MIN, self.seconds / _ROUNDS_PER_WINDOW)

    def pass_chunk(self, rows: Sequence[Row], now: float, *, ended: bool) -> None:
        """Go on behind these rows; after the last shard, rest until the next round."""
        if not ended:
            self.position = rows[-1][0] + b"\x00"
            return
        self.position = b""
        self.shard += 1
        if self.shard == self._shards:
            self.shard = 0
            self.due_at = max(now, self._begun_at + self._pause())
            self._begun_at = self.due_at


def expired(rows: Sequence[Row], horizon: float) -> list[bytes]:
    """Return the keys of versions whose changes lie before the window."""
    return [key for key, value in rows if version_time(value) <= horizon]


@final
class _Removal:
    """The decision that deletes versions."""

    __slots__ = ("_doomed", "fences", "keys")

    def __init__(self, doomed: Sequence[RowKey]) -> None:
        self._doomed = doomed
        self.fences: Sequence[Fence] = ()
        self.keys: Sequence[RowKey] = doomed[:1]

    def decide(self, rows: Sequence[bytes | None]) -> Changes:
        changes = Changes()
        changes.deletes.extend(self._doomed)
        return changes
