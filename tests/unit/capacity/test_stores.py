"""The capacity model: partition limits, bursts, adaptive sharing, splits for heat, growth."""

from itertools import pairwise

import pytest

from hashrange.capacity.buckets import TokenBucket
from hashrange.capacity.stores import PartitionedStore, Provided, initial_partitions


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


def test_a_bucket_fills_at_its_rate_up_to_its_capacity():
    bucket = TokenBucket(10, 50)
    bucket.take(50)
    assert not bucket.has_units(0)
    assert bucket.has_units(1)
    bucket.has_units(100)
    assert bucket.tokens == 50


def test_a_request_larger_than_the_rest_is_admitted_once():
    bucket = TokenBucket(10, 10)
    assert bucket.has_units(0)
    bucket.take(35)
    assert not bucket.has_units(2)
    assert bucket.has_units(3)


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
    assert edges[0][0] == (0.0, 0.0)
    assert edges[-1][1] == (1.0, 0.0)
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
