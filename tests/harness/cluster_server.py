"""`python -m tests.harness.cluster_server ...` is `hashrange ...` in memory, playing a cluster.

Conflicts, lost answers, delays and lost leases happen all the time. Eventual reads are stale only
where the server must not rely on them: clients of these tests read their own writes.
"""

from __future__ import annotations

import os
import sys

from hashrange import app
from hashrange.cli.main import main
from hashrange.engine.memory.cluster import ClusterMemoryEngine
from hashrange.engine.memory.faults import FaultPlan

SHARED_SPACES = {"catalog", "tokens", "triggers", "ledger"}
INNER_STORES = (".k", ".q", ".x", ".c")


def is_inner(store: str) -> bool:
    """Tell whether a store holds nothing that a client reads."""
    return store in SHARED_SPACES or store.endswith(INNER_STORES)


def faulty_engine() -> ClusterMemoryEngine:
    seed = int(os.environ.get("HASHRANGE_TEST_SEED", "0"))
    return ClusterMemoryEngine(FaultPlan(seed, is_stale_store=is_inner))


if __name__ == "__main__":
    vars(app)["MemoryEngine"] = faulty_engine
    main(sys.argv[1:])
