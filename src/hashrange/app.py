"""The composition root: builds engine, catalog, pipeline, server and background services.

The only module that names an engine. A process runs one `Application`; the supervisor starts
several processes when the settings ask for more than one worker.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import final

from hashrange.api.access.authoriser import PolicyAuthoriser
from hashrange.api.operation import Context
from hashrange.api.registry import DYNAMODB, STREAMS
from hashrange.clock import Clock
from hashrange.config import Settings, is_loopback
from hashrange.engine.base import Engine
from hashrange.engine.memory.engine import MemoryEngine
from hashrange.engine.sqlite.engine import (
    DataDirectoryError,
    SqliteEngine,
    acquire_directory,
    wait_for_workers,
)
from hashrange.identities.administrator import make_administrator
from hashrange.identities.store import IdentityStore
from hashrange.identities.vault import Vault
from hashrange.model.triggers import FunctionRecord, MappingRecord
from hashrange.neighbours.registry import make_services
from hashrange.server_key import (
    ServerKeyError,
    default_key_file,
    load_server_key,
    volatile_key,
)
from hashrange.services.backfill import Backfill
from hashrange.services.background import Background, Service
from hashrange.services.expiry import Expiry
from hashrange.services.index_follower import IndexFollower
from hashrange.services.scrub import Scrub
from hashrange.services.stream_keeper import StreamKeeper
from hashrange.services.token_retention import drop_old_tokens
from hashrange.services.transaction_recovery import TransactionRecovery
from hashrange.services.triggers.service import Triggers
from hashrange.services.triggers.targets import Surroundings
from hashrange.storage.catalog import REALISTIC, Catalog, Delays
from hashrange.storage.triggers import TriggerStore
from hashrange.wire.auth.accounts import DEFAULT_ACCOUNT
from hashrange.wire.auth.credentials import CredentialsFileError, load_credentials
from hashrange.wire.auth.key_rings import FixedKeys, StoredKeys
from hashrange.wire.auth.sigv4 import OpenDoor, Verifier
from hashrange.wire.http.bounds import Bounds
from hashrange.wire.http.listener import SharedListener
from hashrange.wire.http.messages import HttpAnswer, HttpRequest
from hashrange.wire.http.router import Router
from hashrange.wire.http.server import Server
from hashrange.wire.lambda_service import lambda_service
from hashrange.wire.pipeline import Pipeline
from hashrange.wire.protocols.target_json import TargetJson
from hashrange.wire.services import Neighbours
from hashrange.wire.stages import Stages

_LOGGER = logging.getLogger("hashrange.app")
# The region in the answer to `GET /`, which has no signature with a region.
_HEALTH_REGION = "us-east-1"
# How long services rest when they find nothing to do. Looking costs a comparison or two.
_BACKFILL_IDLE_SECONDS = 0.1
_EXPIRY_IDLE_SECONDS = 0.1
STREAMS_IDLE_SECONDS = 1.0
_TOKENS_IDLE_SECONDS = 5.0
_FOLLOWER_IDLE_SECONDS = 0.01
_RECOVERY_IDLE_SECONDS = 1.0
_TIDY_IDLE_SECONDS = 1.0
# A round of the scrub reads at most 1 MB a second, and the next one begins an hour later.
_SCRUB_IDLE_SECONDS = 3600.0
_SCRUB_BUSY_SECONDS = 0.25
# Between two chunks there is time for requests, also on an engine that never waits.
_EXPIRY_BUSY_SECONDS = 0.001
_TIDY_BUSY_SECONDS = 0.005
# What a socket that listens on all addresses of the machine calls its own.
_ANY_HOST = ("0.0.0.0", "::")


class StartError(Exception):
    """The server cannot start; the message says why, for people."""


def wait_for_last_server(settings: Settings) -> None:
    """Wait until a server that was killed has let go of the data and of its port."""
    if not settings.in_memory:
        wait_for_workers(settings.data_dir)


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


def _load_fixed_keys(settings: Settings) -> FixedKeys:
    """Return the credentials that the settings name."""
    if settings.credentials is None:
        return FixedKeys({})
    try:
        return FixedKeys(load_credentials(settings.credentials))
    except CredentialsFileError as error:
        raise StartError(str(error)) from error


def make_identities(settings: Settings) -> IdentityStore:
    """Return the store of identities; with authentication, the server's key is read at once."""
    if settings.key_file is None and settings.in_memory:
        return IdentityStore(Vault(volatile_key()))
    path = settings.key_file or default_key_file(settings.data_dir)

    def load() -> bytes:
        return load_server_key(path, may_create=settings.key_file is None)

    if settings.is_guarded:
        try:
            load()
        except ServerKeyError as error:
            raise StartError(str(error)) from error
    return IdentityStore(Vault(load))


