"""The pace of a copy."""

import pytest

from hashrange.cli.copying.pace import Pace, StoppedError


def test_items_are_spread_over_time():
    now = [100.0]
    pace = Pace(50, lambda: now[0])
    assert [pace._reserve(25) for _ in range(3)] == [0.0, 0.5, 1.0]
    now[0] = 200.0
    assert pace._reserve(25) == 0.0


@pytest.mark.parametrize("rate", [None, 1])
def test_nothing_is_taken_after_the_stop(rate):
    pace = Pace(rate)
    pace.take(1)
    pace.stop()
    with pytest.raises(StoppedError):
        pace.take(1)
    pace.go_on()
    Pace(rate).take(1)
