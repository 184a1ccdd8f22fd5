"""The consumer of a stream: reads shards in order, calls handlers, remembers its position.

    consumer = StreamConsumer(client, streams_client, "Orders",
    checkpoints=FileCheckpoints("at.json"))

    @consumer.on("INSERT", entity="order")
    def welcome(change): ...

    consumer.run()                       # until stop() is called
    consumer.poll()                      # or one round at a time

Every change is handled at least once: after a failure or a restart, the consumer goes on after the
last change that was finished. A handler that fails is called again, up to `attempts` times; then
the change goes to `on_failure`, or, without one, the error stops the consumer in front of that
change. One consumer reads a stream at a time; there is no sharing between processes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, final

from hashrange.toolkit.client.drivers import SyncDriver
from hashrange.toolkit.client.plans import Call
from hashrange.toolkit.client.retries import DEFAULT_POLICY, RetryPolicy, attempt
from hashrange.toolkit.design.model import Design
from hashrange.toolkit.errors import DesignError, RequestRefused
from hashrange.toolkit.streams.changes import Change, Event, change_of
from hashrange.toolkit.streams.checkpoints import SHARD_END, Checkpoints, MemoryCheckpoints
from hashrange.toolkit.streams.shards import SERVICE, Shard, list_shards, readable

Handler = Callable[[Change], None]
_RECORDS_MAX: Final = 1000


@final
@dataclass(frozen=True)
class _Subscription:
    handler: Handler
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
    on_failure: Callable[[Change, Exception], None] | None = None
    policy: RetryPolicy = DEFAULT_POLICY


_DEFAULTS: Final = ConsumerOptions()


@final
class StreamConsumer:
    """Reads the stream of a table and calls handlers."""

    def __init__(
        self,
        client: Any,
        streams_client: Any,
        table: str,
        *,
        checkpoints: Checkpoints | None = None,
        design: Design | None = None,
        options: ConsumerOptions = _DEFAULTS,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._driver = SyncDriver(client, {SERVICE: streams_client}, sleep)
        self._table = table
        self._checkpoints = checkpoints or MemoryCheckpoints()
        self._design = design
        self._options = options
        self._sleep = sleep
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

    def run(self) -> None:
        """Read until `stop` is called from a handler or another thread."""
        self._is_stopped = False
        while not self._is_stopped:
            if self.poll() == 0 and not self._is_stopped:
                self._sleep(self._options.idle_seconds)

    def stop(self) -> None:
        """Let `run` end after the round that is under way."""
        self._is_stopped = True

    def poll(self) -> int:
        """Read every shard that may be read once; return the number of changes handled."""
        self._open()
        shards = self._driver.run(list_shards(self._stream, self._options.policy))
        self._forget_old(shards)
        return sum(self._read(shard) for shard in readable(shards, self._positions))

    def _open(self) -> None:
        if self._stream:
            return
        call = Call("describe_table", {"TableName": self._table})
        described = self._driver.run(attempt(call, self._options.policy))
        arn = described["Table"].get("LatestStreamArn")
        if not arn:
            raise DesignError(f"table {self._table} has no stream")
        self._stream = arn
        self._positions = dict(self._checkpoints.load(arn))
        if self._options.start == "LATEST" and not self._positions:
            # What is closed is past: only open shards will have anything new.
            shards = self._driver.run(list_shards(arn, self._options.policy))
            self._latest = frozenset(shard.id for shard in shards if not shard.is_closed)
            for shard in shards:
                if shard.is_closed:
                    self._save(shard.id, SHARD_END)

    def _read(self, shard: Shard) -> int:
        iterator = self._iterators.get(shard.id) or self._iterator(shard)
        parameters = {"ShardIterator": iterator, "Limit": self._options.batch}
        try:
            answer = self._call("get_records", parameters)
        except RequestRefused as error:
            if error.code not in ("ExpiredIteratorException", "TrimmedDataAccessException"):
                raise
            self._iterators.pop(shard.id, None)
            if error.code == "TrimmedDataAccessException":
                self._positions.pop(shard.id, None)
            return 0
        records = answer["Records"]
        self._handle(shard, records)
        following = answer.get("NextShardIterator")
        if following:
            self._iterators[shard.id] = following
        else:
            self._iterators.pop(shard.id, None)
            self._save(shard.id, SHARD_END)
        return len(records)

    def _iterator(self, shard: Shard) -> str:
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
            answer = self._call("get_shard_iterator", parameters)
        except RequestRefused as error:
            if error.code != "TrimmedDataAccessException":
                raise
            parameters.pop("SequenceNumber", None)
            parameters["ShardIteratorType"] = "TRIM_HORIZON"
            answer = self._call("get_shard_iterator", parameters)
        return str(answer["ShardIterator"])

    def _handle(self, shard: Shard, records: Sequence[Mapping[str, Any]]) -> None:
        """Call the handlers, and save the position also if one of them stops the consumer."""
        finished = ""
        table = self._design.table(self._table) if self._design else None
        try:
            for record in records:
                change = change_of(record, shard.id, self._design, table)
                for subscription in self._subscriptions:
                    if subscription.wants(change):
                        self._deliver(subscription.handler, change)
                finished = change.sequence_number
        except BaseException:
            self._iterators.pop(shard.id, None)
            raise
        finally:
            if finished:
                self._save(shard.id, finished)

    def _deliver(self, handler: Handler, change: Change) -> None:
        for number in range(self._options.attempts):
            try:
                handler(change)
                return
            except Exception as error:
                if number + 1 < self._options.attempts:
                    self._sleep(self._options.policy.pause(number))
                elif self._options.on_failure is None:
                    raise
                else:
                    self._options.on_failure(change, error)

    def _save(self, shard: str, position: str) -> None:
        self._positions[shard] = position
        self._checkpoints.save(self._stream, shard, position)

    def _forget_old(self, shards: Sequence[Shard]) -> None:
        gone = self._positions.keys() - {shard.id for shard in shards}
        for shard in gone:
            del self._positions[shard]
            self._checkpoints.forget(self._stream, shard)

    def _call(self, method: str, parameters: dict[str, Any]) -> Any:
        call = Call(method, parameters, service=SERVICE)
        return self._driver.run(attempt(call, self._options.policy))
