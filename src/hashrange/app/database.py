"""Everything below the wire: catalog, pipeline and background services on one engine."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, final

from hashrange.api.operation import Context, Request, Response
from hashrange.api.registry import DYNAMODB, STREAMS
from hashrange.api.scope import IN_PROCESS, Caller, RequestScope
from hashrange.app.locksmith import TableLocksmith
from hashrange.app.recovery import passing_files
from hashrange.app.transfers import make_folder_store
from hashrange.beat import BEAT_SECONDS, CALM_SECONDS
from hashrange.clock import Clock
from hashrange.config import Settings
from hashrange.engine.base import Engine
from hashrange.keyring.store import KeyStore
from hashrange.keyring.table_keys import TableKeys
from hashrange.model.triggers import FunctionRecord, MappingRecord
from hashrange.objects.backups import BackupFiles
from hashrange.objects.base import ObjectStore
from hashrange.sealing import Vault
from hashrange.server_key import KEY_VARIABLE, volatile_key
from hashrange.services.backfill import Backfill, Fill
from hashrange.services.background import Background, Run, Service, on_hint
from hashrange.services.backup_retention import BackupRetention
from hashrange.services.expiry import Expiry
from hashrange.services.history_keeper import HistoryKeeper
from hashrange.services.index_follower import Followed, IndexFollower, Steps
from hashrange.services.jobs import Jobs, Kind
from hashrange.services.key_keeping import KeyKeeping
from hashrange.services.resealing import Resealing
from hashrange.services.scrub import Scrub
from hashrange.services.stream_keeper import StreamKeeper
from hashrange.services.token_retention import drop_old_tokens
from hashrange.services.transaction_recovery import TransactionRecovery
from hashrange.services.triggers.meter import FunctionMeter
from hashrange.services.triggers.service import Triggers
from hashrange.services.triggers.targets import Surroundings
from hashrange.storage.catalog import Catalog, Delays
from hashrange.storage.jobs import JobStore
from hashrange.storage.meters import Meters
from hashrange.storage.sealed_engine import SealedEngine
from hashrange.storage.triggers import TriggerStore
from hashrange.wire.http.messages import HttpAnswer, HttpRequest
from hashrange.wire.pipeline import Pipeline
from hashrange.wire.protocols.target_json import TargetJson
from hashrange.wire.stages import Stages

_LOGGER: Final = logging.getLogger("hashrange.app")
# How long services rest when they find nothing to do. Looking costs a comparison or two.
_BACKFILL_IDLE_SECONDS = 0.1
_EXPIRY_IDLE_SECONDS = 0.1
STREAMS_IDLE_SECONDS = 1.0
_TOKENS_IDLE_SECONDS = 5.0
_RECOVERY_IDLE_SECONDS = 1.0
_TIDY_IDLE_SECONDS = 1.0
_TIDY_CALM_SECONDS = 5.0
_RESEALING_IDLE_SECONDS = 0.5
_KEYS_IDLE_SECONDS = 60.0
# A round of the scrub reads at most 1 MB a second, and the next one begins an hour later.
_SCRUB_IDLE_SECONDS = 3600.0
_SCRUB_BUSY_SECONDS = 0.25
# Between two chunks there is time for requests, also on an engine that never waits.
_EXPIRY_BUSY_SECONDS = 0.001
_TIDY_BUSY_SECONDS = 0.005


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
        keyring: KeyStore | None = None,
        is_shared: bool = False,
        meters: Meters | None = None,
        expiry_delay_seconds: float = 0.0,
        address: str = "",
        scheme: str = "http",
        functions: Sequence[FunctionRecord] = (),
        triggers: Sequence[MappingRecord] = (),
        objects: ObjectStore | None = None,
        is_inline: bool = False,
        backup_files: BackupFiles | None = None,
    ) -> None:
        if keyring is None:
            keyring = KeyStore(Vault(volatile_key()))
            keyring.open(engine)
        self.keyring = keyring
        self._table_keys = TableKeys(keyring, clock)
        self._scrub = Scrub(engine)
        self.engine = sealed = SealedEngine(engine, TableLocksmith(self._table_keys))
        engine = sealed
        self.clock = clock
        self._address = address
        self.catalog = Catalog(engine, clock, delays, is_shared=is_shared, meters=meters)
        self._backfill = Backfill(engine, self.catalog, clock)
        self._expiry = Expiry(engine, self.catalog, clock, expiry_delay_seconds)
        self._streams = StreamKeeper(engine, self.catalog, clock)
        self._histories = HistoryKeeper(engine, self.catalog, clock)
        self._backups = BackupRetention(engine, clock)
        files = backup_files or passing_files()
        self._follower = IndexFollower(engine, self.catalog)
        self._resealing = Resealing(sealed, self.catalog)
        self._key_keeping = KeyKeeping(keyring, clock)
        self._recovery = TransactionRecovery(engine, self.catalog, clock)
        self.trigger_store = TriggerStore(engine, functions)
        self._triggers = Triggers(
            engine,
            clock,
            self.catalog,
            self.trigger_store,
            configured=triggers,
            surroundings=Surroundings(f"{scheme}://{address}" if address else None, _variables()),
        )
        self.objects = objects or make_folder_store(Settings(in_memory=True), is_inline=is_inline)
        make_kinds = partial(self._make_kinds, files, is_inline=is_inline)
        self._jobs = Jobs(engine, JobStore(engine), clock, make_kinds)
        self.pipeline = Pipeline(stages or Stages(), self._make_context)
        self._json = TargetJson((DYNAMODB, STREAMS))
        self._background: asyncio.Task[None] | None = None
        self._more_services: list[Service] = []

    def _make_kinds(self, files: BackupFiles, *, is_inline: bool) -> dict[str, Kind]:
        """Return the kinds of jobs; what they need is loaded with the first job."""
        from hashrange.app.job_kinds import recovery_kinds, transfer_kinds

        return {
            **recovery_kinds(self.engine, self.catalog, self.clock, self._table_keys, files),
            **transfer_kinds(self.engine, self.catalog, self.objects, is_inline=is_inline),
        }

    def count_expired(self, note: Callable[[str, str, str, int], None]) -> None:
        """Have somebody told account, region and table when items have expired, and how many."""
        self._expiry.deleted = note

    def count_index_fills(self, note: Callable[[Fill, float], None]) -> None:
        """Have somebody told how far the filling of an index has come, in percent."""
        self._backfill.progressed = note

    def measure_functions(self, meter: FunctionMeter) -> None:
        """Have the invocations of functions measured."""
        self._triggers.measure(meter)

    def watch_cluster(self, followed: Followed, recovered: Callable[[bool], None]) -> None:
        """Have somebody told of index changes that were followed, and transactions recovered."""
        self._follower.followed = followed
        self._recovery.recovered = recovered

    def add_services(self, *services: Service) -> None:
        """Add background work, before it is started."""
        self._more_services.extend(services)

    async def call(self, world: tuple[str, str], operation: str, request: Request) -> Response:
        """Carry out an operation of DynamoDB for the server itself; errors are raised."""
        account, region = world
        scope = RequestScope(b"", IN_PROCESS, b"")
        scope.service, scope.operation = DYNAMODB.name, operation
        scope.caller = Caller("", account, f"arn:aws:iam::{account}:root", region, "dynamodb")
        scope.context = self._make_context(account, region)
        found = DYNAMODB.operations[operation]
        found.check(request)
        return await found.run(scope, request)

    async def answer(self, request: HttpRequest, request_id: bytes = b"") -> HttpAnswer:
        """Answer a request to DynamoDB or DynamoDB Streams that came through no socket."""
        return await self.pipeline.answer(request, self._json, request_id)

    def start_services(self) -> None:
        """Begin the background work, which is done by the one process that has its lease."""
        services = [*self._item_services(), *self._upkeep_services(), *self._more_services]
        runs: list[Run] = [self._triggers.run, self._jobs.run]
        if self.engine.capabilities.local_files:
            services.append(
                Service(
                    "scrubbing",
                    self._scrub.step,
                    idle_seconds=_SCRUB_IDLE_SECONDS,
                    busy_seconds=_SCRUB_BUSY_SECONDS,
                )
            )
        if not self.engine.capabilities.indexes_in_step:
            runs.append(self._follow_indexes())
        if not self.engine.capabilities.atomic_across_shards:
            services.append(
                Service(
                    "recovering transactions",
                    self._recovery.step,
                    idle_seconds=_RECOVERY_IDLE_SECONDS,
                )
            )
        background = Background(self.engine, services, runs)
        self._background = asyncio.create_task(background.run())
        self._background.add_done_callback(_report_end)

    def _item_services(self) -> list[Service]:
        """Return the work that clients wait for."""
        return [
            Service(
                "filling indexes",
                self._backfill.step,
                idle_seconds=_BACKFILL_IDLE_SECONDS,
                calm_seconds=CALM_SECONDS,
            ),
            Service(
                "deleting expired items",
                self._expiry.step,
                idle_seconds=_EXPIRY_IDLE_SECONDS,
                busy_seconds=_EXPIRY_BUSY_SECONDS,
                calm_seconds=CALM_SECONDS,
            ),
            Service("keeping streams", self._streams.step, idle_seconds=STREAMS_IDLE_SECONDS),
            Service("keeping histories", self._histories.step, idle_seconds=STREAMS_IDLE_SECONDS),
            Service("keeping backups", self._backups.step, idle_seconds=STREAMS_IDLE_SECONDS),
        ]

    def _upkeep_services(self) -> list[Service]:
        """Return the work on what is old, dropped or sealed."""
        return [
            Service(
                "dropping old tokens",
                lambda: drop_old_tokens(self.engine, self.clock),
                idle_seconds=_TOKENS_IDLE_SECONDS,
            ),
            Service(
                "freeing dropped stores",
                self.engine.tidy,
                idle_seconds=_TIDY_IDLE_SECONDS,
                busy_seconds=_TIDY_BUSY_SECONDS,
                calm_seconds=_TIDY_CALM_SECONDS,
            ),
            Service(
                "sealing rows anew",
                self._resealing.step,
                idle_seconds=_RESEALING_IDLE_SECONDS,
                calm_seconds=CALM_SECONDS,
            ),
            Service("keeping keys", self._key_keeping.step, idle_seconds=_KEYS_IDLE_SECONDS),
        ]

    def _follow_indexes(self) -> Run:
        """Return the work that replaces what an engine cannot do in the step of an item."""
        follower = IndexFollower(self.engine, self.catalog, _run_at_once)
        follower.followed = self._follower.followed
        service = Service("following index changes", follower.step, idle_seconds=BEAT_SECONDS)
        return on_hint(service, follower.wait)

    async def do_due_work(self) -> None:
        """Do the background work that is due by the clock, for those who start no services."""
        await self._key_keeping.step()
        await self._resealing.step()
        await self._backfill.run_to_end()
        await self._expiry.run_to_end()
        await self._streams.run_to_end()
        await self._histories.run_to_end()
        await self._backups.run_to_end()
        await self._recovery.run_to_end()
        await self._follower.run_to_end()
        await self._jobs.run_to_end()

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
            table_keys=self._table_keys,
            address=self._address,
        )


async def _run_at_once(steps: Steps) -> Sequence[int]:
    """Take steps at once: on an engine with a network each of them waits for answers."""
    return await asyncio.gather(*(step() for step in steps))


def _variables() -> dict[str, str]:
    """Return the environment for functions, which must not see the server's key."""
    return {name: value for name, value in os.environ.items() if name != KEY_VARIABLE}


def _report_end(service: asyncio.Task[None]) -> None:
    """Say so when background work ends by anything but a stop, which only a bug can cause."""
    if not service.cancelled() and service.exception() is not None:
        _LOGGER.critical("background work ended", exc_info=service.exception())
