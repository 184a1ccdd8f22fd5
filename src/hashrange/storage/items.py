"""Items by their keys: where they are, and how they are read."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence

import orjson

from hashrange.engine.base import EVENTUAL, STRONG, Engine, RowKey, shard_of
from hashrange.expressions.projections import Projection
from hashrange.model.schema import Table
from hashrange.pauses import LONG_WORK_BYTES
from hashrange.storage.layout import unpack_item
from hashrange.storage.locked_reads import read_past_locks


def item_row(table: Table, key: bytes) -> RowKey:
    """Return where the item with a key is."""
    shards = table.shards
    return (table.store, 0 if shards == 1 else shard_of(key, shards), key)


def consistency_of(is_consistent: bool) -> int:
    """Return the consistency that ConsistentRead asks for."""
    return STRONG if is_consistent else EVENTUAL


def read_items(
    engine: Engine, rows: Sequence[RowKey], consistency: int
) -> Awaitable[list[bytes | None]]:
    """Return the rows of items, each as it is when it is read.

    Not a coroutine of its own, as GetItem is the most frequent request.
    """
    if consistency == EVENTUAL or engine.capabilities.atomic_across_shards:
        return engine.read(rows, consistency)
    return read_past_locks(engine, rows)


def project(row: bytes, projection: Projection) -> object:
    """Return the part of a row's item that a projection selects, to be put into a response.

    A large one as JSON, because objects take ten times the memory.
    """
    part = projection.apply(unpack_item(row))
    return part if len(row) < LONG_WORK_BYTES else orjson.Fragment(orjson.dumps(part))
