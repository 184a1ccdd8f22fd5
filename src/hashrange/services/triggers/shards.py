"""One shard of one mapping: reads its records and sends them through their lanes.

Reading runs ahead of the lanes by a bounded number of records and bytes. What is not finished is
known from the lanes, so `position` at any moment is a point to start again from.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, final

import orjson

from hashrange.clock import Clock
from hashrange.model.patterns import Pattern, matches_any, parse_pattern
from hashrange.model.streams import ShardRecord, StreamRecord
from hashrange.model.triggers import MappingRecord, Position
from hashrange.services.triggers.destinations import Destinations, make_event
from hashrange.services.triggers.functions import Functions
from hashrange.services.triggers.lanes import (
    PAYLOAD_BYTES_MAX,
    Action,
    Entry,
    Invoke,
    Lane,
    Outcome,
    Rest,
)
from hashrange.services.triggers.sources import Pulse, StreamSource, choose_lane, make_entry, rest
from hashrange.services.triggers.targets import Invocation
from hashrange.storage.log import Change

_AHEAD_RECORDS_MIN: Final = 1000

EVENT_COUNT: Final = "EventCount"
"""What `MetricsConfig` of a mapping may ask for."""

OK: Final = "OK"
PROBLEM: Final = "PROBLEM: Function call failed"

Report = Callable[[str | None], None]
"""Told that the position has moved, or of a new result."""


@final
class Delivery:
    """State that the shards of a mapping share."""

    def __init__(
        self,
        mapping: MappingRecord,
        clock: Clock,
        pulse: Pulse,
        source: StreamSource,
        functions: Functions,
        destinations: Destinations,
    ) -> None:
        self.mapping = mapping
        self.clock = clock
        self.pulse = pulse
        self.source = source
        self.functions = functions
        self.destinations = destinations
        metrics = mapping.described.get("MetricsConfig") or {}
        self._counts_events = EVENT_COUNT in (metrics.get("Metrics") or ())
        self.patterns: Sequence[Pattern] = [parse_pattern(text) for text in mapping.filters]

    def count_events(self, name: str, count: int) -> None:
        """Count records that something happened to, if the mapping asks for that."""
        meter = self.functions.meter
        if self._counts_events and meter is not None and count:
            world = (self.mapping.account, self.mapping.region)
            meter.note_events(world, self.mapping.uuid, name, count)


@final
class ShardRun:
    """The delivery of a shard, from a position to its end or until it is stopped."""

    def __init__(self, delivery: Delivery, shard_id: str, start: Position, report: Report) -> None:
        mapping = delivery.mapping
        self._delivery = delivery
        self._shard_id = shard_id
        self._report = report
        self._lanes = [Lane(mapping) for _ in range(mapping.lanes)]
        self._wakes = [asyncio.Event() for _ in self._lanes]
        # With another number of lanes, records lie in others: all go on from the first.
        is_same = len(start.lanes) == mapping.lanes
        self._starts = start.lanes if is_same else [start.first] * mapping.lanes
        self._read_to = start.first
        self._room = asyncio.Event()
        self._is_stopping = False
        self._has_ended = False

    @property
    def position(self) -> Position:
        """Where to go on after a restart."""
        lanes = []
        for lane, start in zip(self._lanes, self._starts, strict=True):
            first = lane.first_open
            lanes.append(max(self._read_to, start) if first is None else first)
        return Position(lanes)

    def stop(self) -> None:
        """End as soon as the invocations that are under way are over."""
        self._is_stopping = True
        self._room.set()
        for wake in self._wakes:
            wake.set()

    async def run(self) -> bool:
        """Deliver; tell whether the shard has come to its end."""
        async with asyncio.TaskGroup() as group:
            for number in range(len(self._lanes)):
                group.create_task(self._deliver(number))
            await self._pump()
            for lane, wake in zip(self._lanes, self._wakes, strict=True):
                lane.is_closing = True
                wake.set()
        return self._has_ended and not self._is_stopping

    async def _pump(self) -> None:
        """Read records into the lanes."""
        source, pulse = self._delivery.source, self._delivery.pulse
        while not self._is_stopping:
            await self._wait_for_room()
            stream = await source.current()
            shard = None if stream is None else stream.shard(self._shard_id)
            if stream is None or shard is None:
                self._has_ended = True  # nothing of it is kept any more
                return
            mark = pulse.mark(stream)
            if not await self._read(stream, shard):
                self._has_ended = True
                return
            await pulse.beyond(stream, mark)

    async def _wait_for_room(self) -> None:
        mapping = self._delivery.mapping
        count_max = max(_AHEAD_RECORDS_MIN, 2 * mapping.batch_size * mapping.lanes)
        bytes_max = PAYLOAD_BYTES_MAX * (mapping.lanes + 1)
        while not self._is_stopping:
            self._room.clear()
            count = sum([lane.open_count for lane in self._lanes])
            size = sum([lane.open_bytes for lane in self._lanes])
            if count < count_max and size < bytes_max:
                return
            await self._room.wait()

    async def _read(self, stream: StreamRecord, shard: ShardRecord) -> bool:
        """Read until there is nothing more for now; False at the end of the shard."""
        while not self._is_stopping:
            page = await self._delivery.source.read(stream, shard, self._read_to)
            self._delivery.count_events("PolledEventCount", len(page.changes))
            for change in page.changes:
                self._offer(stream, change)
            if page.changes:
                self._read_to = page.changes[-1].sequence + 1
                self._report(None)
            for wake in self._wakes:
                wake.set()
            if page.position is None:
                return False
            self._read_to = page.position
            if not page.changes:
                return True
            # Lanes and requests have their turn between two pages.
            await asyncio.sleep(0)
            await self._wait_for_room()
        return True

    def _offer(self, stream: StreamRecord, change: Change) -> None:
        """Hand a change to its lane, unless it was finished before or is filtered out."""
        delivery = self._delivery
        number = choose_lane(stream, change, len(self._lanes))
        if change.sequence < self._starts[number]:
            return
        entry = make_entry(stream, change)
        if delivery.patterns and not matches_any(delivery.patterns, orjson.loads(entry.document)):
            delivery.count_events("FilteredOutEventCount", 1)
            return
        self._lanes[number].add(entry, delivery.clock.now())

    async def _deliver(self, number: int) -> None:
        """Carry out the steps of a lane until the shard ends."""
        lane, wake = self._lanes[number], self._wakes[number]
        while not self._is_stopping:
            wake.clear()
            action = lane.next(self._delivery.clock.now())
            if not isinstance(action, Rest):
                await self._act(lane, action)
            elif lane.is_closing and action.until is None:
                return
            else:
                await rest(self._delivery.clock, action.until, wake)

    async def _act(self, lane: Lane, action: Action) -> None:
        delivery = self._delivery
        result = None
        if isinstance(action, Invoke):
            outcome = await self._invoke(action.entries)
            lane.finish(outcome, delivery.clock.now())
            result = OK if outcome.error is None else PROBLEM
        elif not isinstance(action, Rest):
            now = delivery.clock.now()
            count = len(action.entries)
            delivery.count_events("DroppedEventCount", count)
            if await delivery.destinations.report(delivery.mapping, self._shard_id, action, now):
                delivery.count_events("OnFailureDestinationDeliveredEventCount", count)
            lane.discarded(action)
        self._room.set()
        self._report(result)

    async def _invoke(self, entries: Sequence[Entry]) -> Outcome:
        mapping = self._delivery.mapping
        event = make_event([entry.document for entry in entries])
        world = (mapping.account, mapping.region)
        meter = self._delivery.functions.meter
        if meter is not None:
            age = self._delivery.clock.now() - entries[-1].time
            meter.note_age(world, mapping.function, age)
        outcome = await self._delivery.functions.invoke(world, mapping.function, Invocation(event))
        is_done = outcome.error is None
        name = "InvokedEventCount" if is_done else "FailedInvokeEventCount"
        self._delivery.count_events(name, len(entries))
        return outcome
