"""A monitor on an engine in memory, for services that need one."""

from hashrange.alarms.monitor import Monitor
from hashrange.clock import Clock, VirtualClock
from hashrange.engine.base import Engine
from hashrange.engine.memory.engine import MemoryEngine
from hashrange.metrics.buffer import MetricBuffer
from hashrange.metrics.insight_reports import InsightReports
from hashrange.metrics.insights import InsightStore
from hashrange.metrics.reader import Metrics
from hashrange.metrics.store import MetricStore
from hashrange.storage.catalog import Catalog


def make_monitor(engine: Engine | None = None, clock: Clock | None = None) -> Monitor:
    """Return a monitor that nothing is recorded for but what a test adds."""
    engine, clock = engine or MemoryEngine(), clock or VirtualClock()
    store = MetricStore(engine)
    buffer, catalog = MetricBuffer(store, clock), Catalog(engine, clock, None)
    insights = InsightReports(InsightStore(engine), buffer, catalog)
    return Monitor(Metrics(store, buffer, catalog, clock), insights, engine, clock)
