"""The composition root: builds engine, catalog, dispatcher, server and services from settings.

The only module that names an engine. A process runs one `Application`; the supervisor starts
several processes when the settings ask for more than one worker.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import final

from hashrange.api.operation import Context
from hashrange.api.registry import OPERATIONS
from hashrange.clock import Clock
from hashrange.config import Settings
from hashrange.engine.base import Engine
from hashrange.engine.memory import MemoryEngine
from hashrange.engine.sqlite import (
    DataDirectoryError,
    SqliteEngine,
    acquire_directory,
)
from hashrange.errors import EngineError
from hashrange.services.backfill import Backfill
from hashrange.services.retention import drop_old_tokens
from hashrange.storage.catalog import REALISTIC, Catalog, Delays
from hashrange.wire.bounds import Bounds
from hashrange.wire.credentials import CredentialsFileError, load_credentials
from hashrange.wire.dispatch import Dispatcher
from hashrange.wire.edge import Edge
from hashrange.wire.server import Server
from hashrange.wire.signature import Authenticator, OpenDoor, Verifier

_LOGGER = logging.getLogger("hashrange.app")
# The region named by `GET /`, which carries no signature to tell.
_HEALTH_REGION = "us-east-1"
_SERVICE_PAUSE_SECONDS = 5.0

Step = Callable[[], Awaitable[int]]
"""One bounded piece of background work; returns how much it did, 0 when nothing is left."""


def build_dispatcher(engine: Engine, clock: Clock, delays: Delays | None = None) -> Dispatcher:
    """Return everything below the wire; enough for tests that need no socket."""
    catalog = Catalog(engine, clock, delays)

    def make_context(account: str, region: str) -> Context:
        return Context(account, region, catalog=catalog, engine=engine, clock=clock)

    return Dispatcher(OPERATIONS, make_context)


class StartError(Exception):
    """The server cannot start; the message says why, for people."""


def reserve_data(settings: Settings) -> AbstractContextManager[object]:
    """Make sure the data is there and nobody else's; done once, before any process opens it."""
    if settings.in_memory:
        return nullcontext()
    try:
        lock = acquire_directory(settings.data_dir)
    except DataDirectoryError as error:
        raise StartError(str(error)) from error
    stack = ExitStack()
    stack.callback(lock.release)
    return stack


def make_authenticator(settings: Settings, clock: Clock) -> Authenticator:
    """Return who decides about signatures: nobody without a credentials file."""
    if settings.credentials is None:
        return OpenDoor()
    try:
        return Verifier(load_credentials(settings.credentials), clock)
    except CredentialsFileError as error:
        raise StartError(str(error)) from error


def open_engine(settings: Settings) -> Engine:
    """Return the engine the settings ask for."""
    if settings.in_memory:
        return MemoryEngine()
    try:
        return SqliteEngine.open(settings.data_dir, durability=settings.durability)
    except DataDirectoryError as error:
        raise StartError(str(error)) from error


def delays_of(settings: Settings) -> Delays:
    """Return how long tables stay in their passing states."""
    if settings.realistic:
        return REALISTIC
    seconds = settings.table_delay
    return Delays(seconds, seconds, seconds, seconds, seconds)


def bounds_of(settings: Settings) -> Bounds:
    """Return the bounds of the HTTP edge."""
    return Bounds(
        connections_max=settings.max_connections,
        in_flight_max=settings.max_in_flight,
        idle_seconds=settings.idle_timeout,
        stop_seconds=settings.stop_timeout,
    )


@final
class Application:
    """One process of the server, from its engine to its socket."""

    def __init__(
        self,
        settings: Settings,
        authenticator: Authenticator,
        clock: Clock,
        *,
        is_keeper: bool = True,
    ) -> None:
        self._settings = settings
        self._authenticator = authenticator
        self._clock = clock
        self._is_keeper = is_keeper
        self._engine: Engine | None = None
        self._server: Server | None = None
        self._services: list[asyncio.Task[None]] = []

    async def start(self, listening: socket.socket) -> None:
        """Open the data and accept connections on a bound socket."""
        settings = self._settings
        self._engine = open_engine(settings)
        dispatcher = build_dispatcher(self._engine, self._clock, delays_of(settings))
        bounds = bounds_of(settings)
        edge = Edge(dispatcher, self._authenticator, bounds, _HEALTH_REGION)
        self._server = Server(edge, bounds)
        await self._server.start(listening)
        if self._is_keeper:
            self._services = [
                asyncio.create_task(_run_service(step)) for step in self._steps(self._engine)
            ]
            backfill = Backfill(self._engine, Catalog(self._engine, self._clock), self._clock)
            self._services.append(asyncio.create_task(backfill.run()))

    async def stop(self) -> None:
        """Finish what is under way and let go of everything, in the opposite order."""
        if self._server is not None:
            await self._server.stop()
        for service in self._services:
            service.cancel()
        await asyncio.gather(*self._services, return_exceptions=True)
        if self._engine is not None:
            await self._engine.close()

    def _steps(self, engine: Engine) -> Sequence[Step]:
        clock = self._clock
        return [lambda: drop_old_tokens(engine, clock)]


async def _run_service(step: Step) -> None:
    """Repeat a step for as long as the process lives, resting when there is nothing to do."""
    while True:
        try:
            done = await step()
        except EngineError:
            _LOGGER.exception("background work failed; it will be tried again")
            done = 0
        await asyncio.sleep(_SERVICE_PAUSE_SECONDS if not done else 0)
