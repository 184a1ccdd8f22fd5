"""The heaviest keys of a stream, in bounded memory."""

import random
from collections import Counter

import pytest

from hashrange.errors import CorruptionError
from hashrange.metrics.top_keys import TopKeys, unpack


def skewed(count, seed=3):
    """Return accesses to keys of which few are heavy, and many are seen once."""
    chance = random.Random(seed)
    return [(str(int(chance.paretovariate(0.5))),) for _ in range(count)]


def test_the_ten_heaviest_of_a_skewed_stream_are_found():
    stream = skewed(20_000)
    summary = TopKeys(256)
    for key in stream:
        summary.add(key, 1.0)
    exact = Counter(stream)
    assert len(exact) > 1000
    assert len(summary.weights) == 256
    top = [key for key, _ in exact.most_common(10)]
    assert [key for key, _ in summary.heaviest(10)] == top
    for key, weight in summary.heaviest(10):
        assert exact[key] <= weight <= exact[key] + len(stream) / 256
    assert summary.total == sum(weight for weight, _ in summary.weights.values()) == 20_000


def test_merged_summaries_find_the_heaviest_of_both():
    first, second = skewed(10_000, 1), skewed(10_000, 2)
    parts = []
    for stream in (first, second):
        parts.append(TopKeys(256))
        for key in stream:
            parts[-1].add(key, 0.5)
    parts[0].merge(parts[1])
    top = [key for key, _ in Counter(first + second).most_common(5)]
    assert [key for key, _ in parts[0].heaviest(5)] == top
    assert parts[0].total == 10_000


def test_a_row_reads_back_as_it_was():
    summary = TopKeys()
    summary.add(("a", "1"), 2.5)
    again = unpack(summary.pack())
    assert (again.total, again.weights) == (2.5, {("a", "1"): (2.5, 0.0)})
    with pytest.raises(CorruptionError):
        unpack(b"{}")
