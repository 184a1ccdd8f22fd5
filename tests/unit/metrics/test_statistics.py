"""Statistics by CloudWatch's names."""

import pytest

from hashrange.metrics.samples import Samples
from hashrange.metrics.statistics import find_statistic, percentile_of


def compute(name, values):
    samples = Samples()
    for value in values:
        samples.add(value)
    statistic = find_statistic(name)
    assert statistic is not None, name
    return statistic(samples)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("SampleCount", 100),
        ("Sum", 5050),
        ("Average", 50.5),
        ("Minimum", 1),
        ("Maximum", 100),
        ("p50", 50.5),
        ("p100", 100),
        ("tm90", 45.5),
        ("TM(10%:90%)", 50.5),
        ("IQM", 50.5),
        ("tc50", 50),
        ("ts50", 1275),
        ("TC(:20.4)", 20),
        ("PR(:20.4)", 20),
        ("TS(50.5:)", sum(range(51, 101))),
    ],
)
def test_statistics_of_one_to_a_hundred(name, expected):
    assert compute(name, range(1, 101)) == pytest.approx(expected, rel=0.03)


@pytest.mark.parametrize("name", ["", "sum", "p", "p101", "tm", "TM(90%:10%)", "TM(1:5%)", "PR(:)"])
def test_other_names_are_no_statistics(name):
    assert find_statistic(name) is None


def test_percentiles_are_told_apart():
    assert percentile_of("p99.9") == pytest.approx(0.999)
    assert percentile_of("tm99") is None
