"""Reads of rows by key: those of one shard that are asked for at once share a statement.

An eventual read asks one replica. A strong read asks a quorum, for the rows and the head of their
shard in one statement. A step is proposed only after the step before it has reached a quorum. So
whatever was written before the step that the head shows is at a quorum: every later read sees it
too. Only a row that was written in that very step, or may have been deleted in it, could still be
at a minority, where another reader may miss it. Then a read with LOCAL_SERIAL of the head follows,
after which the step is at a quorum. It is not needed if this process knows that already, because
it made the step or has looked before (`Horizon`).

Replicas answer one after the other, and steps may be made in between. A view is whole, that is
without gaps between the steps it shows, only if the step before its newest one was at a quorum when
the read began: see `whole`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeVar, final

from hashrange.engine.base import EVENTUAL
from hashrange.engine.cassandra.link import Link
from hashrange.engine.cassandra.schema import Statements
from hashrange.engine.cassandra.session import ONE, QUORUM, SERIAL
from hashrange.engine.cassandra.shard_state import HEAD_KEY, META_STORE, Head, unpack_head
from hashrange.engine.cassandra.steps import Address, Place, View
from hashrange.errors import EngineError

_T = TypeVar("_T")

KEYS_MAX: Final = 64
"""How many keys a statement of several reads asks for; items may have 400 kilobytes.

A single read is never cut, because its rows are promised to be of one moment.
"""

_FLIGHTS_MAX: Final = 2
_WHOLE_ATTEMPTS_MAX: Final = 50
_PLAIN_ATTEMPTS_MAX: Final = 2
_HEAD: Final = (META_STORE, HEAD_KEY)


@final
class Horizon:
    """The steps that this process knows to be at a quorum, by shard."""

    def __init__(self) -> None:
        self._steps: dict[Place, int] = {}

    def note(self, place: Place, step: int) -> None:
        """Take note that a step is at a quorum."""
        if step > self._steps.get(place, 0):
            self._steps[place] = step

    def step(self, place: Place) -> int:
        """Return the newest step that is known to be at a quorum."""
        return self._steps.get(place, 0)


@final
class _Lane:
    """The waiting reads of one shard with one consistency."""

    __slots__ = ("flights", "waiting")

    def __init__(self) -> None:
        self.flights = 0
        self.waiting: list[tuple[Sequence[Address], asyncio.Future[View]]] = []


@final
class RowReads:
    """Reads by key, gathered."""

    def __init__(self, link: Link, statements: Statements, horizon: Horizon) -> None:
        self._link = link
        self._statements = statements
        self._horizon = horizon
        self._lanes: dict[tuple[Place, int], _Lane] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def read(self, place: Place, addresses: Sequence[Address], consistency: int) -> View:
        """Return a view that has at least these rows, as of one moment."""
        lane = self._lanes.get((place, consistency))
        if lane is None:
            lane = self._lanes[place, consistency] = _Lane()
        future: asyncio.Future[View] = asyncio.get_running_loop().create_future()
        lane.waiting.append((addresses, future))
        if lane.flights < _FLIGHTS_MAX:
            lane.flights += 1
            task = asyncio.create_task(self._fly(place, lane, consistency))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return await future

    async def _fly(self, place: Place, lane: _Lane, consistency: int) -> None:
        """Send what waits, in as many statements as it takes."""
        try:
            while lane.waiting:
                taken, wanted = _take(lane.waiting)
                try:
                    view = await self._ask(place, wanted, consistency)
                except Exception as error:  # noqa: BLE001 - it belongs to those who asked
                    for _, future in taken:
                        if not future.done():
                            future.set_exception(error)
                else:
                    for _, future in taken:
                        if not future.done():
                            future.set_result(view)
        finally:
            lane.flights -= 1
            if not lane.flights and not lane.waiting:
                self._lanes.pop((place, consistency), None)

    async def _ask(self, place: Place, wanted: set[Address], consistency: int) -> View:
        if consistency == EVENTUAL:
            return await self.view(place, wanted, ONE)
        view = await self.whole_view(place, {_HEAD, *wanted})
        head = head_of(view)
        if self._is_open(place, head, view, wanted):
            await self.settle(place)
        return view

    def _is_open(self, place: Place, head: Head, view: View, wanted: set[Address]) -> bool:
        """Tell whether what was read may be at a minority of the replicas only."""
        if head.step <= self._horizon.step(place):
            return False
        for address in wanted:
            row = view.get(address)
            if (head.deleted_at if row is None else row[1]) >= head.step:
                return True
        return False

    async def settle(self, place: Place) -> Head:
        """Return the head of a shard after a round of Paxos, which takes its step to a quorum."""
        self._link.counts.serial_reads += 1
        head = head_of(await self.view(place, {_HEAD}, SERIAL))
        self._horizon.note(place, head.step)
        return head

    async def whole_view(self, place: Place, wanted: set[Address]) -> View:
        """Return rows and the head of a shard at a quorum, all of them as of one step."""
        return await self.whole(
            place, lambda: self.view(place, wanted, QUORUM), lambda view: head_of(view).step
        )

    async def whole(
        self, place: Place, ask: Callable[[], Awaitable[_T]], newest_step: Callable[[_T], int]
    ) -> _T:
        """Repeat a read until its answer has no gap between the steps it shows.

        One replica may be read before a step is made, and another one after the step that
        followed, of which it got the second and missed the first. That cannot be if the step
        before the newest one that was seen was at a quorum when the read began.
        """
        known = self._horizon.step(place)
        for attempt in range(_WHOLE_ATTEMPTS_MAX):
            answer = await ask()
            before = newest_step(answer) - 1
            if before <= known:
                return answer
            self._link.counts.reads_repeated += 1
            self._horizon.note(place, before)
            # A shard that moves on all the time: what Paxos has confirmed leaves room for a step.
            known = (await self.settle(place)).step if attempt >= _PLAIN_ATTEMPTS_MAX else before
        raise EngineError(f"shard {place} does not come to rest")

    async def view(self, place: Place, wanted: set[Address], profile: str) -> View:
        """Return rows of a shard as one statement finds them."""
        counts = self._link.counts
        counts.reads += 1
        counts.read_keys += len(wanted)
        bound = self._statements.read_keys.bind((*place, list(wanted)))
        rows = await self._link.read(bound, profile)
        return {(store, key): (value, n) for store, key, value, n in rows}


def head_of(view: View) -> Head:
    """Return the head of a shard from a view of it."""
    found = view.get(_HEAD)
    return unpack_head(*found) if found else unpack_head(None, None)


_Waiting = list[tuple[Sequence[Address], "asyncio.Future[View]"]]


def _take(waiting: _Waiting) -> tuple[_Waiting, set[Address]]:
    """Take reads off a queue, as many as one statement carries."""
    taken: _Waiting = []
    wanted: set[Address] = set()
    while waiting and (not taken or len(wanted) + len(waiting[0][0]) <= KEYS_MAX):
        taken.append(waiting.pop(0))
        wanted.update(taken[-1][0])
    return taken, wanted
