"""Metric math: what expressions are worth, and what is wrong with others."""

import pytest

from hashrange.metrics.math.evaluation import evaluate
from hashrange.metrics.math.parser import MathError, parse
from hashrange.metrics.math.values import TimeSeries, Window

WINDOW = Window(0, 300, 60)
M1 = TimeSeries({0: 60.0, 60: 120.0, 180: 30.0}, 60, "m1")
M2 = TimeSeries({0: 2.0, 60: 0.0, 120: 5.0, 180: 3.0, 240: 1.0}, 60, "m2")


def value(text):
    return evaluate(parse(text), {"m1": M1, "m2": M2}, ["m1", "m2"], WINDOW)


def points(text):
    found = value(text)
    assert isinstance(found, TimeSeries)
    return found.values


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("m1/PERIOD(m1)", {0: 1.0, 60: 2.0, 180: 0.5}),
        ("100*(m1/PERIOD(m1))/m2", {0: 50.0, 180: pytest.approx(100 / 6)}),
        ("SUM(METRICS())", {0: 62.0, 60: 120.0, 120: 5.0, 180: 33.0, 240: 1.0}),
        ("SUM([m1, m2])", {0: 62.0, 60: 120.0, 120: 5.0, 180: 33.0, 240: 1.0}),
        ('MAX(METRICS("m2"))', M2.values),
        ("IF(m2>0, 100*m1/m2, 0)", {0: 3000.0, 60: 0.0, 180: 1000.0}),
        ("FILL(m1, 0)", {0: 60.0, 60: 120.0, 120: 0.0, 180: 30.0, 240: 0.0}),
        ("FILL(m1, REPEAT)", {0: 60.0, 60: 120.0, 120: 120.0, 180: 30.0, 240: 30.0}),
        ("FILL(m1, LINEAR)", {0: 60.0, 60: 120.0, 120: 75.0, 180: 30.0}),
        ("-m1", {0: -60.0, 60: -120.0, 180: -30.0}),
        ("m1 > 50 AND m2 > 1", {0: 1.0, 60: 0.0, 180: 0.0}),
        ("DIFF(m2)", {60: -2.0, 120: 5.0, 180: -2.0, 240: -2.0}),
        ("RATE(m1)", {60: 1.0, 180: -0.75}),
        ("RUNNING_SUM(m1)", {0: 60.0, 60: 180.0, 180: 210.0}),
        ("m1 * 2 ^ 3 - 1", {0: 479.0, 60: 959.0, 180: 239.0}),
        ("TIME_SERIES(SUM(m1))", dict.fromkeys(range(0, 300, 60), 210.0)),
        ("FIRST(SORT(METRICS(), MAX, DESC))", M1.values),
        ("MINUTE(m1)", {0: 0.0, 60: 1.0, 180: 3.0}),
    ],
)
def test_expressions_have_the_documented_values(text, expected):
    assert points(text) == expected


def test_aggregates_of_one_series_are_numbers():
    assert value("SUM(m1)") == 210.0
    assert value("AVG(m1)") == 70.0
    assert value("LAST(m2)") == 1.0
    assert value("DATAPOINT_COUNT(m1)") == 3.0


@pytest.mark.parametrize(
    "text",
    ["", "m1 +", "m3", "m1 m2", "NOSUCH(m1)", "(m1", "m1 $ 2", "SUM(", "1/0", "SEARCH('x', 'y')"],
)
def test_other_expressions_are_refused(text):
    with pytest.raises(MathError):
        value(text)


def test_a_deeply_nested_expression_is_refused():
    with pytest.raises(MathError, match="nested too deeply"):
        parse("(" * 500 + "1" + ")" * 500)
    with pytest.raises(MathError, match="nested too deeply"):
        parse("-" * 500 + "1")
