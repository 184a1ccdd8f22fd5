"""Which strong reads on Cassandra need a round of Paxos: every order of events in a small model.

Three replicas, one row, some steps of its shard. A step that is decided reaches replicas one by
one; the next one is proposed when it is at a quorum. A round of Paxos (`settled`) takes the last
step to a quorum. A read must see what was acknowledged, and what a read before it has seen. The
argument is in docs/decisions/0044-which-strong-reads-are-serial.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations
from typing import NamedTuple

import pytest

STEPS_MAX = 3
QUORUMS = list(combinations(range(3), 2))
PUT, DELETE, OTHER = "put", "delete", "other"


class State(NamedTuple):
    """The kinds of the steps, those that each replica has, and what reads must see at least."""

    kinds: tuple[str, ...] = ()
    replicas: tuple[frozenset[int], ...] = (frozenset(), frozenset(), frozenset())
    seen: int = 0

    def view(self, quorum: tuple[int, ...]) -> frozenset[int]:
        """Return the steps that a statement at a quorum finds."""
        return frozenset().union(*(self.replicas[replica] for replica in quorum))

    def version(self, steps: frozenset[int]) -> int:
        """Return the last of some steps that changed the row."""
        return max((step for step in steps if self.kinds[step - 1] != OTHER), default=0)

    def is_present(self, steps: frozenset[int]) -> bool:
        version = self.version(steps)
        return version > 0 and self.kinds[version - 1] == PUT

    def deleted_at(self, head: int) -> int:
        """Return the last step up to a head that deleted something."""
        return max((n for n in range(1, head + 1) if self.kinds[n - 1] == DELETE), default=0)

    def settled(self) -> State:
        """Return the state after a round of Paxos: the last step is at all replicas it asked."""
        last = len(self.kinds)
        holders = sum(last in replica for replica in self.replicas)
        replicas = list(self.replicas)
        for number in range(3):
            if holders < 2 and last not in replicas[number]:
                replicas[number] |= {last}
                holders += 1
        return self._replace(replicas=tuple(replicas)) if last else self


Read = Callable[[State], Iterator[tuple[int, State]]]
"""What a read may find, the version of the row, and the state after it."""


def at_a_quorum(state: State) -> Iterator[tuple[int, State]]:
    """One statement at a quorum, and nothing else."""
    for quorum in QUORUMS:
        yield state.version(state.view(quorum)), state


def by_key(state: State) -> Iterator[tuple[int, State]]:
    """The row and the head in one statement; Paxos if the row may be of the step of the head."""
    for quorum in QUORUMS:
        steps = state.view(quorum)
        version, head = state.version(steps), max(steps, default=0)
        last = version if state.is_present(steps) else state.deleted_at(head)
        yield version, state.settled() if last and last >= head else state


def range_then_paxos(state: State) -> Iterator[tuple[int, State]]:
    """A range at a quorum, and a round of Paxos on the head after it."""
    for version, after in at_a_quorum(state):
        yield version, after.settled()


def range_then_head(state: State) -> Iterator[tuple[int, State]]:
    """A range at a quorum, the head at a quorum, and Paxos as for a read by key."""
    for quorum in QUORUMS:
        steps = state.view(quorum)
        for other in QUORUMS:
            head = max(state.view(other), default=0)
            is_present = state.is_present(steps)
            last = state.version(steps) if is_present else state.deleted_at(head)
            yield state.version(steps), state.settled() if last and last >= head else state


def serial(state: State) -> Iterator[tuple[int, State]]:
    """A statement at LOCAL_SERIAL: Paxos first, then a quorum."""
    yield from at_a_quorum(state.settled())


def next_states(state: State, read: Read) -> Iterator[State]:
    """Return what may happen next; a read that goes back in time raises."""
    last = len(state.kinds)
    holders = [number for number in range(3) if last in state.replicas[number]]
    if last < STEPS_MAX and (last == 0 or len(holders) >= 2):
        for kind in (PUT, DELETE, OTHER):
            yield state._replace(kinds=(*state.kinds, kind))
    if last:
        for number in set(range(3)) - set(holders):
            replicas = list(state.replicas)
            replicas[number] |= {last}
            after = state._replace(replicas=tuple(replicas))
            if len(holders) >= 1:  # it can be acknowledged now
                after = after._replace(seen=max(state.seen, after.version(frozenset({last}))))
            yield after
    for version, after in read(state):
        assert version >= state.seen, f"read {version}, and {state.seen} was seen: {state}"
        yield after._replace(seen=max(state.seen, version))


def explore(read: Read) -> int:
    """Go through all states; return how many there are."""
    known, waiting = {State()}, [State()]
    while waiting:
        for state in next_states(waiting.pop(), read):
            if state not in known:
                known.add(state)
                waiting.append(state)
    return len(known)


@pytest.mark.parametrize("read", [by_key, range_then_paxos, serial])
def test_a_read_never_goes_back_in_time(read: Read) -> None:
    assert explore(read) > 500


@pytest.mark.parametrize("read", [at_a_quorum, range_then_head])
def test_without_a_round_of_paxos_where_it_is_needed_one_does(read: Read) -> None:
    with pytest.raises(AssertionError, match="was seen"):
        explore(read)
