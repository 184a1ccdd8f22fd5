"""Reading streams for triggers: when there is something new, and records as functions get them."""

from __future__ import annotations

import asyncio
from typing import Final, final
from zlib import crc32

import orjson

from hashrange.clock import Clock
from hashrange.engine.base import Engine
from hashrange.model.streams import ShardRecord, StreamRecord
from hashrange.services.triggers.lanes import Entry
from hashrange.storage.layout import unpack_item
from hashrange.storage.log import Change
from hashrange.storage.stream_records import describe_change, sequence_text, split_arn
from hashrange.storage.streams import ChangePage, find_stream, read_changes

_PAGE_CHANGES: Final = 200
# A process that died may leave a record unannounced until the next write.
_BEAT_SECONDS_MAX: Final = 1.0
# How soon a wait notices that a clock was moved by hand.
_STEP_SECONDS: Final = 0.05


@final
class Pulse:
    """Wakes those who wait for new records; one for all of them, so that waiting costs nothing."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._event = asyncio.Event()
        self._seen = -1
        self._beaten_at = 0.0

    @property
    def sequence(self) -> int:
        """The number up to which there may be records now."""
        return self._engine.sequence()

    def beat(self) -> None:
        """Wake those who wait if there is something new, and now and then in any case."""
        now = asyncio.get_running_loop().time()
        sequence = self._engine.sequence()
        if sequence != self._seen or now - self._beaten_at > _BEAT_SECONDS_MAX:
            self._seen = sequence
            self._beaten_at = now
            self.wake()

    def wake(self) -> None:
        """Wake those who wait."""
        self._event.set()
        self._event = asyncio.Event()

    async def beyond(self, sequence: int) -> None:
        """Wait until there may be records beyond a number, or something else has changed."""
        event = self._event
        if self._engine.sequence() == sequence:
            await event.wait()


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
        self._epoch = -1
        self._stream: StreamRecord | None = None

    async def current(self) -> StreamRecord | None:
        """Return the stream as it was at this epoch, if it can still be read."""
        epoch = self._engine.epoch()
        if epoch != self._epoch:
            parts = split_arn(self._arn)
            assert parts is not None
            self._stream = await find_stream(self._engine, *parts, self._clock.now())
            self._epoch = epoch
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
