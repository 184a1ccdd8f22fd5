"""The reference engine: every store a dictionary and the sorted list of its keys.

It is simple, so tests compare the other engines with it. It starts quickly, so in-memory servers
and in-process tests use it. Nothing awaits unless faults are injected, so each call is one atomic
step of the event loop.

Given a source of faults it also behaves like an engine on a network: it refuses with a conflict,
loses an answer before or after applying the write, yields to other tasks in mid-call, and calls
`decide` twice, checking that both answers are the same.
"""

from __future__ import annotations

import asyncio
import contextlib
import enum
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol, final

from sortedcontainers import SortedList

from hashrange.engine.base import (
    SEQUENCE_BYTES,
    Capabilities,
    Changes,
    Decision,
    Lease,
    Row,
    RowKey,
    space_of,
)
from hashrange.errors import ConflictError, EngineError, StaleVersionError, UnknownOutcomeError

DELAY_TURNS = 3
"""How many turns of the event loop a delayed call lets pass."""


class Fault(enum.Enum):
    """What can go wrong in one call; reads know only DELAY."""

    CONFLICT = "refused with ConflictError, not applied"
    UNKNOWN_LOST = "UnknownOutcomeError, not applied"
    UNKNOWN_APPLIED = "UnknownOutcomeError, applied"
    DELAY = "other tasks run before and after the step"
    REPEAT = "decide is called twice"


class Faults(Protocol):
    """A source of faults, asked once per call."""

    def for_read(self) -> Fault | None: ...

    def for_write(self) -> Fault | None: ...


@final
class PlannedFaults:
    """Faults in the order given, then none; an endless iterable never runs out."""

    def __init__(
        self, writes: Iterable[Fault | None] = (), reads: Iterable[Fault | None] = ()
    ) -> None:
        self._writes: Iterator[Fault | None] = iter(writes)
        self._reads: Iterator[Fault | None] = iter(reads)

    def for_read(self) -> Fault | None:
        return next(self._reads, None)

    def for_write(self) -> Fault | None:
        return next(self._writes, None)


@final
class _Store:
    __slots__ = ("order", "rows")

    def __init__(self) -> None:
        self.rows: dict[bytes, bytes] = {}
        self.order: SortedList[bytes] = SortedList()


@final
class _Space:
    """The state of a space besides its rows; it exists as long as one of its stores."""

    __slots__ = ("appended", "sequence", "version")

    def __init__(self) -> None:
        self.version = 0
        self.sequence = 0
        self.appended: asyncio.Event | None = None  # set while a task waits for it


@final
class _MemoryLease:
    def __init__(self) -> None:
        self.is_held = True

    async def release(self) -> None:
        self.is_held = False


