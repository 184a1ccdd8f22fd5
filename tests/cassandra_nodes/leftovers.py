"""Looks into Cassandra for what must not stay: locks, open transactions, index changes queued.

Reads the engine's own tables, and nothing through Hashrange.
"""

from __future__ import annotations

import json
import time
from typing import Any

from hashrange.storage.ledger import OPEN
from tests.cassandra_nodes.configuration import Nodes

_SECONDS_MAX = 120.0
_QUEUES = {".k": "locks", ".q": "changes of indexes"}


def check_leftovers(nodes: Nodes, keyspace: str) -> list[str]:
    """Wait until nothing is left; return what stays."""
    from cassandra import ConsistencyLevel
    from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile

    profile = ExecutionProfile(consistency_level=ConsistencyLevel.QUORUM, request_timeout=60)
    cluster = Cluster(nodes.addresses, execution_profiles={EXEC_PROFILE_DEFAULT: profile})
    try:
        session = cluster.connect(keyspace)
        deadline = time.monotonic() + _SECONDS_MAX
        while (found := find_leftovers(session)) and time.monotonic() < deadline:
            time.sleep(0.5)
        return found
    finally:
        cluster.shutdown()


def find_leftovers(session: Any) -> list[str]:
    """Return what is there now and must not stay."""
    found = []
    for space, packed in session.execute("SELECT space, stores FROM spaces"):
        members = json.loads(packed)
        for store, number in members["stores"].items():
            what = "open transactions" if store == OPEN else _QUEUES.get(store[-2:])
            if what is None:
                continue
            for shard in range(members["shards"]):
                count = session.execute(
                    "SELECT count(*) FROM rows WHERE space = %s AND shard = %s AND store = %s",
                    (space, shard, number),
                ).one()[0]
                if count:
                    found.append(f"{count} {what} left in {store}, shard {shard}")
    return found
