"""Servers that share a Cassandra cluster played in memory, as on several machines.

Each has an engine, caches and background tasks of its own; nothing but the cluster is shared.
"""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, Final

import boto3
import pytest
from botocore.config import Config

from hashrange.app import engines
from hashrange.app.application import Application
from hashrange.app.keys import ServerKeys
from hashrange.app.stages import make_identities, make_stages
from hashrange.clock import VirtualClock
from hashrange.config import Settings
from hashrange.wire.http.listener import SharedListener
from tests.harness.played_cassandra import PlayedCassandra

WAIT_SECONDS_MAX: Final = 30.0
SHARDS: Final = 2
KEY: Final = "5a" * 32


class PlayedServer:
    """One of the servers."""

    def __init__(self, url: str, application: Application) -> None:
        self.url = url
        self.application = application

    def client(self, service: str = "dynamodb", keys: tuple[str, str] = ("local", "local")) -> Any:
        """Return a boto3 client that tries nothing again."""
        return boto3.client(
            service,
            endpoint_url=self.url,
            region_name="us-east-1",
            aws_access_key_id=keys[0],
            aws_secret_access_key=keys[1],
            config=Config(retries={"total_max_attempts": 1}),
        )


class PlayedServers:
    """Some servers, their cluster and their clock."""

    def __init__(self, count: int, settings: Settings, cluster: PlayedCassandra) -> None:
        self.cluster = cluster
        self.clock = VirtualClock(time.time() // 60 * 60 + 30)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
        self.servers = [self._start(settings, listening) for listening in self._sockets]

    def __getitem__(self, number: int) -> PlayedServer:
        return self.servers[number]

    def _start(self, settings: Settings, listening: socket.socket) -> PlayedServer:
        keys = ServerKeys(settings)
        identities = make_identities(keys)
        stages = make_stages(settings, self.clock, identities, keys.keyring)
        application = Application(settings, stages, self.clock, identities, keys)
        self._wait_for(application.start(SharedListener(listening)))
        host, port = listening.getsockname()
        return PlayedServer(f"http://{host}:{port}", application)

    def advance(self, seconds: float) -> None:
        """Move the clock of all servers, and have one of them do what is due."""
        self.clock.advance(seconds)
        self._wait_for(self.servers[0].application.do_due_work())

    def spaces_with(self, part: bytes) -> set[str]:
        """Return the spaces of the cluster that have rows with some bytes in them."""
        return {
            space
            for (space, _), rows in list(self.cluster.partitions.items())
            for (_, key), row in list(rows.items())
            if part in key or (row[0] is not None and part in row[0])
        }

    def stop(self) -> None:
        """Stop all servers and the event loop they share."""
        for server in self.servers:
            self._wait_for(server.application.stop())
        for listening in self._sockets:
            listening.close()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(WAIT_SECONDS_MAX)
        self._loop.close()

    def _wait_for(self, call: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(call, self._loop).result(WAIT_SECONDS_MAX)


@contextmanager
def played_servers(count: int = 2, **settings: Any) -> Iterator[PlayedServers]:
    """Run servers on one played cluster; settings as of the configuration."""
    given = Settings(in_memory=True, stop_timeout=1, key=KEY, **settings)
    cluster = PlayedCassandra()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engines, "MemoryEngine", lambda: cluster.engine(SHARDS))
        servers = PlayedServers(count, given, cluster)
    try:
        yield servers
    finally:
        servers.stop()


def until(condition: Callable[[], object], pause_seconds: float = 0.02) -> None:
    """Wait until a condition holds."""
    deadline = time.monotonic() + WAIT_SECONDS_MAX
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(pause_seconds)