@final
class MemoryEngine:
    """Stores in memory, gone when the engine is. Every space has one shard."""

    capabilities = Capabilities(
        atomic_across_shards=True, indexes_in_step=True, snapshot_reads=True, local_files=False
    )

    def __init__(self, faults: Faults | None = None) -> None:
        self._stores: dict[str, _Store] = {}
        self._spaces: dict[str, _Space] = {}
        self._tallies: dict[str, list[int]] = {}
        self._leases: dict[str, _MemoryLease] = {}
        self._counter = 0
        self._faults = faults

    def counter(self) -> int:
        return self._counter

    async def read(self, keys: Sequence[RowKey], consistency: int) -> list[bytes | None]:
        if self._faults is not None:
            await _delay_if(self._faults.for_read())
        return self._rows(keys)

    async def read_together(self, keys: Sequence[RowKey]) -> list[bytes | None]:
        if self._faults is not None:
            await _delay_if(self._faults.for_read())
        return self._rows(keys)

    async def read_versions(self, keys: Sequence[RowKey]) -> list[tuple[bytes | None, int]]:
        raise EngineError("an engine with snapshot_reads keeps no versions of rows")

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
        if self._faults is not None:
            await _delay_if(self._faults.for_read())
        found = self._stores.get(store)
        page: list[Row] = []
        if found is None:
            return page, True
        rows = found.rows
        for key in found.order.irange(lower, upper, inclusive=(True, False), reverse=reverse):
            value = rows[key]
            page.append((key, value))
            bytes_max -= len(value)
            if len(page) >= rows_max or bytes_max <= 0:
                return page, False
        return page, True

    async def write(self, decision: Decision) -> object:
        if self._faults is not None:
            return await self._write_with_fault(decision, self._faults.for_write())
        return self._apply(self._decide(decision))

    async def merge(self, store: str, rows: Sequence[tuple[int, bytes, bytes | None, int]]) -> None:
        raise EngineError("an engine with indexes_in_step has no use for merged rows")

    async def fence(self, space: str, shards: int, version: int) -> None:
        """Do nothing: changes raise versions everywhere in their own step."""

    async def tally(self, space: str, shards: int, name: str) -> tuple[int, int]:
        rows, size = self._tallies.get(name, (0, 0))
        return rows, size

    async def tidy(self) -> bool:
        return False

    def appended(self, space: str) -> int:
        found = self._spaces.get(space)
        return 0 if found is None else found.sequence

    async def watch(self, space: str, seen: int, seconds: float) -> None:
        found = self._spaces.get(space)
        if found is None:
            await asyncio.sleep(seconds)
        elif found.sequence == seen:
            found.appended = found.appended or asyncio.Event()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await found.appended.wait()

    async def lease(self, name: str, seconds: float) -> Lease | None:
        held = self._leases.get(name)
        if held is not None and held.is_held:
            return None
        lease = self._leases[name] = _MemoryLease()
        return lease

    async def close(self) -> None:
        for lease in self._leases.values():
            await lease.release()
        self._stores = {}

    def _rows(self, keys: Sequence[RowKey]) -> list[bytes | None]:
        stores = self._stores
        rows: list[bytes | None] = []
        for store, _, key in keys:
            found = stores.get(store)
            rows.append(None if found is None else found.rows.get(key))
        return rows

    def _decide(self, decision: Decision) -> Changes:
        for space, version in decision.fences:
            found = self._spaces.get(space)
            if found is None or found.version > version:
                raise StaleVersionError(f"built on version {version} of {space}")
        changes = decision.decide(self._rows(decision.keys))
        for space, version in decision.fences:
            if self._spaces[space].version < version:
                changes.fences.append((space, version))
        return changes

    def _apply(self, changes: Changes) -> object:
        stores = self._stores
        if changes.drops or changes.creates:
            stores = _stores_after(stores, changes)
        self._check_stores(stores, changes)
        if stores is not self._stores:
            self._keep_stores(stores)
        for store, _, key in changes.deletes:
            found = stores.get(store)
            if found is not None and found.rows.pop(key, None) is not None:
                found.order.remove(key)
        for store, _, key, value in changes.puts:
            found = stores[store]
            if key not in found.rows:
                found.order.add(key)
            found.rows[key] = value
        for store, _, prefix, value in changes.appends:
            self._append(store, prefix, value)
        for name, rows, size in changes.tallies:
            tally = self._tallies[name]
            tally[0] += rows
            tally[1] += size
        for space, version in changes.fences:
            found_space = self._spaces.get(space)
            if found_space is not None and found_space.version < version:
                found_space.version = version
        self._counter += changes.is_announced
        return changes.outcome

    def _check_stores(self, stores: dict[str, _Store], changes: Changes) -> None:
        for store, _, _, _ in changes.puts:
            if store not in stores:
                raise EngineError(f"no store {store}")
        for store, _, _, _ in changes.appends:
            if store not in stores:
                raise EngineError(f"no store {store}")
        for store, _, _ in changes.tallies:
            if store not in stores:
                raise EngineError(f"no store {store}")

    def _keep_stores(self, stores: dict[str, _Store]) -> None:
        """Take over a new set of stores, with what is kept beside them."""
        before = self._stores
        self._stores = stores
        for store in before.keys() | stores.keys():
            if before.get(store) is not stores.get(store):
                self._tallies.pop(store, None)
        for store in stores:
            self._tallies.setdefault(store, [0, 0])
        spaces = {space_of(store) for store in stores}
        self._spaces = {space: self._spaces.get(space) or _Space() for space in spaces}

    def _append(self, store: str, prefix: bytes, value: bytes) -> None:
        space = self._spaces[space_of(store)]
        space.sequence += 1
        key = prefix + space.sequence.to_bytes(SEQUENCE_BYTES, "big")
        self._stores[store].order.add(key)
        self._stores[store].rows[key] = value
        if space.appended is not None:
            space.appended.set()
            space.appended = None

    async def _write_with_fault(self, decision: Decision, fault: Fault | None) -> object:
        if fault is Fault.CONFLICT:
            raise ConflictError("injected conflict")
        if fault is Fault.UNKNOWN_LOST:
            raise UnknownOutcomeError("injected loss of the request")
        await _delay_if(fault)
        changes = self._decide(decision)
        if fault is Fault.REPEAT:
            changes = _same_changes(changes, self._decide(decision))
        outcome = self._apply(changes)
        if fault is Fault.UNKNOWN_APPLIED:
            raise UnknownOutcomeError("injected loss of the answer")
        await _delay_if(fault)
        return outcome


def _stores_after(stores: dict[str, _Store], changes: Changes) -> dict[str, _Store]:
    stores = dict(stores)
    for store in changes.drops:
        stores.pop(store, None)
    for store in changes.creates:
        if store not in stores:
            stores[store] = _Store()
    return stores


async def _delay_if(fault: Fault | None) -> None:
    if fault is Fault.DELAY:
        for _ in range(DELAY_TURNS):
            await asyncio.sleep(0)


def _same_changes(first: Changes, second: Changes) -> Changes:
    for name in Changes.__slots__:
        # Outcomes are free to be objects without equality.
        if name != "outcome" and getattr(first, name) != getattr(second, name):
            raise AssertionError(f"decide is not pure: {name} differ between two calls")
    return second
