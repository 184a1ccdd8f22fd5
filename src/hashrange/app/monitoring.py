"""Composes what measures and watches a server: metrics, alarms and their actions."""

from __future__ import annotations

import asyncio
import os
from typing import Final, final

from hashrange import __version__
from hashrange.alarms.monitor import Monitor
from hashrange.app.cluster_metrics import ClusterMetrics
from hashrange.app.database import Database
from hashrange.app.engines import StartError
from hashrange.beat import BEAT_SECONDS, CALM_SECONDS
from hashrange.clock import Clock
from hashrange.config import Settings
from hashrange.engine.base import Engine
from hashrange.metrics.buffer import MetricBuffer
from hashrange.metrics.insight_reports import InsightReports
from hashrange.metrics.insights import InsightStore
from hashrange.metrics.reader import Metrics
from hashrange.metrics.series import DYNAMODB, make_series
from hashrange.metrics.store import MetricStore
from hashrange.services.backfill import Fill
from hashrange.services.background import Service
from hashrange.services.deliveries import Deliveries
from hashrange.services.metric_export import MetricExport
from hashrange.services.metric_upkeep import MetricUpkeep
from hashrange.services.triggers.functions import Functions
from hashrange.services.triggers.meter import FunctionMeter
from hashrange.services.triggers.targets import Surroundings
from hashrange.wire.http.router import Health
from hashrange.wire.recorders.key_access import KeyAccess
from hashrange.wire.recorders.request_metrics import RequestMetrics
from hashrange.wire.recorders.slow_requests import SlowRequests
from hashrange.wire.recorders.traces import Traces
from hashrange.wire.stages import Recorder

# How long a collector may take, and how often metrics are sent to it.
_EXPORT_SECONDS_MAX: Final = 5.0
_EXPORT_SECONDS: Final = 60.0
_ALARMS_IDLE_SECONDS: Final = 1.0
_UPKEEP_IDLE_SECONDS: Final = 1.0
_UPKEEP_BUSY_SECONDS: Final = 0.01


def slow_recorders(settings: Settings) -> list[Recorder]:
    """Return the log of slow and wasteful requests, if one of its thresholds is set."""
    if not settings.slow_request_ms and not settings.wasteful_ratio:
        return []
    return [SlowRequests(settings.slow_request_ms / 1000, settings.wasteful_ratio)]


def collector_of(settings: Settings) -> str | None:
    """Return the address of the collector, if there is one."""
    endpoint = settings.otlp_endpoint
    if endpoint is None:
        return None
    if not endpoint.startswith(("http://", "https://")):
        raise StartError(f"otlp-endpoint is a URL, not {endpoint!r}.")
    return endpoint.rstrip("/")


def make_traces(collector: str, clock: Clock) -> Traces:
    """Return what sends spans to a collector."""
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    except ImportError as error:
        raise StartError(
            "otlp-endpoint needs OpenTelemetry: pip install opentelemetry-sdk"
            " opentelemetry-exporter-otlp-proto-http"
        ) from error
    exporter = OTLPSpanExporter(f"{collector}/v1/traces", timeout=_EXPORT_SECONDS_MAX)
    return Traces(exporter, clock, __version__)


def make_export(collector: str, metrics: Metrics, clock: Clock) -> MetricExport:
    """Return what sends metrics to a collector."""
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter

    exporter = OTLPMetricExporter(f"{collector}/v1/metrics", timeout=_EXPORT_SECONDS_MAX)
    return MetricExport(exporter, metrics, clock, __version__)


