"""Group commit of one shard: decisions that wait become one step, one conditional batch.

The rows that the decisions name are read with head and books of the shard, in one statement at a
quorum; the step is built in memory; the batch carries all its rows and applies only if the head
is still at the step that was read. A view that is out of date costs another round, never a wrong
result. Outcomes that change nothing are confirmed by a round of Paxos on the head.

A batch without an answer may be carried out later, as long as the head does not move. So the same
batch, with the same write id, is sent again until the head has moved; then the ids in the books
tell whether it was this batch that moved it.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections import deque
from time import monotonic
from typing import Any, Final, final

from hashrange.engine.base import Changes, Decision, space_of
from hashrange.engine.cassandra.link import Link, NoAnswer
from hashrange.engine.cassandra.range_reads import RangeReads
from hashrange.engine.cassandra.row_reads import Horizon, RowReads, head_of
from hashrange.engine.cassandra.schema import Statements
from hashrange.engine.cassandra.session import CONDITIONAL, SERIAL
from hashrange.engine.cassandra.shard_state import (
    BOOKS_KEY,
    HEAD_KEY,
    META_STORE,
    unpack_books,
    was_applied,
)
from hashrange.engine.cassandra.signals import Signals
from hashrange.engine.cassandra.steps import Address, Place, Step, View, build_step
from hashrange.engine.cassandra.stores import Stores
from hashrange.errors import ConflictError, EngineError, UnknownOutcomeError

DECISIONS_MAX: Final = 64
"""How many decisions one step takes; their rows are read in one statement."""

_ROUNDS_MAX: Final = 200
_LOOK_UPS_MAX: Final = 20
_WRITE_ID_BYTES: Final = 8
_SETTLE_SECONDS_MAX: Final = 20.0
_PAUSE_SECONDS: Final = 0.05
_BACK_OFF_SECONDS: Final = 0.002
_BACK_OFF_SECONDS_MAX: Final = 0.2
# How many rows may have been deleted from a store before its floor is raised.
_DELETED_MAX: Final = 200
_META: Final = ((META_STORE, HEAD_KEY), (META_STORE, BOOKS_KEY))


@final
class Ticket:
    """A decision that waits for its step."""

    __slots__ = ("decision", "future", "is_remade")

    def __init__(self, decision: Decision) -> None:
        self.decision = decision
        self.future: asyncio.Future[Changes] = asyncio.get_running_loop().create_future()
        # Whether the stores that it drops and makes again were made again.
        self.is_remade = False


@final
class Workshop:
    """What the writers of all shards share."""

    def __init__(
        self,
        link: Link,
        statements: Statements,
        *,
        stores: Stores,
        reads: RowReads,
        ranges: RangeReads,
        horizon: Horizon,
        signals: Signals,
    ) -> None:
        self.link = link
        self.statements = statements
        self.stores = stores
        self.reads = reads
        self.ranges = ranges
        self.horizon = horizon
        self.signals = signals


@final
class ShardWriter:
    """The writes of this process to one shard, one step after another."""

    def __init__(self, place: Place, workshop: Workshop) -> None:
        self._place = place
        self._workshop = workshop
        self._waiting: deque[Ticket] = deque()
        # Rows that this process deleted from a store since its floor was raised; the last of them.
        self._deleted: dict[int, tuple[int, bytes]] = {}
        self.task: asyncio.Task[None] | None = None

    def submit(self, decision: Decision) -> asyncio.Future[Changes]:
        """Queue a decision; the future gets its changes once they are durable."""
        ticket = Ticket(decision)
        self._waiting.append(ticket)
        if self.task is None or self.task.done():
            self.task = asyncio.create_task(self._run())
        return ticket.future

    async def _run(self) -> None:
        # Let the requests of this turn of the event loop join the first step.
        await asyncio.sleep(0)
        while self._waiting:
            count = min(len(self._waiting), DECISIONS_MAX)
            tickets = [self._waiting.popleft() for _ in range(count)]
            try:
                await self._commit(tickets)
            except Exception as error:  # noqa: BLE001 - it belongs to those who wait
                for ticket in tickets:
                    if not ticket.future.done():
                        ticket.future.set_exception(error)

    async def _commit(self, tickets: list[Ticket]) -> None:
        """Take decisions through as many rounds as it needs."""
        for round_number in range(_ROUNDS_MAX):
            step = await self._build(tickets)
            done = tickets[: len(step.answers)]
            if not step.is_changed:
                head = await self._workshop.reads.settle(self._place)
                is_done = head.step == step.expected
            else:
                is_done = await self._apply(step)
            if is_done:
                for ticket, answer in zip(done, step.answers, strict=True):
                    _deliver(ticket, answer.changes, answer.error)
                self._waiting.extendleft(reversed(tickets[len(done) :]))
                return
            self._workshop.link.counts.note_conflict(self._place[0])
            pause = min(_BACK_OFF_SECONDS * 2**round_number, _BACK_OFF_SECONDS_MAX)
            await asyncio.sleep(random.uniform(0, pause))
        raise ConflictError(f"gave up on shard {self._place} after {_ROUNDS_MAX} attempts")

    async def _build(self, tickets: list[Ticket]) -> Step:
        """Read what the decisions name and decide; look up or make the stores that it takes."""
        stores = self._workshop.stores
        decisions = [ticket.decision for ticket in tickets]
        versions = [version for decision in decisions for _, version in decision.fences]
        await stores.refresh(self._place[0], max(versions, default=0))
        # The numbers that the view was read under: others may have this process forget lists.
        numbers: dict[str, int] = {}
        view = await self._view(decisions, numbers)
        read = {key[0] for decision in decisions for key in decision.keys}

        def number_of(name: str) -> int | None:
            # What was not read has no rows, whatever became known of its store since.
            return numbers.get(name) or (None if name in read else stores.known(name))

        absent: set[str] = set()
        for _ in range(_LOOK_UPS_MAX):
            step = build_step(self._place, view, decisions, number_of, absent)
            if not step.missing and not step.creates:
                remade = await self._remake(tickets, step)
                if not remade:
                    return step
                for name in remade:
                    numbers.pop(name, None)
                continue
            if step.creates:
                await stores.create(step.creates)
            if await self._look_up(step.missing | step.creates, numbers, absent) & read:
                view = await self._view(decisions, numbers)
        raise EngineError(f"the stores of {self._place[0]} do not come to rest")

    async def _look_up(
        self, names: set[str], numbers: dict[str, int], absent: set[str]
    ) -> set[str]:
        """Look up the numbers of stores; return the names of those that exist."""
        for name in names:
            number = await self._workshop.stores.number(name)
            if number is None:
                absent.add(name)
            else:
                numbers[name] = number
        return names & numbers.keys()

    async def _remake(self, tickets: list[Ticket], step: Step) -> set[str]:
        """Empty the stores that a decision drops and makes again; return their names."""
        found: set[str] = set()
        for ticket, answer in zip(tickets, step.answers, strict=False):
            if answer.changes is None or ticket.is_remade:
                continue
            if both := set(answer.changes.drops) & set(answer.changes.creates):
                found |= both
                ticket.is_remade = True
                await self._workshop.stores.drop(both)
                await self._workshop.stores.create(both)
        return found

    async def _view(self, decisions: list[Decision], numbers: dict[str, int]) -> View:
        """Read what the decisions name; note the numbers of the stores it was read from."""
        stores, wanted = self._workshop.stores, set[Address](_META)
        for decision in decisions:
            for name, _, key in decision.keys:
                number = numbers.get(name) or stores.known(name) or await stores.number(name)
                if number is not None:
                    numbers[name] = number
                    wanted.add((number, key))
        return await self._workshop.reads.whole_view(self._place, wanted)

    async def _apply(self, step: Step) -> bool:
        """Carry out a step; tell whether it was applied."""
        workshop, counts = self._workshop, self._workshop.link.counts
        if step.expected == 0:
            await workshop.stores.note_shard(*self._place)
        if step.announced:
            await workshop.signals.register(self._place)
        if step.appended:
            workshop.signals.tell_appended(self._place[0])
        await self._raise_floors(step)
        write_id = os.urandom(_WRITE_ID_BYTES)
        step.finish(write_id, workshop.stores.is_gone)
        batch = workshop.link.batch(batch_of(step, workshop.statements))
        began = monotonic()
        if not await self._send(batch, step, write_id):
            return False
        counts.note_step(self._place[0], len(step.answers), monotonic() - began)
        self._count_deleted(step)
        workshop.ranges.note_floors(self._place, step.books)
        workshop.horizon.note(self._place, step.head.step)
        workshop.signals.note(self._place, step.appended, step.announced)
        return True

    async def _raise_floors(self, step: Step) -> None:
        """Raise the floors of stores from which much was deleted.

        Nothing is before the key that is found now, and nothing was when the step was built, if
        the head is still where it was: otherwise the step is refused.
        """
        for store, (count, last) in self._deleted.items():
            if count >= _DELETED_MAX:
                floor = step.books.floors.get(store, b"")
                first = await self._workshop.ranges.first_key(self._place, store, floor)
                step.raise_floor(store, last + b"\x00" if first is None else first)

    def _count_deleted(self, step: Step) -> None:
        """Count what a step has deleted, from zero where it raised the floor."""
        for store, (count, _) in list(self._deleted.items()):
            if count >= _DELETED_MAX:
                self._workshop.link.counts.floors_raised += 1
                del self._deleted[store]
        for (store, key), value in step.rows.items():
            if value is None:
                count, last = self._deleted.get(store, (0, b""))
                self._deleted[store] = (count + 1, max(last, key))

    async def _send(self, batch: Any, step: Step, write_id: bytes) -> bool:
        """Send a batch until it is known whether it was applied."""
        counts = self._workshop.link.counts
        deadline = monotonic() + _SETTLE_SECONDS_MAX
        is_unsure = False
        while True:
            try:
                [answer] = await self._workshop.link.ask(batch, CONDITIONAL)
            except NoAnswer:
                counts.unanswered += 1
                is_unsure = True
            else:
                if answer[0]:
                    return True
                if not is_unsure:
                    return False
            applied = await self._settle(step, write_id, deadline)
            if applied is not None:
                counts.settled_applied += applied
                counts.settled_not_applied += not applied
                return applied
            if monotonic() > deadline:
                counts.unsettled += 1
                raise UnknownOutcomeError("Cassandra does not tell whether it was written")

    async def _settle(self, step: Step, write_id: bytes, deadline: float) -> bool | None:
        """Tell whether a batch was applied; None if it still may be."""
        workshop = self._workshop
        while True:
            try:
                view = await workshop.reads.view(self._place, set(_META), SERIAL)
                break
            except EngineError as error:
                if monotonic() > deadline:
                    workshop.link.counts.unsettled += 1
                    raise UnknownOutcomeError("Cassandra does not answer") from error
                await asyncio.sleep(_PAUSE_SECONDS)
        head, books = head_of(view), view.get(_META[1])
        workshop.horizon.note(self._place, head.step)
        if head.step == step.expected:
            return None
        ids = unpack_books(books[0] if books else None).write_ids
        applied = was_applied(head.step, ids, step.expected, write_id)
        if applied is None:
            workshop.link.counts.unsettled += 1
            raise UnknownOutcomeError("the write id is older than those kept")
        return applied


def _deliver(ticket: Ticket, changes: Changes | None, error: Exception | None) -> None:
    if ticket.future.done():
        return
    if changes is not None:
        ticket.future.set_result(changes)
    else:
        assert error is not None
        ticket.future.set_exception(error)


def batch_of(step: Step, statements: Statements) -> list[Any]:
    """Return the statements that carry out a step if the shard is where it was."""
    place, n = step.place, step.head.step
    moved = (step.head.pack(), n, *place, step.expected or None)
    books = (*place, META_STORE, BOOKS_KEY, step.books.pack(), n)
    batch = [statements.move_head.bind(moved), statements.put.bind(books)]
    for (store, key), value in step.rows.items():
        if value is None:
            batch.append(statements.delete.bind((*place, store, key)))
        else:
            batch.append(statements.put.bind((*place, store, key, value, n)))
    return batch


def place_of(decision: Decision) -> Place:
    """Return the one shard that a decision's rows lie in."""
    places = {(space_of(store), shard) for store, shard, _ in decision.keys}
    assert len(places) == 1, f"a decision on {len(places)} shards: {sorted(places)}"
    return places.pop()
