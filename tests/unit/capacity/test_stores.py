"""The capacity model: partition limits, bursts, adaptive sharing, splits for heat, growth."""

import random
import time
from itertools import pairwise

import pytest

from hashrange.capacity.stores import (
    CapacityStore,
    Ceilings,
    PartitionedStore,
    Provided,
    initial_partitions,
)


def serve(store, seconds, units, *, positions, kind="write", start=0):
    """Ask for units each second, spread over positions; return units served per second."""
    served = []
    for second in range(start, start + seconds):
        total = 0.0
        for number, position in enumerate(positions):
            now = second + number / len(positions)
            part = units / len(positions)
            if store.request(position, kind, part, now) == "admitted":
                total += part
        store.advance(second + 1.0)
        served.append(total)
    return served


def spread(count):
    return [((number + 0.5) / count, 0.5) for number in range(count)]


@pytest.mark.parametrize(("kind", "limit"), [("read", 3000), ("write", 1000)])
def test_one_key_gets_no_more_than_a_partition_serves(kind, limit):
    store = PartitionedStore(Provided(40_000, 40_000))
    served = serve(store, 60, 5000, positions=[(0.3, 0.5)] * 50, kind=kind)
    assert sum(served) / 60 == pytest.approx(limit, rel=0.05)


def test_an_uneven_load_may_use_the_whole_capacity():
    store = PartitionedStore(Provided(4000, 2000), partitions=4)
    served = serve(store, 900, 900, positions=[(0.1, 0.5)] * 10)
    # Without adaptive capacity, a quarter of 2,000 would be the limit.
    assert served[-1] == pytest.approx(900)


def test_unused_capacity_of_five_minutes_serves_a_burst():
    store = PartitionedStore(Provided(100, 100), partitions=1)
    served = serve(store, 600, 200, positions=spread(20))
    assert served[200] == pytest.approx(200)
    assert served[-1] == pytest.approx(100, rel=0.1)
    assert sum(served) == pytest.approx(600 * 100 + 300 * 100, rel=0.01)


def test_the_store_refuses_what_is_beyond_its_capacity():
    store = PartitionedStore(Provided(1, 1), partitions=1)
    outcomes = {store.request((0.5, 0.5), "write", 50, n / 100) for n in range(50)}
    assert outcomes == {"admitted", "store"}


def test_a_hot_partition_is_split_and_then_serves_more():
    store = PartitionedStore(Provided(40_000, 40_000), partitions=1)
    served = serve(store, 900, 1800, positions=spread(40))
    assert served[100] == pytest.approx(1000, rel=0.1)
    assert served[-1] == pytest.approx(1800, rel=0.1)
    assert store.splits[0].at == pytest.approx(300, abs=60)
    assert len(store.partitions) == 1 + len(store.splits)


def test_partitions_cover_all_positions_after_splits():
    store = PartitionedStore(Provided(40_000, 40_000), partitions=3)
    serve(store, 1200, 9000, positions=spread(60))
    edges = [(each.start, each.end) for each in store.partitions]
    assert edges[0][0] == (0.0,)
    assert edges[-1][1] == (1.0,)
    assert all(one[1] == two[0] for one, two in pairwise(edges))
    for position in spread(500):
        owner = store.partition_of(position)
        assert owner.start <= position < owner.end


def test_a_collection_is_split_by_its_sort_key():
    store = PartitionedStore(Provided(40_000, 40_000), partitions=1)
    places = [(0.4, number / 40) for number in range(40)]
    assert serve(store, 900, 1800, positions=places)[-1] == pytest.approx(1800, rel=0.1)


def test_a_single_item_cannot_be_split():
    store = PartitionedStore(Provided(40_000, 40_000), partitions=1)
    assert serve(store, 1200, 3000, positions=[(0.4, 0.0)] * 30)[-1] == pytest.approx(1000, rel=0.1)
    assert store.splits == []


def test_a_quiet_minute_ends_the_heat():
    store = PartitionedStore(Provided(40_000, 40_000), partitions=1)
    for turn in range(6):
        serve(store, 180, 1800, positions=spread(20), start=turn * 360)
        serve(store, 180, 10, positions=spread(20), start=turn * 360 + 180)
    assert store.splits == []


def test_on_demand_serves_twice_the_earlier_peak():
    store = PartitionedStore(Provided())
    served = serve(store, 60, 20_000, positions=spread(200))
    assert served[-1] == pytest.approx(4000, rel=0.05)
    serve(store, 120, 3900, positions=spread(200), start=60)
    later = serve(store, 60, 20_000, positions=spread(200), start=60 + 120 + 1800)
    assert later[-1] == pytest.approx(8000, rel=0.1)
    assert len(store.partitions) >= 8


