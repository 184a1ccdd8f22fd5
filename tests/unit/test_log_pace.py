"""A message that repeats with every request is logged once a minute."""

import pytest

from hashrange import log_pace
from hashrange.log_pace import LogPace


def test_one_message_a_minute_is_due_and_tells_of_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 0.0
    monkeypatch.setattr(log_pace, "monotonic", lambda: now)
    pace = LogPace()
    assert pace.remark() == ""
    assert [pace.remark() for _ in range(3)] == [None] * 3
    now = 61.0
    assert pace.remark() == " (3 like it were not logged since the last one)"
    now = 122.0
    assert pace.remark() == ""
