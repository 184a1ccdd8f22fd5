"""The consumer of a stream: reads shards in order, calls handlers, remembers its position.

    consumer = StreamConsumer(client, streams_client, "Orders",
    checkpoints=FileCheckpoints("at.json"))

    @consumer.on("INSERT", entity="order")
    def welcome(change): ...

    consumer.run()                       # until stop() is called
    consumer.poll()                      # or one round at a time

`AsyncStreamConsumer` is the same on clients of aiobotocore: `run` and `poll` are awaited, and
handlers, `on_failure` and checkpoints may be coroutine functions.

Every change is handled at least once: after a failure or a restart, the consumer goes on after the
last change that was finished. A handler that fails is called again, up to `attempts` times; then
the change goes to `on_failure`, or, without one, the error stops the consumer in front of that
change. One consumer reads a stream at a time; there is no sharing between processes.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, final

from hashrange.toolkit.client.async_driver import AsyncDriver
from hashrange.toolkit.client.drivers import SyncDriver
from hashrange.toolkit.design.model import Design
from hashrange.toolkit.streams.checkpoints import AsyncCheckpoints, Checkpoints
from hashrange.toolkit.streams.reader import DEFAULT_OPTIONS, ConsumerOptions, StreamReader
from hashrange.toolkit.streams.shards import SERVICE


@final
class StreamConsumer(StreamReader):
    """Reads the stream of a table and calls handlers."""

    def __init__(
        self,
        client: Any,
        streams_client: Any,
        table: str,
        *,
        checkpoints: Checkpoints | None = None,
        design: Design | None = None,
        options: ConsumerOptions = DEFAULT_OPTIONS,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        super().__init__(table, checkpoints, design, options)
        self._driver = SyncDriver(client, {SERVICE: streams_client}, sleep)
        self._sleep = sleep

    def run(self) -> None:
        """Read until `stop` is called from a handler or another thread."""
        self._is_stopped = False
        while not self._is_stopped:
            if self.poll() == 0 and not self._is_stopped:
                self._sleep(self._options.idle_seconds)

    def poll(self) -> int:
        """Read every shard that may be read once; return the number of changes handled."""
        return self._driver.run(self.round())


@final
class AsyncStreamConsumer(StreamReader):
    """Reads the stream of a table with awaited calls, and awaits handlers that are coroutines."""

    def __init__(
        self,
        client: Any,
        streams_client: Any,
        table: str,
        *,
        checkpoints: Checkpoints | AsyncCheckpoints | None = None,
        design: Design | None = None,
        options: ConsumerOptions = DEFAULT_OPTIONS,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        super().__init__(table, checkpoints, design, options)
        self._driver = AsyncDriver(client, {SERVICE: streams_client}, sleep)
        self._sleep = sleep

    async def run(self) -> None:
        """Read until `stop` is called or the task is cancelled."""
        self._is_stopped = False
        while not self._is_stopped:
            if await self.poll() == 0 and not self._is_stopped:
                await self._sleep(self._options.idle_seconds)

    async def poll(self) -> int:
        """Read every shard that may be read once; return the number of changes handled."""
        return await self._driver.run(self.round())