@pytest.mark.parametrize(
    ("provided", "stored", "count"),
    [
        (Provided(), 0, 4),
        (Provided(10, 10), 0, 1),
        (Provided(9000, 10), 0, 3),
        (Provided(10, 4500), 0, 5),
        (Provided(10, 10), 95 * 1024**3, 10),
    ],
)
def test_a_store_begins_with_partitions_for_its_capacity_and_size(provided, stored, count):
    assert initial_partitions(provided, stored) == count


def naive_provisioned(rate, requests):
    """Admit requests (second, units) by a plain count of what was and may have been served."""
    admitted = []
    balance, last = 300.0 * rate, 0.0
    for now, units in requests:
        balance = min(300.0 * rate, balance + rate * (now - last))
        last = now
        admitted.append(balance > 0)
        if balance > 0:
            balance -= units
    return admitted


def bursty_requests(seed, seconds):
    """Return requests whose rate changes every few minutes, from idle to far too much."""
    chance = random.Random(seed)
    now, requests = 0.0, []
    while now < seconds:
        rate = chance.choice([0.2, 2.0, 8.0, 30.0])
        end = now + chance.uniform(60, 400)
        while now < min(end, seconds):
            now += chance.expovariate(rate)
            requests.append((now, chance.choice([0.5, 1.0, 1.0, 3.0, 40.0])))
    return requests


@pytest.mark.parametrize("seed", range(4))
def test_an_hour_of_a_provisioned_store_is_as_a_naive_model_says_and_takes_seconds(seed):
    requests = bursty_requests(seed, 3600)
    store = CapacityStore(Provided(10, 10), 0.0)
    began = time.process_time()
    admitted = []
    for now, units in requests:
        is_admitted = store.refusal(None, "read", now) == "admitted"
        admitted.append(is_admitted)
        if is_admitted:
            store.charge(None, "read", units, now)
    assert time.process_time() - began < 5
    assert admitted == naive_provisioned(10, requests)
    assert 0 < admitted.count(False) < len(admitted)


def test_an_hour_with_all_ceilings_never_serves_a_key_range_more_than_its_limit():
    store = CapacityStore(Provided(is_on_demand=True), 0.0, Ceilings())
    chance = random.Random(7)
    served: dict[tuple[int, int], float] = {}
    for second in range(3600):
        for _ in range(10):
            hot = chance.random() < 0.5
            place = 0.1 if hot else chance.random()
            position = (place, b"item")
            if store.refusal(position, "write", second) == "admitted":
                store.charge(position, "write", 150.0, second)
                if hot:
                    served[second // 60, 0] = served.get((second // 60, 0), 0.0) + 150.0
    # Admitted before it is charged: a request more than the limit at most, for each second.
    assert max(served.values()) <= 60 * (1000 + 150)


def test_a_maximum_is_served_without_bursts():
    store = CapacityStore(Provided(None, 10, is_on_demand=True), 0.0)
    served = 0
    for second in range(600, 660):
        for _ in range(50):
            if store.refusal(None, "write", float(second)) == "admitted":
                store.charge(None, "write", 1.0, float(second))
                served += 1
    assert served == 60 * 10
    assert store.refusal(None, "write", 659.0) == "maximum"
    assert store.refusal(None, "read", 659.0) == "admitted"


def test_an_on_demand_store_stops_at_the_quota_of_an_account():
    provided = Provided(is_on_demand=True, warm_read=100_000, warm_write=100_000)
    store = CapacityStore(provided, 0.0, Ceilings())
    outcomes = []
    for number in range(500):
        position = (number / 500, b"")
        outcomes.append(store.refusal(position, "write", 1.0))
        if outcomes[-1] == "admitted":
            store.charge(position, "write", 100.0, 1.0)
    assert outcomes.count("admitted") == 400
    assert outcomes[-1] == "quota"


def test_warm_throughput_is_served_at_once():
    def served(provided):
        store = CapacityStore(provided, 0.0, Ceilings())
        total = 0
        for number in range(200):
            position = (number / 200, b"")
            if store.refusal(position, "write", 1.0) == "admitted":
                store.charge(position, "write", 100.0, 1.0)
                total += 100
        return total

    assert served(Provided(is_on_demand=True)) == 4000
    assert served(Provided(is_on_demand=True, warm_write=10_000)) == 10_000


def test_a_store_that_is_warmed_up_later_gets_the_partitions_for_it():
    store = CapacityStore(Provided(is_on_demand=True), 0.0, Ceilings())
    store.provide(Provided(is_on_demand=True, warm_write=10_000), 1.0)
    store.advance(2.0)
    assert store.ranges is not None
    assert len(store.ranges.partitions) == 10


def test_a_changed_billing_mode_begins_with_full_buckets():
    store = CapacityStore(Provided(1, 1), 0.0)
    store.charge(None, "write", 400.0, 0.0)
    assert store.refusal(None, "write", 0.0) == "store"
    store.provide(Provided(None, 5, is_on_demand=True), 0.0)
    assert store.refusal(None, "write", 0.0) == "admitted"
