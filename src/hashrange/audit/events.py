"""Management events of the last 90 days, in a space of the engine: what LookupEvents reads.

row := JSON record      under account 0 region 0 time (8 bytes, microseconds, big-endian) event id

Every process writes its own events, so there is nothing to agree about; ids make keys unique.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any, Final, final

import orjson

from hashrange.engine.base import EVENTUAL, STRONG, Changes, Engine, Fence, RowKey

STORE: Final = "audit"
RETENTION_SECONDS: Final = 90 * 86_400
_ROWS_MAX: Final = 200
_BYTES_MAX: Final = 1 << 20
_TIME_BYTES: Final = 8

World = tuple[str, str]
Record = dict[str, Any]


def _prefix(world: World) -> bytes:
    return f"{world[0]}\0{world[1]}\0".encode()


def _time_key(seconds: float) -> bytes:
    return max(0, int(seconds * 1_000_000)).to_bytes(_TIME_BYTES, "big")


def event_key(world: World, time: float, event_id: str) -> bytes:
    """Return where an event is."""
    return _prefix(world) + _time_key(time) + event_id.encode()


def is_key_of(world: World, key: bytes) -> bool:
    """Tell whether a key is of an event of this account and region."""
    return key.startswith(_prefix(world))


@final
class EventStore:
    """The events of all accounts, on an engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def add(self, events: Sequence[tuple[bytes, Record]]) -> None:
        """Keep events under their keys; they are durable when this returns."""
        if events:
            await self._engine.write(_Addition(events))

    async def newest_first(
        self, world: World, start: float, end: float, before: bytes | None = None
    ) -> AsyncIterator[tuple[bytes, Record]]:
        """Yield the events from a time up to another, the newest first; `before` continues."""
        prefix = _prefix(world)
        lower = prefix + _time_key(start)
        upper = prefix + _time_key(end) if before is None else before
        while True:
            rows, ended = await self._engine.range(
                STORE,
                0,
                lower,
                upper,
                reverse=True,
                rows_max=_ROWS_MAX,
                bytes_max=_BYTES_MAX,
                consistency=STRONG,
            )
            for key, row in rows:
                yield key, orjson.loads(row)
            if ended:
                return
            upper = rows[-1][0]

    async def drop_old(self, now: float) -> int:
        """Delete some events that are older than the retention; return how many."""
        oldest = _time_key(now - RETENTION_SECONDS)
        gone: list[bytes] = []
        lower = b""
        while len(gone) < _ROWS_MAX:
            rows, _ = await self._range(lower, 1)
            if not rows:
                break
            world = _world_of(rows[0][0])
            rows, _ = await self._range(world, _ROWS_MAX, world + oldest)
            gone += [key for key, _ in rows]
            lower = world + b"\xff"
        if gone:
            await self._engine.write(_Removal(gone))
        return len(gone)

    async def _range(
        self, lower: bytes, rows_max: int, upper: bytes = b"\xff"
    ) -> tuple[list[tuple[bytes, bytes]], bool]:
        return await self._engine.range(
            STORE,
            0,
            lower,
            upper,
            reverse=False,
            rows_max=rows_max,
            bytes_max=_BYTES_MAX,
            consistency=EVENTUAL,
        )


def _world_of(key: bytes) -> bytes:
    account, region, _ = key.split(b"\0", 2)
    return account + b"\0" + region + b"\0"


@final
class _Addition:
    """The decision that writes events."""

    def __init__(self, events: Sequence[tuple[bytes, Record]]) -> None:
        self.fences: Sequence[Fence] = ()
        self.keys: Sequence[RowKey] = [(STORE, 0, events[0][0])]
        self._events = events

    def decide(self, rows: Sequence[bytes | None]) -> Changes:
        changes = Changes()
        changes.creates = [STORE]
        changes.puts = [(STORE, 0, key, orjson.dumps(record)) for key, record in self._events]
        return changes


@final
class _Removal:
    """The decision that deletes events."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        self.fences: Sequence[Fence] = ()
        self.keys: Sequence[RowKey] = [(STORE, 0, keys[0])]
        self._keys = keys

    def decide(self, rows: Sequence[bytes | None]) -> Changes:
        changes = Changes()
        changes.creates = [STORE]
        changes.deletes = [(STORE, 0, key) for key in self._keys]
        return changes