def make_stages(settings: Settings, clock: Clock, identities: IdentityStore) -> Stages:
    """Return the stages of the request pipeline: with authentication, policies decide.

    There are no throughput limits and no recorder yet.
    """
    if not settings.is_guarded:
        return Stages(OpenDoor())
    keys = StoredKeys(identities, _load_fixed_keys(settings))
    return Stages(Verifier(keys, clock), PolicyAuthoriser(identities))


def open_engine(settings: Settings) -> Engine:
    """Return the engine the settings ask for."""
    if settings.in_memory:
        return MemoryEngine()
    try:
        return SqliteEngine.open(
            settings.data_dir,
            durability=settings.durability,
            writes_together=settings.workers > 1,
        )
    except DataDirectoryError as error:
        raise StartError(str(error)) from error


def delays_of(settings: Settings) -> Delays:
    """Return how long tables stay in their passing states."""
    if settings.realistic:
        return REALISTIC
    seconds = settings.table_delay
    return Delays(seconds, seconds, seconds, seconds, seconds)


def bounds_of(settings: Settings) -> Bounds:
    """Return the bounds of the HTTP router."""
    return Bounds(
        connections_max=settings.max_connections,
        in_flight_max=settings.max_in_flight,
        idle_seconds=settings.idle_timeout,
        stop_seconds=settings.stop_timeout,
    )


def address_of(listening: socket.socket) -> str:
    """Return the host and port at which clients reach a bound socket."""
    host, port = listening.getsockname()[:2]
    if host in _ANY_HOST:
        host = socket.gethostname()
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


@final
class Database:
    """Everything below the wire; enough for tests and in-process use, which need no socket."""

    def __init__(
        self,
        engine: Engine,
        clock: Clock,
        delays: Delays | None = None,
        *,
        stages: Stages | None = None,
        is_shared: bool = False,
        expiry_delay_seconds: float = 0.0,
        address: str = "",
        functions: Sequence[FunctionRecord] = (),
        triggers: Sequence[MappingRecord] = (),
    ) -> None:
        self.engine = engine
        self.clock = clock
        self._address = address
        self.catalog = Catalog(engine, clock, delays, is_shared=is_shared)
        self._backfill = Backfill(engine, self.catalog, clock)
        self._expiry = Expiry(engine, self.catalog, clock, expiry_delay_seconds)
        self._streams = StreamKeeper(engine, self.catalog, clock)
        self._follower = IndexFollower(engine, self.catalog)
        self._recovery = TransactionRecovery(engine, self.catalog, clock)
        self._scrub = Scrub(engine)
        self.trigger_store = TriggerStore(engine, functions)
        self._triggers = Triggers(
            engine,
            clock,
            self.catalog,
            self.trigger_store,
            configured=triggers,
            surroundings=Surroundings(f"http://{address}" if address else None, os.environ),
        )
        self.pipeline = Pipeline(stages or Stages(), self._make_context)
        self._json = TargetJson((DYNAMODB, STREAMS))
        self._background: asyncio.Task[None] | None = None

    async def answer(self, request: HttpRequest, request_id: bytes = b"") -> HttpAnswer:
        """Answer a request to DynamoDB or DynamoDB Streams that came through no socket."""
        return await self.pipeline.answer(request, self._json, request_id)

    def start_services(self) -> None:
        """Begin the background work, which is done by the one process that has its lease."""
        services = [
            Service("filling indexes", self._backfill.step, idle_seconds=_BACKFILL_IDLE_SECONDS),
            Service(
                "deleting expired items",
                self._expiry.step,
                idle_seconds=_EXPIRY_IDLE_SECONDS,
                busy_seconds=_EXPIRY_BUSY_SECONDS,
            ),
            Service("keeping streams", self._streams.step, idle_seconds=STREAMS_IDLE_SECONDS),
            Service(
                "dropping old tokens",
                lambda: drop_old_tokens(self.engine, self.clock),
                idle_seconds=_TOKENS_IDLE_SECONDS,
            ),
        ]
        services.append(
            Service(
                "scrubbing",
                self._scrub.step,
                idle_seconds=_SCRUB_IDLE_SECONDS,
                busy_seconds=_SCRUB_BUSY_SECONDS,
            )
        )
        services.append(
            Service(
                "freeing dropped stores",
                self.engine.tidy,
                idle_seconds=_TIDY_IDLE_SECONDS,
                busy_seconds=_TIDY_BUSY_SECONDS,
            )
        )
        if not self.engine.capabilities.indexes_in_step:
            services.append(
                Service(
                    "following index changes",
                    self._follower.step,
                    idle_seconds=_FOLLOWER_IDLE_SECONDS,
                )
            )
        if not self.engine.capabilities.atomic_across_shards:
            services.append(
                Service(
                    "recovering transactions",
                    self._recovery.step,
                    idle_seconds=_RECOVERY_IDLE_SECONDS,
                )
            )
        background = Background(self.engine, services, [self._triggers.run])
        self._background = asyncio.create_task(background.run())
        self._background.add_done_callback(_report_end)

    async def do_due_work(self) -> None:
        """Do the background work that is due by the clock, for those who start no services."""
        await self._backfill.run_to_end()
        await self._expiry.run_to_end()
        await self._streams.run_to_end()
        await self._recovery.run_to_end()
        await self._follower.run_to_end()

    async def close(self) -> None:
        """Stop the background work and let go of the data."""
        if self._background is not None:
            self._background.cancel()
            await asyncio.gather(self._background, return_exceptions=True)
        await self.engine.close()

    def _make_context(self, account: str, region: str) -> Context:
        return Context(
            account,
            region,
            catalog=self.catalog,
            engine=self.engine,
            clock=self.clock,
            address=self._address,
        )


