"""An in-memory engine with the weak guarantees and the failures of a cluster.

Each shard of each space is a replica group of its own: it changes by compare-and-set, and nothing
changes together with it. Calls are delayed and overtake each other, writes conflict and are decided
again, answers get lost, eventual reads are stale, and leases are lost. Lost answers are settled by
the ids of recent writes, as an engine on a network has to. Everything that goes wrong comes from a
seeded plan (see `faults`). A decision that reaches beyond one shard is a bug of the layer above,
hence an AssertionError.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence
from time import monotonic
from typing import Final, final

from hashrange.engine.base import (
    EVENTUAL,
    Capabilities,
    Changes,
    Decision,
    Row,
    RowKey,
    space_of,
)
from hashrange.engine.counts import Counts
from hashrange.engine.memory.faults import Answer, FaultPlan
from hashrange.engine.memory.shard import Shard, Step
from hashrange.errors import ConflictError, EngineError, StaleVersionError, UnknownOutcomeError

DEFAULT_SHARDS: Final = 4

_ATTEMPTS_MAX: Final = 500
_Place = tuple[str, int]


@final
class ClusterLease:
    """A lease of the cluster engine; a holder that lost it may not have noticed."""

    def __init__(self, engine: ClusterMemoryEngine, name: str) -> None:
        self.is_held = True
        self._engine = engine
        self._name = name

    async def release(self) -> None:
        self.is_held = False
        self._engine.give_back(self._name, self)


@final
class ClusterMemoryEngine:
    """Shards in memory that change one at a time."""

    def __init__(self, plan: FaultPlan | None = None, shards: int = DEFAULT_SHARDS) -> None:
        self.capabilities = Capabilities(
            atomic_across_shards=False,
            indexes_in_step=False,
            snapshot_reads=False,
            local_files=False,
            shards=shards,
        )
        self.counts = Counts()
        self._plan = plan or FaultPlan()
        self._stores: set[str] = set()
        self._shards: dict[_Place, Shard] = {}
        self._counter = 0
        self._announced = 0
        self._write_ids = itertools.count(1)
        self._appended: dict[str, int] = {}
        self._watchers: dict[str, list[asyncio.Event]] = {}
        self._under_way = 0
        self._leases: dict[str, ClusterLease] = {}

    def counter(self) -> int:
        if self._counter != self._announced and not self._plan.is_counter_late():
            self._counter = self._announced
        return self._counter

    async def read(self, keys: Sequence[RowKey], consistency: int) -> list[bytes | None]:
        rows: list[bytes | None] = [None] * len(keys)
        for position in self._plan.shuffled(len(keys)):
            await self._delay()
            store, shard, key = keys[position]
            steps_back = self._plan.stale_steps(store) if consistency == EVENTUAL else 0
            rows[position] = self._settled((space_of(store), shard)).get(store, key, steps_back)
        return rows

    async def read_together(self, keys: Sequence[RowKey]) -> list[bytes | None]:
        raise AssertionError("this engine has no snapshot reads")

    async def read_versions(self, keys: Sequence[RowKey]) -> list[tuple[bytes | None, int]]:
        rows: list[tuple[bytes | None, int]] = [(None, 0)] * len(keys)
        for position in self._plan.shuffled(len(keys)):
            await self._delay()
            store, number, key = keys[position]
            shard = self._settled((space_of(store), number))
            rows[position] = (shard.get(store, key), shard.mark(store, key))
        return rows

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
        await self._delay()
        steps_back = self._plan.stale_steps(store) if consistency == EVENTUAL else 0
        found = self._settled((space_of(store), shard))
        page: list[Row] = []
        for row in found.rows(store, lower, upper, reverse=reverse, steps_back=steps_back):
            page.append(row)
            bytes_max -= len(row[1])
            if len(page) >= rows_max or bytes_max <= 0:
                return page, False
        return page, True

    async def write(self, decision: Decision) -> object:
        place = _place_of(decision.keys)
        self._under_way += 1
        try:
            for _ in range(_ATTEMPTS_MAX):
                await self._delay()
                shard = self._settled(place)
                step = Step(shard.step, self._decide(decision, shard), next(self._write_ids))
                self._stores.update(step.changes.creates)
                self._check(step.changes, place)
                step.note_versions(place[0], decision.fences)
                await self._delay()
                began = monotonic()
                if await self._commit(place, step):
                    self.counts.note_step(place[0], 1, monotonic() - began)
                    self._drop(step.changes)
                    return step.changes.outcome
                self.counts.note_conflict(place[0])
        finally:
            self._under_way -= 1
        raise ConflictError(f"gave up on shard {place} after {_ATTEMPTS_MAX} attempts")

    async def merge(self, store: str, rows: Sequence[tuple[int, bytes, bytes | None, int]]) -> None:
        for position in self._plan.shuffled(len(rows)):
            await self._delay()
            if store not in self._stores:
                raise EngineError(f"no store {store}")
            number, key, value, version = rows[position]
            self._settled((space_of(store), number)).merge(store, key, value, version)

    async def fence(self, space: str, shards: int, version: int) -> None:
        for number in self._plan.shuffled(shards):
            await self._delay()
            shard = self._settled((space, number))
            shard.version = max(shard.version, version)
            # A write that was decided before must be decided again.
            shard.step += 1

    async def tally(self, space: str, shards: int, name: str) -> tuple[int, int]:
        rows = size = 0
        for number in range(shards):
            await self._delay()
            tally = self._settled((space, number)).tallies.get(name, (0, 0))
            rows += tally[0]
            size += tally[1]
        return rows, size

    async def tidy(self) -> bool:
        return False

    def appended(self, space: str) -> int:
        return self._appended.get(space, 0)

    async def watch(self, space: str, seen: int, seconds: float) -> None:
        if self.appended(space) != seen:
            return
        event = asyncio.Event()
        waiting = self._watchers.setdefault(space, [])
        waiting.append(event)
        try:
            await asyncio.wait_for(event.wait(), seconds)
        except TimeoutError:
            pass
        finally:
            waiting.remove(event)

    async def lease(self, name: str, seconds: float) -> ClusterLease | None:
        await self._delay()
        holder = self._leases.get(name)
        if holder is not None and not self._plan.is_lease_lost():
            return None
        lease = self._leases[name] = ClusterLease(self, name)
        return lease

    def stores(self) -> list[str]:
        """Return the names of all stores there are."""
        return sorted(self._stores)

    def holder(self, name: str) -> ClusterLease | None:
        """Return the valid lease of a name, if there is one."""
        return self._leases.get(name)

    def give_back(self, name: str, lease: ClusterLease) -> None:
        """Release a name, unless another holder has taken it."""
        if self._leases.get(name) is lease:
            del self._leases[name]

    async def close(self) -> None:
        """Finish what is under way; what is stored stays, for tests to look at."""
        while self._under_way:
            await asyncio.sleep(0)
        for lease in list(self._leases.values()):
            await lease.release()

    async def _delay(self) -> None:
        for _ in range(self._plan.delay_turns()):
            await asyncio.sleep(0)

    def _shard(self, place: _Place) -> Shard:
        shard = self._shards.get(place)
        if shard is None:
            shard = self._shards[place] = Shard()
        return shard

    def _settled(self, place: _Place) -> Shard:
        """Return a shard for a strong operation, which settles what was pending there."""
        shard = self._shard(place)
        if shard.pending is not None:
            step, shard.pending = shard.pending, None
            if shard.step == step.expected and self._plan.is_pending_applied():
                self._apply(place, step)
        return shard

    def _decide(self, decision: Decision, shard: Shard) -> Changes:
        for space, version in decision.fences:
            assert space == space_of(decision.keys[0][0]), f"fence of another space, {space}"
            if version < shard.version:
                # Whoever is refused has to look again, so the counter must have moved.
                self._counter = self._announced
                raise StaleVersionError(f"built on version {version}, now {shard.version}")
        rows = [shard.get(store, key) for store, _, key in decision.keys]
        changes = decision.decide(rows)
        if self._plan.is_repeated():
            changes = _same_changes(changes, decision.decide(rows))
        return changes

    def _check(self, changes: Changes, place: _Place) -> None:
        """Refuse changes of absent stores, and changes in other shards."""
        for store, number, *_ in itertools.chain(changes.puts, changes.appends):
            assert (space_of(store), number) == place, f"{store} is not in shard {place}"
            if store not in self._stores or store in _gone(changes):
                raise EngineError(f"no store {store}")
        for store, number, _ in changes.deletes:
            assert (space_of(store), number) == place, f"{store} is not in shard {place}"
        for store, _, _ in changes.tallies:
            if store not in self._stores:
                raise EngineError(f"no store {store}")

    async def _commit(self, place: _Place, step: Step) -> bool:
        """Try to carry out a step; tell whether that succeeded."""
        if self._settled(place).step != step.expected:
            return False
        answer = self._plan.answer()
        if answer is Answer.CONFLICT:
            return False
        if answer in (Answer.APPLIED, Answer.LOST_ANSWER):
            self._apply(place, step)
        elif answer is Answer.PENDING:
            self._shard(place).pending = step
        if answer is Answer.APPLIED:
            await self._delay()
            return True
        self.counts.unanswered += 1
        await self._delay()
        applied = None
        if not self._plan.is_unsettled():
            applied = self._settled(place).was_applied(step)
        if applied is None:
            self.counts.unsettled += 1
            raise UnknownOutcomeError("no answer, and nobody can tell what happened")
        self.counts.settled_applied += applied
        self.counts.settled_not_applied += not applied
        return applied

    def _apply(self, place: _Place, step: Step) -> None:
        changes = step.changes
        for store in set(changes.drops) & set(changes.creates):
            self._empty(store)
        appended = self._shard(place).apply(step)
        space = place[0]
        if changes.is_announced:
            self._announced += 1
        if appended:
            self._appended[space] = self._appended.get(space, 0) + appended
            for event in self._watchers.get(space, ()):
                event.set()

    def _drop(self, changes: Changes) -> None:
        for store in _gone(changes):
            self._stores.discard(store)
            self._empty(store)

    def _empty(self, store: str) -> None:
        for shard in self._shards.values():
            shard.drop(store)


def _gone(changes: Changes) -> set[str]:
    """Return the stores that are not there any more after a step."""
    return set(changes.drops) - set(changes.creates)


def _place_of(keys: Sequence[RowKey]) -> _Place:
    """Return the one shard that a decision's rows lie in."""
    places = {(space_of(store), shard) for store, shard, _ in keys}
    assert len(places) == 1, f"a decision on {len(places)} shards: {sorted(places)}"
    return places.pop()


def _same_changes(first: Changes, second: Changes) -> Changes:
    for name in Changes.__slots__:
        # Outcomes are free to be objects without equality.
        if name != "outcome" and getattr(first, name) != getattr(second, name):
            raise AssertionError(f"decide is not pure: {name} differ between two calls")
    return second
