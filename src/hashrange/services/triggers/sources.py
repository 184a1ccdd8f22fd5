"""Reads streams for triggers: waits for new records, and formats them for functions."""

from __future__ import annotations

import asyncio
from typing import Final, final

import orjson

from hashrange.clock import Clock
from hashrange.engine.base import Engine
from hashrange.model.streams import ShardRecord, StreamRecord
from hashrange.quick_zlib import crc32
from hashrange.services.triggers.lanes import Entry
from hashrange.storage.layout import unpack_item
from hashrange.storage.log import Change
from hashrange.storage.stream_records import describe_change, sequence_text, split_arn
from hashrange.storage.streams import ChangePage, find_stream, read_changes

_PAGE_CHANGES: Final = 200
# A process that died may leave a record unannounced until the next write.
_WATCH_SECONDS: Final = 1.0
# How soon a wait notices that a clock was moved by hand.
_STEP_SECONDS: Final = 0.05


@final
class Pulse:
    """Wakes tasks that wait for new records or for a changed mapping."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._event = asyncio.Event()

    def mark(self, stream: StreamRecord) -> int:
        """Return a mark to wait from; to be taken before the stream is read."""
        return self._engine.appended(stream.space)

    def wake(self) -> None:
        """Wake the waiting tasks."""
        self._event.set()
        self._event = asyncio.Event()

    async def beyond(self, stream: StreamRecord, mark: int) -> None:
        """Wait until there may be records beyond a mark, or something else has changed."""
        waits = (
            asyncio.ensure_future(self._engine.watch(stream.space, mark, _WATCH_SECONDS)),
            asyncio.ensure_future(self._event.wait()),
        )
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
            await asyncio.gather(*waits, return_exceptions=True)


async def rest(clock: Clock, until: float | None, wake: asyncio.Event) -> None:
    """Wait until an event is set, or the clock has come to a time."""
    while not wake.is_set():
        if until is None:
            await wake.wait()
            return
        seconds = until - clock.now()
        if seconds <= 0:
            return
        try:
            async with asyncio.timeout(min(seconds, _STEP_SECONDS)):
                await wake.wait()
        except TimeoutError:
            continue


@final
class StreamSource:
    """A stream that a mapping reads."""

    def __init__(self, engine: Engine, clock: Clock, arn: str) -> None:
        self._engine = engine
        self._clock = clock
        self._arn = arn
        self._counter = -1
        self._stream: StreamRecord | None = None

    async def current(self) -> StreamRecord | None:
        """Return the stream as it is now, if it can still be read."""
        counter = self._engine.counter()
        if counter != self._counter:
            parts = split_arn(self._arn)
            assert parts is not None
            self._stream = await find_stream(self._engine, *parts, self._clock.now())
            self._counter = counter
        return self._stream

    async def read(self, stream: StreamRecord, shard: ShardRecord, position: int) -> ChangePage:
        """Return some changes of a shard; those too old to be shown are passed over."""
        return await read_changes(
            self._engine,
            stream,
            shard,
            position,
            changes_max=_PAGE_CHANGES,
            now=self._clock.now(),
            from_horizon=True,
        )


def make_entry(stream: StreamRecord, change: Change) -> Entry:
    """Return a change as the record that a function gets."""
    record = describe_change(stream, change)
    identity = record.pop("userIdentity", None)
    if identity is not None:
        # The one difference between a stream's own records and those in Lambda's events.
        record["userIdentity"] = {
            "principalId": identity["PrincipalId"],
            "type": identity["Type"],
        }
    record["eventSourceARN"] = stream.arn
    number = sequence_text(change.sequence)
    return Entry(change.sequence, number, change.time, orjson.dumps(record))


def choose_lane(stream: StreamRecord, change: Change, lanes: int) -> int:
    """Return the lane of a change: the same for all items of a partition key."""
    if lanes == 1:
        return 0
    key = unpack_item(change.keys)
    name = next(part["AttributeName"] for part in stream.key_schema if part["KeyType"] == "HASH")
    return crc32(orjson.dumps(key[name])) % lanes
