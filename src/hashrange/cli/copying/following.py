"""Catches up with the stream of the source: what changed since the copy began.

The scan is strongly consistent, so every write it may have missed is in a shard that was open when
the copy began, or in a shard that came later. Records are applied in the order of their shard, a
child after its parent; applying some of them twice ends in the same items.

A stream keeps its records for 24 hours. A copy that comes later than that cannot know what it
missed, and says so.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from email.utils import parsedate_to_datetime
from typing import Any, Final, final

from hashrange.cli.copying.definitions import CopyError
from hashrange.cli.copying.pace import Pace
from hashrange.cli.copying.places import Place
from hashrange.cli.copying.scanning import PATIENT, run_together
from hashrange.cli.copying.state import CopyState
from hashrange.cli.meter import Meter
from hashrange.toolkit.client.batches import (
    GETS_PER_BATCH,
    WRITES_PER_BATCH,
    chunked,
    get_items,
    write_entries,
)
from hashrange.toolkit.client.plans import Call
from hashrange.toolkit.client.retries import attempt
from hashrange.toolkit.errors import RequestRefused
from hashrange.toolkit.streams.checkpoints import SHARD_END
from hashrange.toolkit.streams.shards import SERVICE, Shard, list_shards, readable
from hashrange.toolkit.values import Item

_MARGIN_SECONDS: Final = 300.0
"""Records so much older than the copy are not applied: the scan has seen them."""
_RETENTION_SECONDS: Final = 23 * 3600.0
_RECORDS_MAX: Final = 1000
_QUIET_ANSWERS: Final = 4
_PAUSE_SECONDS: Final = 0.25
_SHARDS_AT_ONCE: Final = 16
_LIST_SECONDS: Final = 2.0
"""AWS allows ten calls a second to list shards, for all readers of an account."""
_LOST: Final = (
    "the stream no longer has all changes made since the copy began; begin again with --restart, "
    "or with --no-follow to do without them"
)


def begin_following(source: Place, stream: str, state: CopyState) -> None:
    """Note where the stream stands before the first item is read."""
    for shard in source.streams_driver().run(list_shards(stream)):
        state.positions[shard.id] = SHARD_END if shard.is_closed else ""
    now = source_time(source)
    state.note(stream=stream, started_at=now, read_at=now)


def source_time(source: Place) -> float:
    """Return the time by the source's clock, in whole seconds."""
    date = source.client.describe_table(TableName=source.table)["ResponseMetadata"]["HTTPHeaders"]
    try:
        return parsedate_to_datetime(date["date"]).timestamp()
    except (KeyError, ValueError):
        return float(int(time.time()))


