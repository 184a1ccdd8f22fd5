"""Follow-up steps of a catalog change, for engines that change one shard at a time.

The record changes first. Then the shards of the table are fenced, so that decisions built on the
old record are refused. Then stream shards are marked as opened and closed. Last, unused stores are
dropped. Each step may be repeated. A process that dies in between leaves unused stores and
unfinished steps: the back-fill fences again before it begins, and the stream keeper makes missing
marks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import final

from hashrange.engine.base import Capabilities, Changes, Engine, Fence, RowKey
from hashrange.model.records import TableRecord
from hashrange.model.schema import LOCKS, QUEUE, Table
from hashrange.storage.ledger import LEDGER_STORES
from hashrange.storage.settled_writes import write_surely
from hashrange.storage.stream_marks import write_marks


@final
@dataclass(slots=True)
class Sequel:
    """The follow-up steps of a record change, and the outcome of the change."""

    outcome: object
    # The record row, which a decision that only drops stores names.
    place: RowKey
    # Space, shards and version to fence.
    fence: tuple[str, int, int] | None = None
    # The store of the stream, and the marks to make in it.
    marks: tuple[str, Sequence[tuple[int, bytes]]] = ("", ())
    drops: list[str] = field(default_factory=list)


@final
class _Drops:
    """The decision that drops stores."""

    __slots__ = ("_stores", "fences", "keys")

    def __init__(self, place: RowKey, stores: Sequence[str]) -> None:
        self.fences: Sequence[Fence] = ()
        self.keys: Sequence[RowKey] = (place,)
        self._stores = stores

    def decide(self, rows: Sequence[bytes | None]) -> Changes:
        changes = Changes()
        changes.drops.extend(self._stores)
        return changes


async def follow_up(engine: Engine, sequel: Sequel) -> None:
    """Carry out the follow-up steps of a catalog change."""
    if sequel.fence is not None:
        await engine.fence(*sequel.fence)
    await write_marks(engine, *sequel.marks)
    if sequel.drops:
        await write_surely(engine, _Drops(sequel.place, sequel.drops))


def extra_stores(record: TableRecord, capabilities: Capabilities) -> list[str]:
    """Return the stores of a table that make up for missing capabilities of the engine."""
    stores = []
    if not capabilities.atomic_across_shards:
        stores.append(record.store + LOCKS)
    if not capabilities.indexes_in_step:
        stores.append(record.store + QUEUE)
    return stores


def shared_stores(capabilities: Capabilities) -> Sequence[str]:
    """Return the shared stores that make up for missing capabilities of the engine."""
    return () if capabilities.atomic_across_shards else LEDGER_STORES


def equip(table: Table, capabilities: Capabilities) -> Table:
    """Set the names of those stores on a table."""
    table.has_locks = not capabilities.atomic_across_shards
    table.queue_store = "" if capabilities.indexes_in_step else table.store + QUEUE
    return table
