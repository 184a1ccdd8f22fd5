"""The reference engine: every store a dictionary and the sorted list of its keys.

Obviously right, so it is the oracle for the other engines, and quick to make, so it is what
in-memory servers and in-process tests run on. Nothing awaits unless faults are injected, so each
call is one atomic step of the event loop.

Given a source of faults it also behaves like an engine on a network: it refuses with a conflict,
loses an answer before or after applying the write, yields to other tasks in mid-call, and calls
`decide` twice, checking that both answers are the same.
"""

from __future__ import annotations

import asyncio
import enum
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol, final

from sortedcontainers import SortedList

from hashrange.engine.base import SEQUENCE_BYTES, Changes, Decision, Row, StoreKey
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
    __slots__ = ("bytes_tally", "order", "rows", "rows_tally")

    def __init__(self) -> None:
        self.rows: dict[bytes, bytes] = {}
        self.order: SortedList[bytes] = SortedList()
        self.rows_tally = 0
        self.bytes_tally = 0


@final
class MemoryEngine:
    """Stores in memory, gone when the engine is."""

    def __init__(self, faults: Faults | None = None) -> None:
        self._stores: dict[str, _Store] = {}
        self._epoch = 0
        self._sequence = 0
        self._faults = faults

    def epoch(self) -> int:
        return self._epoch

    def sequence(self) -> int:
        return self._sequence

    def note_clients(self, count: int) -> None:
        """Do nothing: no write waits for another here."""

    async def read(self, keys: Sequence[StoreKey]) -> list[bytes | None]:
        if self._faults is not None:
            await _delay_if(self._faults.for_read())
        return self._rows(keys)

    async def range(
        self,
        store: str,
        lower: bytes,
        upper: bytes,
        *,
        reverse: bool,
        rows_max: int,
        bytes_max: int,
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

    async def tally(self, store: str) -> tuple[int, int]:
        found = self._stores.get(store)
        return (0, 0) if found is None else (found.rows_tally, found.bytes_tally)

    async def close(self) -> None:
        self._stores = {}

    def _rows(self, keys: Sequence[StoreKey]) -> list[bytes | None]:
        stores = self._stores
        rows: list[bytes | None] = []
        for store, key in keys:
            found = stores.get(store)
            rows.append(None if found is None else found.rows.get(key))
        return rows

    def _decide(self, decision: Decision) -> Changes:
        epoch = decision.epoch
        if epoch != self._epoch and epoch >= 0:
            raise StaleVersionError(f"built on epoch {epoch}, now {self._epoch}")
        return decision.decide(self._rows(decision.keys))

    def _apply(self, changes: Changes) -> object:
        stores = self._stores
        if changes.drops or changes.creates:
            stores = _stores_after(stores, changes)
        for store, _, _ in changes.puts:
            if store not in stores:
                raise EngineError(f"no store {store}")
        for store, _, _ in changes.appends:
            if store not in stores:
                raise EngineError(f"no store {store}")
        for store, _, _ in changes.tallies:
            if store not in stores:
                raise EngineError(f"no store {store}")
        self._stores = stores
        for store, key in changes.deletes:
            found = stores.get(store)
            if found is not None and found.rows.pop(key, None) is not None:
                found.order.remove(key)
        for store, key, value in changes.puts:
            found = stores[store]
            if key not in found.rows:
                found.order.add(key)
            found.rows[key] = value
        for store, prefix, value in changes.appends:
            self._sequence += 1
            key = prefix + self._sequence.to_bytes(SEQUENCE_BYTES, "big")
            stores[store].order.add(key)
            stores[store].rows[key] = value
        for store, rows, size in changes.tallies:
            stores[store].rows_tally += rows
            stores[store].bytes_tally += size
        self._epoch += changes.epoch_step
        return changes.outcome

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