@final
class Follower:
    """Reads the stream of the source and applies its records to the target."""

    def __init__(
        self, ends: tuple[Place, Place], keys: Sequence[str], state: CopyState, pace: Pace
    ) -> None:
        self._source, self._target = ends
        self._streams = self._source.streams_driver()
        self._keys = keys
        self._state = state
        self._pace = pace
        self._iterators: dict[str, str] = {}
        self._quiet: dict[str, int] = {}
        """How often a shard had nothing to tell."""
        self._until = 0.0
        self._is_checked = False
        self._shards: list[Shard] = []
        self._listed_at = float("-inf")

    def catch_up(self, meter: Meter) -> None:
        """Apply records until the target has all changes that were made before the call."""
        self._until = source_time(self._source) + 1
        self._quiet.clear()
        while waiting := self._unread():
            self._read_all(waiting, meter)
        self._state.note(read_at=source_time(self._source))

    def follow(self, meter: Meter) -> None:
        """Apply records until Control-C, and then those made before it."""
        try:
            while True:
                self.catch_up(meter)
        except KeyboardInterrupt:
            self._pace.go_on()
            self.catch_up(meter)

    def _unread(self) -> list[Shard]:
        """Return shards that may be read now, and may have changes to catch up with."""
        is_fresh = time.monotonic() - self._listed_at < _LIST_SECONDS
        found = self._waiting() if is_fresh else []
        if not found:
            self._shards = self._streams.run(list_shards(self._state.stream, PATIENT))
            self._listed_at = time.monotonic()
            if not self._is_checked:
                self._check_nothing_lost(self._shards)
            found = self._waiting()
        return found[:_SHARDS_AT_ONCE]

    def _waiting(self) -> list[Shard]:
        return [
            shard
            for shard in readable(self._shards, self._state.positions)
            if self._quiet.get(shard.id, 0) < _QUIET_ANSWERS
        ]

    def _check_nothing_lost(self, shards: Sequence[Shard]) -> None:
        known = {shard.id for shard in shards}
        positions = self._state.positions
        gone = {shard: position for shard, position in positions.items() if shard not in known}
        age = source_time(self._source) - self._state.read_at
        if age > _RETENTION_SECONDS or any(at != SHARD_END for at in gone.values()):
            raise CopyError(_LOST)
        for shard in gone:
            del positions[shard]
        self._is_checked = True

    def _read_all(self, shards: Sequence[Shard], meter: Meter) -> None:
        """Apply a page of each shard; rest if there was nothing."""
        counts: list[int] = []

        def read(shard: Shard) -> None:
            counts.append(self._read(shard, meter))

        run_together(read, list(shards), self._pace)
        if not any(counts):
            time.sleep(_PAUSE_SECONDS)

    def _read(self, shard: Shard, meter: Meter) -> int:
        """Apply the next records of a shard; return how many there were."""
        records = self._records(shard)
        if not records:
            self._quiet[shard.id] = self._quiet.get(shard.id, 0) + 1
        else:
            try:
                self._apply(records, meter)
            except BaseException:
                self._iterators.pop(shard.id, None)  # they are to be read again
                raise
            last = records[-1]["dynamodb"]
            is_new = last.get("ApproximateCreationDateTime", 0) > self._until
            self._quiet[shard.id] = _QUIET_ANSWERS if is_new else 0
            self._state.move_shard(shard.id, last["SequenceNumber"])
        if shard.id not in self._iterators:
            self._state.move_shard(shard.id, SHARD_END)
        return len(records)

    def _records(self, shard: Shard) -> list[dict[str, Any]]:
        """Return the next records of a shard; its iterator is gone after the last ones."""
        iterator = self._iterators.get(shard.id) or self._iterator(shard)
        request = {"ShardIterator": iterator, "Limit": _RECORDS_MAX}
        try:
            answer = self._call("get_records", request)
        except RequestRefused as error:
            if error.code != "ExpiredIteratorException":
                raise CopyError(_LOST) if error.code in _TRIMMED else error from error
            self._iterators[shard.id] = self._iterator(shard)
            return []
        self._iterators.pop(shard.id, None)
        if following := answer.get("NextShardIterator"):
            self._iterators[shard.id] = following
        records: list[dict[str, Any]] = answer["Records"]
        return records

    def _iterator(self, shard: Shard) -> str:
        request = {"StreamArn": self._state.stream, "ShardId": shard.id}
        position = self._state.positions.get(shard.id)
        request["ShardIteratorType"] = "AFTER_SEQUENCE_NUMBER" if position else "TRIM_HORIZON"
        if position:
            request["SequenceNumber"] = position
        try:
            return str(self._call("get_shard_iterator", request)["ShardIterator"])
        except RequestRefused as error:
            raise CopyError(_LOST) if error.code in _TRIMMED else error from error

    def _call(self, method: str, request: dict[str, Any]) -> dict[str, Any]:
        call = Call(method, request, service=SERVICE)
        return self._streams.run(attempt(call, PATIENT))

    def _apply(self, records: Sequence[dict[str, Any]], meter: Meter) -> None:
        oldest = self._state.started_at - _MARGIN_SECONDS
        entries: dict[str, dict[str, Any]] = {}
        unknown: dict[str, Item] = {}
        for record in records:
            body = record["dynamodb"]
            if body.get("ApproximateCreationDateTime", oldest) < oldest:
                continue
            identity = json.dumps([body["Keys"][name] for name in self._keys])
            unknown.pop(identity, None)
            if "NewImage" in body:
                entries[identity] = {"PutRequest": {"Item": body["NewImage"]}}
            else:
                entries[identity] = {"DeleteRequest": {"Key": body["Keys"]}}
                if record["eventName"] != "REMOVE":  # the stream has no new images
                    unknown[identity] = body["Keys"]
        for identity, item in self._current(unknown).items():
            entries[identity] = {"PutRequest": {"Item": item}}
        for chunk in chunked(list(entries.values()), WRITES_PER_BATCH):
            self._pace.take(len(chunk))
            self._target.driver.run(write_entries(self._target.table, chunk, PATIENT))
            meter.advance(len(chunk))

    def _current(self, keys: dict[str, Item]) -> dict[str, Item]:
        """Return the items of the source with these keys, as far as they are there."""
        found: dict[str, Item] = {}
        for chunk in chunked(list(keys.values()), GETS_PER_BATCH):
            plan = get_items(self._source.table, chunk, {"ConsistentRead": True}, PATIENT)
            for item in self._source.driver.run(plan):
                found[json.dumps([item[name] for name in self._keys])] = item
        return found


_TRIMMED: Final = frozenset({"TrimmedDataAccessException"})
