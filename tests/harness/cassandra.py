"""Engines on a Cassandra cluster that is there already, for tests run with --cassandra."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hashrange.engine.cassandra.engine import CassandraEngine

KEYSPACE = "hashrange_tests"
SHARDS = 4


def cassandra_engine(
    contact_points: str, prefix: str = "", shards: int = SHARDS
) -> CassandraEngine:
    """Return an empty engine, or one that shares the rows of others with the same prefix."""
    from hashrange.engine.cassandra.engine import Access, CassandraEngine, Demands

    points = tuple(contact_points.split(","))
    return CassandraEngine.open(
        Access(contact_points=points),
        KEYSPACE,
        Demands(replication=min(len(points), 3)),
        shards=shards,
        prefix=prefix or f"x{uuid.uuid4().hex[:12]}",
    )
