"""The engine that plays a cluster, for tests that would otherwise run on the plain memory engine.

Conflicts, lost answers, delays and lost leases happen all the time. Eventual reads are stale only
where the server must not rely on them: clients of these tests read their own writes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from hashrange.app import engines
from hashrange.engine.memory.cluster import DEFAULT_SHARDS, ClusterMemoryEngine
from hashrange.engine.memory.faults import FaultPlan

SHARED_SPACES = {"catalog", "jobs", "tokens", "triggers", "ledger"}
INNER_STORES = (".k", ".q", ".x", ".c")


def is_inner(store: str) -> bool:
    """Tell whether a store holds nothing that a client reads."""
    return store in SHARED_SPACES or store.endswith(INNER_STORES)


def faulty_engine(seed: int = 0, shards: int = DEFAULT_SHARDS) -> ClusterMemoryEngine:
    """Return an empty engine that plays a cluster."""
    return ClusterMemoryEngine(FaultPlan(seed, is_stale_store=is_inner), shards)


@contextlib.contextmanager
def memory_plays(engine: str, shards: int = DEFAULT_SHARDS) -> Iterator[None]:
    """Have in-memory databases of this process play what `engine` says: "memory" or "cluster"."""
    with pytest.MonkeyPatch.context() as patch:
        if engine == "cluster":
            patch.setattr(engines, "MemoryEngine", lambda: faulty_engine(shards=shards))
        yield