@final
class Monitoring:
    """The metrics of one process, and the watch over those of all, as the settings ask for it.

    It is made before the database, whose requests it records, and completed with `watch`.
    """

    monitor: Monitor
    deliveries: Deliveries
    upkeep: MetricUpkeep
    _functions: Functions

    def __init__(
        self, engine: Engine, clock: Clock, settings: Settings, counting: Engine | None = None
    ) -> None:
        is_on = settings.metrics == "on"
        self._engine = engine
        self._clock = clock
        self._is_on = is_on
        self._store = MetricStore(engine)
        self._insights = InsightStore(engine)
        self.buffer = MetricBuffer(self._store, clock)
        self.recorders: list[Recorder] = []
        if is_on:
            keys = KeyAccess(self._insights)
            self.buffer.add_writer(keys.flush)
            self.recorders.append(RequestMetrics(clock, self.buffer, keys, engine))
        self._collector = collector_of(settings)
        self._traces = make_traces(self._collector, clock) if self._collector else None
        self._export: MetricExport | None = None
        # The engine below those that inject faults has the counters.
        self._cluster: ClusterMetrics | None = None
        if not engine.capabilities.atomic_across_shards:
            self._cluster = ClusterMetrics(
                counting or engine, clock, self.buffer if is_on else None
            )
        more = slow_recorders(settings)
        self.all_recorders = [*self.recorders, *more, *([self._traces] if self._traces else [])]
        self._writing: asyncio.Task[None] | None = None

    def watch(self, database: Database, address: str) -> Monitor:
        """Watch a database; its background work comes to include alarms and deliveries."""
        metrics = Metrics(self._store, self.buffer, database.catalog, self._clock)
        reports = InsightReports(self._insights, self.buffer, database.catalog)
        monitor = Monitor(metrics, reports, self._engine, self._clock, address)
        self.monitor = monitor
        surroundings = Surroundings(f"http://{address}" if address else None, os.environ)
        self._functions = Functions(database.trigger_store, surroundings)
        self.deliveries = Deliveries(
            monitor.documents, monitor.alarms, monitor.topics, self._functions, self._clock
        )
        self.upkeep = MetricUpkeep(
            (self._store, self._insights),
            self.buffer,
            database.catalog,
            monitor.alarms,
            self._clock,
        )
        if self._cluster is not None:
            self._cluster.watch(database)
        if self._is_on:
            self._functions.meter = meter = FunctionMeter(self.buffer)
            database.measure_functions(meter)
            database.count_expired(self._count_expired)
            database.count_index_fills(self._note_fill)
            database.add_services(
                Service(
                    "keeping metrics",
                    self.upkeep.step,
                    idle_seconds=_UPKEEP_IDLE_SECONDS,
                    busy_seconds=_UPKEEP_BUSY_SECONDS,
                )
            )
            if self._collector is not None:
                self._export = make_export(self._collector, metrics, self._clock)
                database.add_services(
                    Service("sending metrics", self._export.step, idle_seconds=_EXPORT_SECONDS)
                )
        database.add_services(
            Service("evaluating alarms", monitor.evaluator.step, idle_seconds=_ALARMS_IDLE_SECONDS),
            Service(
                "delivering messages",
                self.deliveries.step,
                idle_seconds=BEAT_SECONDS,
                calm_seconds=CALM_SECONDS,
            ),
        )
        return monitor

    def health(self, engine: Health) -> Health:
        """Return what tells of an engine's health and, in a cluster, of its background work."""
        return engine if self._cluster is None else self._cluster.health(engine)

    def _count_expired(self, account: str, region: str, table: str, count: int) -> None:
        name = "TimeToLiveDeletedItemCount"
        self.buffer.count(
            make_series(account, region, DYNAMODB, name, {"TableName": table}), float(count)
        )

    def _note_fill(self, fill: Fill, percent: float) -> None:
        account, region, table, index = fill
        dimensions = {"TableName": table, "GlobalSecondaryIndexName": index}
        name = "OnlineIndexPercentageProgress"
        self.buffer.count(make_series(account, region, DYNAMODB, name, dimensions), percent)

    def start(self) -> None:
        """Begin to write what is measured, which every process does for itself."""
        self._writing = asyncio.create_task(self.buffer.run())

    async def do_due_work(self) -> None:
        """Do the background work that is due by the clock."""
        while self._is_on and await self.upkeep.step():
            pass
        await self.monitor.evaluator.step()
        while await self.deliveries.step():
            pass

    async def stop(self) -> None:
        """Write what is left."""
        if self._writing is not None:
            self._writing.cancel()
            await asyncio.gather(self._writing, return_exceptions=True)
            await self.buffer.flush()
            if self._export is not None:
                await self._export.close()
            await self._functions.close()
        if self._traces is not None:
            # Sending what is left may wait for the collector.
            await asyncio.get_running_loop().run_in_executor(None, self._traces.close)
