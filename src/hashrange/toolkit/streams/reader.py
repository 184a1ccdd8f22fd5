"""Reads the shards of a stream in order, calls handlers and keeps checkpoints, as plans.

The consumers run these plans with a blocking or an asynchronous driver (see `consumer`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeVar, final

from hashrange.toolkit.client.plans import Call, Invoke, Pause, Plan
from hashrange.toolkit.client.retries import DEFAULT_POLICY, RetryPolicy, attempt
from hashrange.toolkit.design.model import Design
from hashrange.toolkit.errors import DesignError, RequestRefused
from hashrange.toolkit.streams.changes import Change, Event, change_of
from hashrange.toolkit.streams.checkpoints import (
    SHARD_END,
    AsyncCheckpoints,
    Checkpoints,
    MemoryCheckpoints,
)
from hashrange.toolkit.streams.shards import SERVICE, Shard, list_shards, readable

Handler = TypeVar("Handler", bound=Callable[[Change], Any])
_RECORDS_MAX: Final = 1000


@final
@dataclass(frozen=True)
class _Subscription:
    handler: Callable[[Change], Any]
    events: frozenset[str]
    entity: str
    where: Callable[[Change], bool] | None

    def wants(self, change: Change) -> bool:
        return (
            (not self.events or change.event in self.events)
            and (not self.entity or change.entity == self.entity)
            and (self.where is None or self.where(change))
        )


@final
@dataclass(frozen=True)
class ConsumerOptions:
    """How a consumer reads.

    `start` is where it begins without a checkpoint: at the oldest change, or only with new ones.
    `idle_seconds` is the pause when there was nothing to read.
    """

    start: Literal["TRIM_HORIZON", "LATEST"] = "TRIM_HORIZON"
    batch: int = _RECORDS_MAX
    attempts: int = 3
    idle_seconds: float = 1.0
    on_failure: Callable[[Change, Exception], Any] | None = None
    policy: RetryPolicy = DEFAULT_POLICY


DEFAULT_OPTIONS: Final = ConsumerOptions()


class StreamReader:
    """The position of a consumer in a stream, its handlers, and the plan of a round."""

    def __init__(
        self,
        table: str,
        checkpoints: Checkpoints | AsyncCheckpoints | None,
        design: Design | None,
        options: ConsumerOptions,
    ) -> None:
        self._table = table
        self._checkpoints = checkpoints or MemoryCheckpoints()
        self._design = design
        self._options = options
        self._subscriptions: list[_Subscription] = []
        self._stream = ""
        self._positions: dict[str, str] = {}
        self._iterators: dict[str, str] = {}
        self._latest: frozenset[str] = frozenset()
        self._is_stopped = False

    def on(
        self,
        *events: Event,
        entity: str = "",
        where: Callable[[Change], bool] | None = None,
    ) -> Callable[[Handler], Handler]:
        """Register a handler for events (all without any), an entity, and changes that satisfy."""
        if entity and self._design is None:
            raise DesignError("only a consumer with a design knows entities")

        def register(handler: Handler) -> Handler:
            self._subscriptions.append(_Subscription(handler, frozenset(events), entity, where))
            return handler

        return register

    def stop(self) -> None:
        """Let `run` end after the round that is under way."""
        self._is_stopped = True

    def round(self) -> Plan[int]:
        """Read every shard that may be read once; return the number of changes handled."""
        yield from self._open()
        shards = yield from list_shards(self._stream, self._options.policy)
        yield from self._forget_old(shards)
        count = 0
        for shard in readable(shards, self._positions):
            count += yield from self._read(shard)
        return count

    def _open(self) -> Plan[None]:
        if self._stream:
            return
        call = Call("describe_table", {"TableName": self._table})
        described = yield from attempt(call, self._options.policy)
        arn = described["Table"].get("LatestStreamArn")
        if not arn:
            raise DesignError(f"table {self._table} has no stream")
        self._stream = arn
        self._positions = dict((yield Invoke(self._checkpoints.load, (arn,))))
        if self._options.start == "LATEST" and not self._positions:
            # What is closed is past: only open shards will have anything new.
            shards = yield from list_shards(arn, self._options.policy)
            self._latest = frozenset(shard.id for shard in shards if not shard.is_closed)
            for shard in shards:
                if shard.is_closed:
                    yield from self._save(shard.id, SHARD_END)

    def _read(self, shard: Shard) -> Plan[int]:
        iterator = self._iterators.get(shard.id) or (yield from self._iterator(shard))
        parameters = {"ShardIterator": iterator, "Limit": self._options.batch}
        try:
            answer = yield from self._call("get_records", parameters)
        except RequestRefused as error:
            if error.code not in ("ExpiredIteratorException", "TrimmedDataAccessException"):
                raise
            self._iterators.pop(shard.id, None)
            if error.code == "TrimmedDataAccessException":
                self._positions.pop(shard.id, None)
            return 0
        records = answer["Records"]
        yield from self._handle(shard, records)
        following = answer.get("NextShardIterator")
        if following:
            self._iterators[shard.id] = following
        else:
            self._iterators.pop(shard.id, None)
            yield from self._save(shard.id, SHARD_END)
        return len(records)

    def _iterator(self, shard: Shard) -> Plan[str]:
        position = self._positions.get(shard.id)
        parameters: dict[str, Any] = {"StreamArn": self._stream, "ShardId": shard.id}
        if position:
            parameters["ShardIteratorType"] = "AFTER_SEQUENCE_NUMBER"
            parameters["SequenceNumber"] = position
        else:
            # A shard that came later has only what is new: it is read from its beginning.
            is_latest = shard.id in self._latest
            parameters["ShardIteratorType"] = "LATEST" if is_latest else "TRIM_HORIZON"
        try:
            answer = yield from self._call("get_shard_iterator", parameters)
        except RequestRefused as error:
            if error.code != "TrimmedDataAccessException":
                raise
            parameters.pop("SequenceNumber", None)
            parameters["ShardIteratorType"] = "TRIM_HORIZON"
            answer = yield from self._call("get_shard_iterator", parameters)
        return str(answer["ShardIterator"])

    def _handle(self, shard: Shard, records: Sequence[Mapping[str, Any]]) -> Plan[None]:
        """Call the handlers, and save the position also if one of them stops the consumer."""
        finished = ""
        table = self._design.table(self._table) if self._design else None
        try:
            for record in records:
                change = change_of(record, shard.id, self._design, table)
                for subscription in self._subscriptions:
                    if subscription.wants(change):
                        yield from self._deliver(subscription.handler, change)
                finished = change.sequence_number
        except BaseException:
            self._iterators.pop(shard.id, None)
            raise
        finally:
            if finished:
                yield from self._save(shard.id, finished)

    def _deliver(self, handler: Callable[[Change], Any], change: Change) -> Plan[None]:
        for number in range(self._options.attempts):
            try:
                yield Invoke(handler, (change,))
                return
            except Exception as error:
                if number + 1 < self._options.attempts:
                    yield Pause(self._options.policy.pause(number))
                elif self._options.on_failure is None:
                    raise
                else:
                    yield Invoke(self._options.on_failure, (change, error))

    def _save(self, shard: str, position: str) -> Plan[None]:
        self._positions[shard] = position
        yield Invoke(self._checkpoints.save, (self._stream, shard, position))

    def _forget_old(self, shards: Sequence[Shard]) -> Plan[None]:
        gone = self._positions.keys() - {shard.id for shard in shards}
        for shard in gone:
            del self._positions[shard]
            yield Invoke(self._checkpoints.forget, (self._stream, shard))

    def _call(self, method: str, parameters: dict[str, Any]) -> Plan[Any]:
        call = Call(method, parameters, service=SERVICE)
        return (yield from attempt(call, self._options.policy))
