"""Measures what a cluster does besides requests: its steps, its index lag, what was recovered.

Only for engines that change one shard at a time. Each process adds what it counted to the metrics
that all of them share. Figures of the engine have no table; they belong to the account and the
region of clients that choose none.
"""

from __future__ import annotations

from typing import Final, Protocol, final, runtime_checkable

from hashrange.app.database import Database
from hashrange.clock import Clock
from hashrange.engine.base import Engine
from hashrange.engine.counts import Counts
from hashrange.limits import METRIC_CELLS_MAX
from hashrange.metrics.buffer import MetricBuffer
from hashrange.metrics.series import INTERNAL, Series, make_series
from hashrange.metrics.store import MINUTE
from hashrange.metrics.store import STORE as METRICS_SPACE
from hashrange.wire.auth.accounts import DEFAULT_ACCOUNT
from hashrange.wire.http.router import Health

STEP_LATENCY: Final = "StepLatency"
STEP_CONFLICTS: Final = "StepConflicts"
UNKNOWN_OUTCOMES: Final = "UnknownOutcomes"
INDEX_LAG: Final = "GlobalIndexLag"
RECOVERED: Final = "RecoveredTransactions"
_REGION: Final = "us-east-1"
_MILLISECONDS: Final = 1000.0
_OUTCOMES: Final = {
    "settled_applied": "applied",
    "settled_not_applied": "not applied",
    "unsettled": "unknown",
}


@runtime_checkable
class _Counting(Protocol):
    """An engine that counts what it does."""

    @property
    def counts(self) -> Counts: ...


@final
class ClusterMetrics:
    """What one process of a cluster measures; without a buffer only `health` tells of it."""

    def __init__(self, engine: Engine, clock: Clock, buffer: MetricBuffer | None) -> None:
        self._buffer = buffer
        self._clock = clock
        self._counts = engine.counts if isinstance(engine, _Counting) else None
        self._seen: dict[str, int] = {}
        self._lags: dict[str, float] = {}
        self._recovered = 0
        if self._counts is not None and buffer is not None:
            self._counts.quiet_spaces = frozenset({METRICS_SPACE})
            buffer.add_source(self.collect)

    def watch(self, database: Database) -> None:
        """Measure the background work of a database."""
        database.watch_cluster(self._note_followed, self._note_recovered)

    def health(self, engine: Health) -> Health:
        """Return the health of an engine with what this process saw of the background work."""

        def tell() -> tuple[bool, dict[str, object]]:
            is_well, details = engine()
            return is_well, {
                **details,
                "recovered_transactions": self._recovered,
                "index_lag_seconds": self._lags,
            }

        return tell

    def collect(self) -> None:
        """Add what the engine has counted since the last time."""
        counts, buffer = self._counts, self._buffer
        assert counts is not None
        assert buffer is not None
        if latencies := counts.take_latencies():
            now = int(self._clock.now())
            series = _engine_series(STEP_LATENCY, {})
            samples = buffer.samples(series, now - now % MINUTE, "Milliseconds")
            samples.add_all(latencies, _MILLISECONDS)
        self._add(STEP_CONFLICTS, {}, self._new("conflicts", counts.conflicts))
        for name, outcome in _OUTCOMES.items():
            new = self._new(name, getattr(counts, name))
            self._add(UNKNOWN_OUTCOMES, {"Outcome": outcome}, new)

    def _new(self, name: str, total: int) -> int:
        """Return by how much a counter has grown."""
        before = self._seen.get(name, 0)
        self._seen[name] = total
        return total - before

    def _add(self, name: str, dimensions: dict[str, str], count: int) -> None:
        if count and self._buffer is not None:
            self._buffer.count(_engine_series(name, dimensions), float(count))

    def _note_followed(self, account: str, region: str, table: str, written_at: float) -> None:
        lag = max(0.0, self._clock.now() - written_at)
        self._lags[f"{account}/{region}/{table}"] = lag
        if len(self._lags) > METRIC_CELLS_MAX:
            del self._lags[next(iter(self._lags))]
        if self._buffer is not None:
            series = make_series(account, region, INTERNAL, INDEX_LAG, {"TableName": table})
            self._buffer.count(series, lag * _MILLISECONDS, "Milliseconds")

    def _note_recovered(self, is_committed: bool) -> None:
        self._recovered += 1
        self._add(RECOVERED, {"Outcome": "committed" if is_committed else "aborted"}, 1)


def _engine_series(name: str, dimensions: dict[str, str]) -> Series:
    return make_series(DEFAULT_ACCOUNT, _REGION, INTERNAL, name, dimensions)
