"""The engine on Apache Cassandra: any number of processes, one cluster, no other coordination.

A shard of a space is a partition of the table `rows`. See `group_commit` for writes, `row_reads`
for what makes a read strong, `stores` for the names of stores, `signals` for hints between
processes, and docs/internals/cassandra.md for all of it together.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Final, final

from hashrange.engine.base import (
    STRONG,
    Capabilities,
    Changes,
    Decision,
    Fence,
    Row,
    RowKey,
    space_of,
)
from hashrange.engine.cassandra.chores import Chores
from hashrange.engine.cassandra.group_commit import ShardWriter, Workshop, place_of
from hashrange.engine.cassandra.leases import CassandraLease, Leases
from hashrange.engine.cassandra.link import DriverLink, Link
from hashrange.engine.cassandra.range_reads import RangeReads
from hashrange.engine.cassandra.row_reads import Horizon, RowReads, head_of
from hashrange.engine.cassandra.schema import Statements, create_schema
from hashrange.engine.cassandra.session import DRIVER_FAILURES, QUORUM, Access, connect
from hashrange.engine.cassandra.shard_state import BOOKS_KEY, META_STORE, unpack_books
from hashrange.engine.cassandra.signals import Signals
from hashrange.engine.cassandra.start_checks import Demands, check_nodes
from hashrange.engine.cassandra.steps import Address, Place, View, tally_name
from hashrange.engine.cassandra.stores import Stores
from hashrange.engine.counts import Counts
from hashrange.errors import EngineError, StaleVersionError

DEFAULT_SHARDS: Final = 16
_OPEN_ATTEMPTS_MAX: Final = 5
_SILENT_SECONDS_MAX: Final = 5.0
_OPEN_PAUSE_SECONDS: Final = 1.0
_MERGED_TOGETHER_MAX: Final = 100
_MERGED_BYTES_MAX: Final = 1 << 20

_Merged = tuple[int, bytes, bytes | None, int]


@final
class _Raise:
    """The decision that raises the version of a space in one shard."""

    __slots__ = ("_version", "fences", "keys")

    def __init__(self, space: str, shard: int, version: int) -> None:
        self.fences: Sequence[Fence] = ()
        self.keys: Sequence[RowKey] = ((space, shard, b""),)
        self._version = version

    def decide(self, rows: Sequence[bytes | None]) -> Changes:
        changes = Changes()
        changes.fences.append((space_of(self.keys[0][0]), self._version))
        return changes


@final
class CassandraEngine:
    """Shards as partitions of a Cassandra cluster."""

    def __init__(self, link: Link, statements: Statements, *, shards: int, prefix: str) -> None:
        self.capabilities = Capabilities(
            atomic_across_shards=False,
            indexes_in_step=False,
            snapshot_reads=False,
            local_files=False,
            shards=shards,
            shard_snapshots=True,
        )
        self.counts = link.counts
        # Names of spaces in Cassandra begin with it; tests share a keyspace.
        self._prefix = prefix
        self._link = link
        self._statements = statements
        self._stores = Stores(link, statements, shards)
        self._horizon = Horizon()
        self._reads = RowReads(link, statements, self._horizon)
        self._ranges = RangeReads(link, statements, self._reads)
        self._signals = Signals(link, statements, self._reads, prefix, self._stores.forget)
        self._workshop = Workshop(
            link,
            statements,
            stores=self._stores,
            reads=self._reads,
            ranges=self._ranges,
            horizon=self._horizon,
            signals=self._signals,
        )
        self._leases = Leases(link, statements, prefix)
        self._chores = Chores(link, statements, self._stores, self._reads, prefix)
        self._writers: dict[Place, ShardWriter] = {}
        self._poller: asyncio.Task[None] | None = None
        self._is_closed = False

    @classmethod
    def open(
        cls,
        access: Access,
        keyspace: str,
        demands: Demands,
        *,
        shards: int = DEFAULT_SHARDS,
        prefix: str = "",
    ) -> CassandraEngine:
        """Connect, check the cluster and create what is missing; waits, and is for the start."""
        session = connect(access)
        try:
            for attempt in range(_OPEN_ATTEMPTS_MAX):
                try:
                    check_nodes(session, keyspace, demands)
                    create_schema(session, keyspace, demands.replication_of(session))
                    statements = Statements(session, keyspace)
                    return cls(
                        DriverLink(session, Counts()), statements, shards=shards, prefix=prefix
                    )
                except DRIVER_FAILURES as error:
                    # A node may go down, or another process create the same tables, meanwhile.
                    if attempt == _OPEN_ATTEMPTS_MAX - 1:
                        raise EngineError(f"Cassandra cannot be set up: {error}") from error
                    time.sleep(_OPEN_PAUSE_SECONDS)
            raise AssertionError("unreachable")
        except BaseException:
            session.cluster.shutdown()
            raise

    def counter(self) -> int:
        self._begin()
        return self._signals.counter

    async def read(self, keys: Sequence[RowKey], consistency: int) -> list[bytes | None]:
        rows = await self._read_rows(keys, consistency)
        return [None if row is None else row[0] for row, _ in rows]

    async def read_together(self, keys: Sequence[RowKey]) -> list[bytes | None]:
        raise AssertionError("this engine has no snapshot reads")

    async def read_versions(self, keys: Sequence[RowKey]) -> list[tuple[bytes | None, int]]:
        rows = await self._read_rows(keys, STRONG)
        return [(None, head_of(view).deleted_at) if row is None else row for row, view in rows]

    async def range(
        self,
        store: str,
        shard: int,
        lower: bytes,
        upper: bytes,
        *,
        reverse: bool,
        rows_max: int,
        bytes_max: int,
        consistency: int,
    ) -> tuple[list[Row], bool]:
        self._begin()
        name = self._prefix + store
        number = await self._stores.number(name)
        if number is None:
            return [], True
        return await self._ranges.read(
            (space_of(name), shard),
            number,
            (lower, upper),
            reverse=reverse,
            rows_max=rows_max,
            bytes_max=bytes_max,
            consistency=consistency,
        )

    async def write(self, decision: Decision) -> object:
        self._begin()
        if self._prefix:
            decision = _Prefixed(decision, self._prefix)
        place = place_of(decision)
        writer = self._writers.get(place)
        if writer is None:
            writer = self._writers[place] = ShardWriter(place, self._workshop)
        try:
            changes = await writer.submit(decision)
        except StaleVersionError:
            # The caller has to look again, so the counter must have moved.
            self._signals.move_counter()
            raise
        if gone := set(changes.drops) - set(changes.creates):
            await self._stores.drop(gone)
        return changes.outcome

    async def merge(self, store: str, rows: Sequence[_Merged]) -> None:
        self._begin()
        name = self._prefix + store
        number = await self._stores.number(name)
        if number is None:
            raise EngineError(f"no store {store}")
        by_shard: dict[int, list[_Merged]] = {}
        for row in rows:
            by_shard.setdefault(row[0], []).append(row)
        await asyncio.gather(
            *(
                self._merge(space_of(name), number, chunk)
                for shard_rows in by_shard.values()
                for chunk in _chunks(shard_rows)
            )
        )

    async def _merge(self, space: str, number: int, rows: Sequence[_Merged]) -> None:
        await self._stores.note_shard(space, rows[0][0])
        statements = self._statements
        batch = [
            statements.merge_delete.bind((version, space, shard, number, key))
            if value is None
            else statements.merge_put.bind((space, shard, number, key, value, version))
            for shard, key, value, version in rows
        ]
        await self._link.read(self._link.batch(batch), QUORUM)

    async def fence(self, space: str, shards: int, version: int) -> None:
        await asyncio.gather(*(self.write(_Raise(space, n, version)) for n in range(shards)))

    async def tally(self, space: str, shards: int, name: str) -> tuple[int, int]:
        self._begin()
        number = await self._stores.number(self._prefix + name)
        if number is None:
            return 0, 0
        wanted = [(META_STORE, BOOKS_KEY)]
        places = [(self._prefix + space, shard) for shard in range(shards)]
        views = await asyncio.gather(*(self._reads.read(place, wanted, STRONG) for place in places))
        rows = size = 0
        for view in views:
            found = view.get(wanted[0])
            books = unpack_books(found[0] if found else None)
            tally = books.tallies.get(tally_name(self._prefix + name, number), (0, 0))
            rows += tally[0]
            size += tally[1]
        return rows, size

    async def tidy(self) -> bool:
        self._begin()
        return await self._chores.step()

    def appended(self, space: str) -> int:
        self._begin()
        return self._signals.mark(self._prefix + space)

    async def watch(self, space: str, seen: int, seconds: float) -> None:
        self._begin()
        await self._signals.wait(self._prefix + space, seen, seconds)

    async def lease(self, name: str, seconds: float) -> CassandraLease | None:
        self._begin()
        return await self._leases.take(name, seconds)

    def health(self) -> tuple[bool, dict[str, object]]:
        """Tell whether Cassandra has answered lately, and what was counted since the start."""
        self._begin()
        age = self._signals.silent_seconds()
        counts: dict[str, object] = {**self.counts.as_dict()}
        details = {"engine": "cassandra", "silent_seconds": round(age, 3), **counts}
        return age < _SILENT_SECONDS_MAX, details

    async def close(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        while tasks := [
            writer.task
            for writer in self._writers.values()
            if writer.task is not None and not writer.task.done()
        ]:
            await asyncio.gather(*tasks, return_exceptions=True)
        await self._leases.close()
        self._signals.stop()
        if self._poller is not None:
            self._poller.cancel()
            await asyncio.gather(self._poller, return_exceptions=True)
        await self._link.close()

    def _begin(self) -> None:
        """Start to listen to other processes, once there is an event loop."""
        if self._poller is None and not self._is_closed:
            self._poller = asyncio.get_running_loop().create_task(self._signals.run())

    async def _read_rows(
        self, keys: Sequence[RowKey], consistency: int
    ) -> list[tuple[tuple[bytes, int] | None, View]]:
        """Return rows with the step that wrote them, and the view each was found in."""
        self._begin()
        places: dict[Place, list[Address]] = {}
        found: list[tuple[Place, Address] | None] = []
        for store, shard, key in keys:
            name = self._prefix + store
            number = self._stores.known(name)
            if number is None:
                number = await self._stores.number(name)
            if number is None:
                found.append(None)
                continue
            place, address = (space_of(name), shard), (number, key)
            places.setdefault(place, []).append(address)
            found.append((place, address))
        if len(places) == 1:
            [(place, addresses)] = places.items()
            views = {place: await self._reads.read(place, addresses, consistency)}
        else:
            answers = await asyncio.gather(
                *(self._reads.read(*each, consistency) for each in places.items())
            )
            views = dict(zip(places, answers, strict=True))
        return [
            (None, {}) if each is None else (views[each[0]].get(each[1]), views[each[0]])
            for each in found
        ]


@final
class _Prefixed:
    """A decision whose stores have names with a prefix in Cassandra."""

    __slots__ = ("_decision", "_prefix", "fences", "keys")

    def __init__(self, decision: Decision, prefix: str) -> None:
        self._decision = decision
        self._prefix = prefix
        self.fences: Sequence[Fence] = [(prefix + space, n) for space, n in decision.fences]
        self.keys: Sequence[RowKey] = [(prefix + key[0], *key[1:]) for key in decision.keys]

    def decide(self, rows: Sequence[bytes | None]) -> Changes:
        plain, prefix = self._decision.decide(rows), self._prefix
        changes = Changes(plain.outcome)
        changes.puts = [(prefix + put[0], *put[1:]) for put in plain.puts]
        changes.deletes = [(prefix + key[0], *key[1:]) for key in plain.deletes]
        changes.appends = [(prefix + row[0], *row[1:]) for row in plain.appends]
        changes.tallies = [(prefix + tally[0], *tally[1:]) for tally in plain.tallies]
        changes.creates = [prefix + name for name in plain.creates]
        changes.drops = [prefix + name for name in plain.drops]
        changes.fences = [(prefix + space, version) for space, version in plain.fences]
        changes.is_announced = plain.is_announced
        return changes


def _chunks(rows: Sequence[_Merged]) -> list[list[_Merged]]:
    """Cut rows into batches of bounded count and size."""
    chunks: list[list[_Merged]] = [[]]
    size = 0
    for row in rows:
        size += len(row[2] or b"")
        if len(chunks[-1]) >= _MERGED_TOGETHER_MAX or (size > _MERGED_BYTES_MAX and chunks[-1]):
            chunks.append([])
            size = len(row[2] or b"")
        chunks[-1].append(row)
    return chunks


__all__ = ["DEFAULT_SHARDS", "Access", "CassandraEngine", "Demands"]
