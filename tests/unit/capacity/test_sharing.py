"""Several processes with the ceilings of AWS: together they serve what one would."""

import random

import pytest

from hashrange.capacity.buckets import Shared
from hashrange.capacity.stores import CapacityStore, Ceilings, Provided

ON_DEMAND = Provided(is_on_demand=True)
HOT = (0.1, b"item")


class Board:
    """What processes tell each other, without delay."""

    def __init__(self):
        self.totals = {}
        self.levels = {}

    def of(self, process):
        return _Side(self, process)


class _Side:
    def __init__(self, board, process):
        self._board = board
        self._process = process

    def add(self, name, units, level):
        totals = self._board.totals.setdefault(name, {})
        totals[self._process] = totals.get(self._process, 0.0) + units
        self._board.levels.setdefault(name, {})[self._process] = level

    def level(self, name):
        found = self._board.levels.get(name, {}).values()
        return max(found, key=lambda level: level[1], default=None)

    def others(self, name):
        totals = self._board.totals.get(name, {})
        return sum(units for process, units in totals.items() if process != self._process)


def processes(count, provided=ON_DEMAND, ceilings=None):
    board = Board()
    chosen = ceilings or Ceilings()
    return [
        CapacityStore(provided, 0.0, chosen, Shared(board.of(number), "t"))
        for number in range(count)
    ]


def edges_of(store):
    """Return where the key ranges of a process begin."""
    assert store.ranges is not None
    return [partition.start for partition in store.ranges.partitions]


def serve(stores, second, positions, kind="write", units=10.0):
    """Send requests to the processes in turns; return the units that were served."""
    served = 0.0
    for number, position in enumerate(positions):
        store = stores[number % len(stores)]
        now = second + number / len(positions)
        if store.refusal(position, kind, now) == "admitted":
            store.charge(position, kind, units, now)
            served += units
    return served


@pytest.mark.parametrize("count", [1, 3])
def test_a_key_range_serves_its_limit_however_many_processes_there_are(count):
    stores = processes(count)
    served = [serve(stores, second, [HOT] * 400) for second in range(30)]
    assert 1000 <= served[-1] <= 1000 + 10 * count
    assert sum(served[1:]) <= 29 * 1000 + 10 * count


def test_the_quota_of_a_table_is_one_for_all_processes():
    stores = processes(3, ceilings=Ceilings(partitions=200))
    chance = random.Random(1)
    for second in range(3):
        positions = [(chance.random(), b"") for _ in range(300)]
        served = serve(stores, second, positions, units=250.0)
    assert served <= 40_000 + 3 * 250


def test_a_split_is_followed_by_the_others():
    stores = processes(2, ceilings=Ceilings(partitions=1, heat_seconds=120))
    positions = [(place, b"item") for place in (0.2, 0.3, 0.6, 0.8)] * 5
    for second in range(400):
        served = serve(stores, second, positions, units=100.0)
    edges = [edges_of(store) for store in stores]
    assert edges[0] == edges[1]
    assert len(edges[0]) > 1
    # Twice the limit of one partition is asked for, and served after the split.
    assert served == 2000


def test_a_process_that_begins_later_follows_earlier_splits():
    board = Board()
    ceilings = Ceilings(partitions=1, heat_seconds=120)
    first = CapacityStore(ON_DEMAND, 0.0, ceilings, Shared(board.of(0), "t"))
    for second in range(400):
        serve([first], second, [(place, b"") for place in (0.2, 0.7)] * 10, units=100.0)
    later = CapacityStore(ON_DEMAND, 400.0, ceilings, Shared(board.of(1), "t"))
    assert len(edges_of(first)) > 1
    while len(edges_of(later)) < len(edges_of(first)):
        before = len(edges_of(later))
        later.look(401.0)
        assert len(edges_of(later)) > before
    assert edges_of(later) == edges_of(first)


def test_a_collection_is_split_by_each_process_for_itself():
    stores = processes(2, ceilings=Ceilings(partitions=1, heat_seconds=120))
    positions = [(0.5, bytes([place])) for place in (1, 2, 3, 4)] * 5
    for second in range(400):
        serve(stores, second, positions, units=100.0)
    assert all(len(edges_of(store)) > 1 for store in stores)


def test_growth_counts_what_all_processes_served():
    stores = processes(2)
    for second in range(2400):
        # Each process serves 1,750 units a second, of which it alone would not grow.
        serve(stores, second, [(place / 10, b"") for place in range(10)], units=350.0)
        for store in stores:
            store.look(second + 0.99)
    rates = [store._growth["write"][1].rate for store in stores]
    assert rates == [pytest.approx(7000, rel=0.05)] * 2


def test_an_idle_process_keeps_little_while_it_only_looks():
    stores = processes(2, ceilings=Ceilings(partitions=2))
    for minute in range(600):
        for store in stores:
            store.look(60.0 * minute)
    assert len(stores[0]._growth["write"][0]._minutes) <= 31