@final
class Application:
    """One process of the server, from its data to its socket."""

    def __init__(
        self,
        settings: Settings,
        stages: Stages,
        clock: Clock,
        identities: IdentityStore | None = None,
    ) -> None:
        self._settings = settings
        self._stages = stages
        self._clock = clock
        self._identities = identities or make_identities(settings)
        # The access key of an administrator that this process made.
        self.administrator: tuple[str, str] | None = None
        self._database: Database | None = None
        self._server: Server | None = None

    async def start(self, listener: SharedListener) -> None:
        """Open the data and accept connections."""
        settings = self._settings
        engine = open_engine(settings)
        identities = self._identities
        identities.open(engine)
        if settings.is_guarded and not await identities.is_key_right():
            raise StartError("The key file is not the key that the secrets here were sealed with.")
        if settings.auth:
            self.administrator = await make_administrator(
                identities, DEFAULT_ACCOUNT, self._clock.now()
            )
        database = Database(
            engine,
            self._clock,
            delays_of(settings),
            stages=self._stages,
            is_shared=settings.is_guarded,
            expiry_delay_seconds=settings.ttl_delay,
            address=address_of(listener.listening),
            functions=settings.functions,
            triggers=settings.triggers,
        )
        self._database = database
        bounds = bounds_of(settings)
        is_private = is_loopback(settings.host) or settings.is_guarded
        functions = lambda_service(database.trigger_store, is_private=is_private)
        services = (DYNAMODB, STREAMS, functions)
        router = Router(
            database.pipeline,
            services,
            Neighbours(make_services(identities)),
            _HEALTH_REGION,
            bounds.body_bytes_max,
        )
        self._server = Server(router, bounds)
        self._server.start(listener)
        database.start_services()

    async def do_due_work(self) -> None:
        """Do the background work that is due by the clock, without waiting for its turn."""
        if self._database is not None:
            await self._database.do_due_work()

    async def stop(self) -> None:
        """Finish what is under way and let go of everything, in the opposite order."""
        if self._server is not None:
            await self._server.stop()
        if self._database is not None:
            await self._database.close()


def _report_end(service: asyncio.Task[None]) -> None:
    """Say so when background work ends by anything but a stop, which only a bug can cause."""
    if not service.cancelled() and service.exception() is not None:
        _LOGGER.critical("background work ended", exc_info=service.exception())
