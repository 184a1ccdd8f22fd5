"""Samples: figures, sketches and their rows."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hashrange.errors import CorruptionError
from hashrange.limits import SKETCH_BUCKETS_MAX
from hashrange.metrics.samples import Samples, unpack
from hashrange.metrics.statistics import find_statistic

VALUES = st.lists(st.floats(-1e60, 1e60).filter(lambda v: v == 0 or abs(v) > 1e-60), min_size=1)


def samples_of(values):
    samples = Samples()
    for value in values:
        samples.add(value)
    return samples


def places(samples):
    return sorted(bucket for bucket, n in (samples.buckets or {}).items() for _ in range(n))


def figures(samples):
    return (samples.count, samples.minimum, samples.maximum, samples.buckets)


@given(VALUES, VALUES)
def test_merging_is_the_same_as_adding_to_one(first, second):
    merged = samples_of(first)
    merged.merge(samples_of(second))
    assert figures(merged) == figures(samples_of([*first, *second]))


@given(VALUES)
def test_a_row_reads_back_as_it_was(values):
    samples = samples_of(values)
    assert figures(unpack(samples.pack())) == figures(samples)


@given(st.lists(st.floats(1e-9, 1e9), min_size=1))
def test_adding_many_is_the_same_as_adding_each(values):
    many = Samples()
    many.add_all(values, 1000.0)
    each = samples_of([value * 1000 for value in values])
    assert (many.count, many.minimum, many.maximum) == (each.count, each.minimum, each.maximum)
    assert many.sum == pytest.approx(each.sum)
    assert sum((many.buckets or {}).values()) == len(values)
    # Values on the bound of two buckets may be in either.
    for one, other in zip(places(many), places(each), strict=True):
        assert abs(one - other) <= 1


def test_values_apart_from_bounds_are_in_the_same_buckets_if_many_are_added():
    values = [1.02 ** (power / 3 + 1 / 6) for power in range(-600, 600)]
    many = Samples()
    many.add_all(values)
    assert many.buckets == samples_of(values).buckets


@pytest.mark.parametrize("share", [0, 10, 50, 90, 99, 99.9, 100])
def test_a_percentile_is_within_one_percent_of_the_exact_one(share):
    chance = random.Random(7)
    values = sorted(chance.lognormvariate(0, 1) for _ in range(5000))
    compute = find_statistic(f"p{share}")
    assert compute is not None
    exact = values[round(share / 100 * (len(values) - 1))]
    assert compute(samples_of(values)) == pytest.approx(exact, rel=0.0105)


def test_percentiles_of_a_statistic_set_are_unknown():
    samples = Samples()
    samples.add_set(10, 50, 1, 9)
    compute = find_statistic("p50")
    assert compute is not None
    assert compute(samples) is None
    assert (samples.count, samples.average) == (10, 5)


def test_a_row_has_a_bounded_number_of_buckets():
    samples = samples_of([1.03**power for power in range(2 * SKETCH_BUCKETS_MAX // 3)] * 2)
    assert len(unpack(samples.pack()).buckets or {}) <= SKETCH_BUCKETS_MAX
    wide = samples_of([10.0 ** (power / 20) for power in range(-3000, 3000)])
    kept = unpack(wide.pack()).buckets or {}
    assert len(kept) == SKETCH_BUCKETS_MAX
    assert sum(kept.values()) == 6000


def test_a_damaged_row_is_noticed():
    with pytest.raises(CorruptionError):
        unpack(b"[1,2]")
