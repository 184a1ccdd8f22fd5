"""Updates global indexes from their queue, for engines that cannot change them with the item.

Each shard of a table has a queue of index changes (see storage/index_queue). A step takes the head
of a queue, merges its operations into the indexes, and then deletes what it has merged. Doing that
twice, or by two processes at once, changes nothing: the higher version of an index row wins.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final, final

from hashrange.engine.base import SEQUENCE_BYTES, STRONG, Changes, Engine, Fence, RowKey
from hashrange.errors import AccessDeniedException, EngineError
from hashrange.model.schema import QUEUE
from hashrange.storage.catalog import Catalog
from hashrange.storage.index_queue import Operation, unpack_operations
from hashrange.storage.log import sequence_of
from hashrange.storage.settled_writes import write_surely

_CHUNK_ROWS: Final = 50  # of 400 kilobytes each at most, and hardly ever
_UNBOUNDED: Final = 1 << 40
_END: Final = b"\xff" * (SEQUENCE_BYTES + 1)

_Versioned = tuple[int, bytes, bytes | None, int]


RunAll = Callable[[Sequence[Awaitable[int]]], Awaitable[Sequence[int]]]
"""How the shards of a table are followed: one after another, or at once."""


async def run_one_after_another(steps: Sequence[Awaitable[int]]) -> list[int]:
    """Return the results of steps that are taken in turn."""
    return [await step for step in steps]


@final
class _Removal:
    """The decision that deletes rows of a queue."""

    __slots__ = ("fences", "keys")

    def __init__(self, keys: Sequence[RowKey]) -> None:
        self.fences: Sequence[Fence] = ()
        self.keys = keys

    def decide(self, rows: Sequence[bytes | None]) -> Changes:
        changes = Changes()
        changes.deletes.extend(self.keys)
        return changes


@final
class IndexFollower:
    """The upkeep of the global indexes of all tables; one process runs it."""

    def __init__(
        self, engine: Engine, catalog: Catalog, run_all: RunAll = run_one_after_another
    ) -> None:
        self._engine = engine
        self._catalog = catalog
        self._run_all = run_all
        self._counter = -1
        self._tables: dict[str, int] = {}  # spaces with global indexes, and their shards
        self._seen: dict[str, int] = {}  # what `appended` said when a queue was found empty

    async def run_to_end(self) -> None:
        """Empty all queues."""
        while await self.step():
            pass

    async def step(self) -> int:
        """Take the heads of the queues there are; return how many queue rows were done."""
        if self._engine.capabilities.indexes_in_step:
            return 0
        counter = self._engine.counter()
        if counter != self._counter:
            self._tables = await self._catalog.indexed()
            self._seen = {}
            self._counter = counter
        done = 0
        for space, shards in self._tables.items():
            appended = self._engine.appended(space)
            if self._seen.get(space) == appended:
                continue
            steps = [self._follow_if_open(space, shard) for shard in range(shards)]
            counts = await self._run_all(steps)
            if not any(counts):
                self._seen[space] = appended
            done += sum(counts)
        return done

    async def drain(self, space: str, shards: int) -> None:
        """Do what is in the queues of a table now."""
        for shard in range(shards):
            while await self._follow(space, shard) == _CHUNK_ROWS:
                pass

    async def _follow_if_open(self, space: str, shard: int) -> int:
        """Do the head of one queue, unless the KMS key of its table cannot be used."""
        try:
            return await self._follow(space, shard)
        except AccessDeniedException:
            return 0  # a change of the key is announced, and then all queues are looked at

    async def _follow(self, space: str, shard: int) -> int:
        """Do the head of one queue; return how many rows it had."""
        store = space + QUEUE
        rows, _ = await self._engine.range(
            store,
            shard,
            b"",
            _END,
            reverse=False,
            rows_max=_CHUNK_ROWS,
            bytes_max=_UNBOUNDED,
            consistency=STRONG,
        )
        if not rows:
            return 0
        for target, versions in _by_store(
            [(sequence_of(key), unpack_operations(value)) for key, value in rows]
        ).items():
            await self._merge(target, versions)
        await write_surely(self._engine, _Removal([(store, shard, key) for key, _ in rows]))
        return len(rows)

    async def _merge(self, store: str, versions: Sequence[_Versioned]) -> None:
        try:
            await self._engine.merge(store, versions)
        except EngineError:
            stores = await self._catalog.index_stores()
            if store in stores:
                raise
            # The index was deleted; its rows are not needed.


def _by_store(queued: Sequence[tuple[int, Sequence[Operation]]]) -> dict[str, list[_Versioned]]:
    """Return operations by store, the last one of each row only."""
    found: dict[str, dict[tuple[int, bytes], _Versioned]] = {}
    for version, operations in queued:
        for store, shard, key, row in operations:
            found.setdefault(store, {})[shard, key] = (shard, key, row, version)
    return {store: list(rows.values()) for store, rows in found.items()}
