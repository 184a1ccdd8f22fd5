"""The window of point-in-time recovery."""

from hashrange.model.recovery import RecoveryRecord, recovery_record

DAY = 86_400.0


def test_the_window_reaches_back_to_its_beginning_or_for_its_days() -> None:
    record = RecoveryRecord("t.h", enabled_at=1000.0, days=2)
    assert record.earliest(1000.0 + DAY) == 1000.0
    assert record.earliest(1000.0 + 5 * DAY) == 1000.0 + 3 * DAY


def test_the_latest_time_is_never_before_the_beginning() -> None:
    record = RecoveryRecord("t.h", enabled_at=1000.0)
    assert record.latest(1100.0, 0.0) == 1100.0
    assert record.latest(1100.0, 300.0) == 1000.0


def test_a_record_is_made_from_plain_values() -> None:
    assert recovery_record(None) is None
    made = recovery_record({"store": "t.h", "enabled_at": None, "days": 3})
    assert made == RecoveryRecord("t.h", None, 3)
    assert made is not None
    assert not made.is_enabled
