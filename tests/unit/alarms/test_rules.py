"""The truth tables of CloudWatch's documentation about alarms and missing data."""

import pytest

from hashrange.alarms.rules import decide, samples_needed

TREATMENTS = ("missing", "ignore", "breaching", "notBreaching")
# Points, oldest first, to alarm, and the states by treatment; "keep" keeps the state.
TABLE = [
    ("0-X-X", 3, ("OK", "OK", "OK", "OK")),
    ("0----", 3, ("OK", "OK", "OK", "OK")),
    ("-----", 3, ("INSUFFICIENT_DATA", "keep", "ALARM", "OK")),
    ("0XX-X", 3, ("ALARM", "ALARM", "ALARM", "ALARM")),
    ("--X--", 3, ("ALARM", "keep", "ALARM", "OK")),
    ("0-X-X", 2, ("ALARM", "ALARM", "ALARM", "ALARM")),
    ("00X0X", 2, ("ALARM", "ALARM", "ALARM", "ALARM")),
    ("0-X--", 2, ("OK", "OK", "ALARM", "OK")),
    ("----0", 2, ("OK", "OK", "ALARM", "OK")),
    ("---X-", 2, ("ALARM", "keep", "ALARM", "OK")),
]
CASES = [
    (points, to_alarm, treatment, state)
    for points, to_alarm, states in TABLE
    for treatment, state in zip(TREATMENTS, states, strict=True)
]


@pytest.mark.parametrize("current", ["OK", "ALARM", "INSUFFICIENT_DATA"])
@pytest.mark.parametrize(("points", "to_alarm", "treatment", "expected"), CASES)
def test_states_are_those_of_the_documentation(points, to_alarm, treatment, expected, current):
    breaches = [{"0": False, "X": True, "-": None}[point] for point in points]
    state = decide(breaches, 3, to_alarm, treatment, current)
    assert state == (current if expected == "keep" else expected)


def test_a_lone_breach_that_is_too_young_is_no_alarm():
    assert decide([None, None, None, None, True], 3, 3, "missing", "OK") == "OK"


def test_percentiles_need_more_samples_the_further_out_they_are():
    assert samples_needed(0.99) == pytest.approx(1000)
    assert samples_needed(0.5) == pytest.approx(20)
    assert samples_needed(0.01) == pytest.approx(1000)
