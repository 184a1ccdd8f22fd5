"""One process of the server. The supervisor starts several when there are more workers."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from typing import TYPE_CHECKING, final

from hashrange.alarms.monitor import Monitor
from hashrange.api.registry import DYNAMODB, STREAMS
from hashrange.app.audit import Audit
from hashrange.app.capacity import SharedMeters
from hashrange.app.database import Database
from hashrange.app.engines import StartError, health_of, open_engine
from hashrange.app.keys import ServerKeys
from hashrange.app.monitoring import Monitoring
from hashrange.app.recovery import adoption_services, backup_files
from hashrange.app.scaling import Scaling
from hashrange.app.stages import make_identities
from hashrange.app.transfers import bucket_services, make_folder_store, make_object_store
from hashrange.capacity.buckets import Totals
from hashrange.clock import Clock
from hashrange.config import Settings, is_loopback
from hashrange.engine.base import Engine
from hashrange.identities.administrator import make_administrator
from hashrange.identities.store import IdentityStore
from hashrange.neighbours.registry import make_services
from hashrange.neighbours.service import Service
from hashrange.storage.catalog import REALISTIC, Delays
from hashrange.wire.auth.accounts import DEFAULT_ACCOUNT
from hashrange.wire.http.bounds import Bounds
from hashrange.wire.http.listener import SharedListener
from hashrange.wire.http.router import Router
from hashrange.wire.http.server import Server
from hashrange.wire.http.tls import CertificateError, Certificates
from hashrange.wire.http.visitors import Visitors
from hashrange.wire.lambda_service import lambda_service
from hashrange.wire.operator_service import operator_service
from hashrange.wire.scrapes import Scrapes
from hashrange.wire.services import Neighbours
from hashrange.wire.stages import Stages

if TYPE_CHECKING:
    from hashrange.app.faults import FaultInjection

# What a socket that listens on all addresses of the machine calls its own.
_ANY_HOST = ("0.0.0.0", "::")


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


def visitors_of(settings: Settings) -> Visitors:
    """Return the web pages and host names that are answered."""
    return Visitors(
        settings.cors_origin,
        settings.allowed_host,
        is_open=not settings.is_guarded,
        is_local=is_loopback(settings.host),
        is_secure=settings.tls_cert is not None,
    )


def certificates_of(settings: Settings) -> Certificates | None:
    """Return the certificate to serve with, or None to serve plain HTTP."""
    if settings.tls_cert is None or settings.tls_key is None:
        return None
    try:
        return Certificates(settings.tls_cert, settings.tls_key, settings.tls_client_ca)
    except CertificateError as error:
        raise StartError(str(error)) from error


def address_of(listening: socket.socket) -> str:
    """Return the host and port at which clients reach a bound socket."""
    host, port = listening.getsockname()[:2]
    if host in _ANY_HOST:
        host = socket.gethostname()
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


@final
class Application:
    """One process of the server, from its data to its socket."""

    def __init__(
        self,
        settings: Settings,
        stages: Stages,
        clock: Clock,
        identities: IdentityStore | None = None,
        keys: ServerKeys | None = None,
        certificates: Certificates | None = None,
        totals: Totals | None = None,
    ) -> None:
        self._certificates = certificates
        self._settings = settings
        self._stages = stages
        self._clock = clock
        self._keys = keys or ServerKeys(settings)
        self._identities = identities or make_identities(self._keys)
        # The access key of an administrator that this process made.
        self.administrator: tuple[str, str] | None = None
        self._audit: Audit | None = None
        self._monitoring: Monitoring | None = None
        self._totals = totals
        self._meters: SharedMeters | None = None
        self.faults: FaultInjection | None = None
        self._database: Database | None = None
        self._scaling: Scaling | None = None
        self._server: Server | None = None

    async def start(self, listener: SharedListener) -> None:
        """Open the data and accept connections."""
        settings, clock = self._settings, self._clock
        opened = open_engine(settings, self._keys.given)
        engine, stages = self._with_faults(opened)
        await self._open_identities(engine)
        folder = make_folder_store(settings, self._keys.object_keys())
        monitoring = self._monitoring = Monitoring(engine, clock, settings, opened)
        audit = self._audit = Audit(settings, engine, clock)
        meters = self._meters = SharedMeters(settings, engine, clock, self._totals)
        files = backup_files(settings, self._keys.given)
        database = self._database = Database(
            engine,
            clock,
            delays_of(settings),
            stages=stages.with_recorders([*monitoring.all_recorders, *audit.recorders]),
            keyring=self._keys.keyring,
            is_shared=settings.is_guarded,
            meters=meters.meters,
            expiry_delay_seconds=settings.ttl_delay,
            address=address_of(listener.listening),
            scheme=settings.scheme,
            functions=settings.functions,
            triggers=settings.triggers,
            objects=make_object_store(settings, folder),
            backup_files=files,
        )
        database.add_services(*adoption_services(settings, engine, files))
        audit.keep(database)
        monitor = monitoring.watch(database, address_of(listener.listening))
        router = self._make_router(database, monitor, bucket_services(settings, folder))
        router.health = monitoring.health(health_of(opened))
        self._server = Server(router, bounds_of(settings), self._certificates)
        self._server.start(listener)
        database.start_services()
        monitoring.start()
        meters.start()

    async def _open_identities(self, engine: Engine) -> None:
        """Open the stores of users and keys; make an administrator if there is none yet."""
        identities = self._identities
        identities.open(engine)
        self._keys.keyring.open(engine)
        if self._settings.is_guarded and not await identities.is_key_right():
            raise StartError("The key file is not the key that the secrets here were sealed with.")
        if self._settings.auth:
            self.administrator = await make_administrator(
                identities, DEFAULT_ACCOUNT, self._clock.now()
            )

    def _make_router(
        self, database: Database, monitor: Monitor, buckets: Sequence[Service]
    ) -> Router:
        """Return the router to all services of this server."""
        settings = self._settings
        assert self._monitoring is not None
        assert self._audit is not None
        functions = lambda_service(
            database.trigger_store, functions_allowed=settings.allow_functions
        )
        faults = None if self.faults is None else self.faults.store
        is_measuring = bool(self._monitoring.recorders)
        scaling = Scaling(database, monitor.metrics if is_measuring else None, monitor.alarms)
        self._scaling = scaling
        self._monitoring.deliveries.scale = scaling.worker.on_alarm
        neighbours = make_services(
            self._identities, self._keys.keyring, monitor, self._audit.events
        )
        return Router(
            database.pipeline,
            (DYNAMODB, STREAMS, functions, operator_service(faults)),
            Neighbours((*neighbours, scaling.service, *buckets)),
            visitors_of(settings),
            bounds_of(settings),
            Scrapes(monitor.metrics, is_open=not settings.is_guarded) if is_measuring else None,
        )

    def _with_faults(self, engine: Engine) -> tuple[Engine, Stages]:
        """Return the engine and the stages to use, with fault injection if it is wanted."""
        if not self._settings.faults:
            return engine, self._stages
        from hashrange.app.faults import FaultInjection

        self.faults = FaultInjection(engine, self._clock)
        return self.faults.engine, self.faults.admitting(self._stages)

    async def do_due_work(self) -> None:
        """Do the background work that is due by the clock, without waiting for its turn."""
        if self._database is not None:
            await self._database.do_due_work()
        if self._scaling is not None:
            await self._scaling.worker.step()
        if self._monitoring is not None:
            await self._monitoring.do_due_work()

    async def stop(self) -> None:
        """Finish what is under way and let go of everything, in the opposite order."""
        if self._server is not None:
            await self._server.stop()
        if self._audit is not None:
            await self._audit.stop()
        if self._monitoring is not None:
            await self._monitoring.stop()
        if self._meters is not None:
            await self._meters.stop()
        if self._database is not None:
            await self._database.close()
