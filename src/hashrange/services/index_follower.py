"""Updates global indexes from their queue, for engines that cannot change them with the item.

Each shard of a table has a queue of index changes (see storage/index_queue). A step takes the head
of a queue, merges its operations into the indexes, and then deletes what it has merged. Doing that
twice, or by two processes at once, changes nothing: the higher version of an index row wins.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Final, final

from hashrange.engine.base import SEQUENCE_BYTES, STRONG, Changes, Engine, Fence, RowKey
from hashrange.errors import AccessDeniedException, EngineError
from hashrange.model.schema import QUEUE
from hashrange.storage.catalog import Catalog
from hashrange.storage.index_queue import Operation, unpack_operations
from hashrange.storage.log import sequence_of
from hashrange.storage.settled_writes import write_surely

# Hints are waited for with a task for each table. Where these are many, looking is cheaper.
_WATCHED_MAX: Final = 64
_UNWATCHED_SECONDS: Final = 0.05
_CHUNK_ROWS: Final = 50  # of 400 kilobytes each at most, and hardly ever
_UNBOUNDED: Final = 1 << 40
_END: Final = b"\xff" * (SEQUENCE_BYTES + 1)

_Versioned = tuple[int, bytes, bytes | None, int]
_Queued = tuple[int, Sequence[Operation], float | None]
"""A queue row: its number, its operations and the time of its write."""


Steps = Sequence[Callable[[], Awaitable[int]]]
RunAll = Callable[[Steps], Awaitable[Sequence[int]]]
"""How the shards of a table are followed: one after another, or at once."""


async def run_one_after_another(steps: Steps) -> list[int]:
    """Return the results of steps that are taken in turn."""
    return [await step() for step in steps]


Followed = Callable[[str, str, str, float], None]
"""Is told account, region and table, and when the oldest change that a step took was written.

It is told so after the step, also if that failed: the age of the change is the lag of the table.
"""


def _note_nothing(_account: str, _region: str, _table: str, _written_at: float) -> None:
    pass


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
        self.followed: Followed = _note_nothing
        self._engine = engine
        self._catalog = catalog
        self._run_all = run_all
        self._counter = -1
        # Spaces with global indexes: their shards, and account, region and name of the table.
        self._tables: dict[str, tuple[int, tuple[str, str, str]]] = {}
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
        failure: EngineError | None = None
        for space, (shards, _) in self._tables.items():
            appended = self._engine.appended(space)
            if self._seen.get(space) == appended:
                continue
            steps = [partial(self._follow_if_open, space, shard) for shard in range(shards)]
            try:
                counts = await self._run_all(steps)
            except EngineError as error:
                failure = error  # which may concern this table alone
                continue
            if not any(counts):
                self._seen[space] = appended
            done += sum(counts)
        if failure is not None:
            raise failure
        return done

    async def wait(self, seconds: float) -> None:
        """Wait until something is appended to a queue that was found empty, at most so long."""
        seen = list(self._seen.items())
        if not seen or len(seen) > _WATCHED_MAX:
            await asyncio.sleep(min(seconds, _UNWATCHED_SECONDS) if seen else seconds)
            return
        watching = [
            asyncio.ensure_future(self._engine.watch(space, mark, seconds)) for space, mark in seen
        ]
        try:
            await asyncio.wait(watching, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in watching:
                task.cancel()
            await asyncio.gather(*watching, return_exceptions=True)

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
        queued = [(sequence_of(key), *unpack_operations(value)) for key, value in rows]
        try:
            for target, versions in _by_store(queued).items():
                await self._merge(target, versions)
        finally:
            self._tell(space, queued)
        await write_surely(self._engine, _Removal([(store, shard, key) for key, _ in rows]))
        return len(rows)

    def _tell(self, space: str, queued: Sequence[_Queued]) -> None:
        oldest = min((time for _, _, time in queued if time is not None), default=None)
        table = self._tables.get(space)
        if oldest is not None and table is not None:
            self.followed(*table[1], oldest)

    async def _merge(self, store: str, versions: Sequence[_Versioned]) -> None:
        try:
            await self._engine.merge(store, versions)
        except EngineError:
            stores = await self._catalog.index_stores()
            if store in stores:
                raise
            # The index was deleted; its rows are not needed.


def _by_store(queued: Sequence[_Queued]) -> dict[str, list[_Versioned]]:
    """Return operations by store, the last one of each row only."""
    found: dict[str, dict[tuple[int, bytes], _Versioned]] = {}
    for version, operations, _ in queued:
        for store, shard, key, row in operations:
            found.setdefault(store, {})[shard, key] = (shard, key, row, version)
    return {store: list(rows.values()) for store, rows in found.items()}
