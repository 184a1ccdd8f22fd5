"""Schedules: when at, rate and cron expressions are due."""

from datetime import UTC, datetime

import pytest

from hashrange.scaling.schedules import Schedule, ScheduleError


def at(text):
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def shown(seconds):
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat()[:19]


BEGAN = at("2026-01-01T00:00:00")


@pytest.mark.parametrize(
    ("text", "now", "due"),
    [
        ("at(2026-03-01T10:00:00)", "2026-02-01T00:00:00", "2026-03-01T10:00:00"),
        ("at(2026-03-01T10:00:00)", "2026-03-01T10:00:00", None),
        ("rate(1 hour)", "2026-01-01T00:00:00", "2026-01-01T01:00:00"),
        ("rate(90 minutes)", "2026-01-01T01:30:00", "2026-01-01T03:00:00"),
        ("rate(2 days)", "2026-01-02T12:00:00", "2026-01-03T00:00:00"),
        ("cron(0 18 * * ? *)", "2026-01-01T17:59:59", "2026-01-01T18:00:00"),
        ("cron(0 18 * * ? *)", "2026-01-01T18:00:00", "2026-01-02T18:00:00"),
        ("cron(0 8 ? * MON-FRI *)", "2026-01-02T08:00:00", "2026-01-05T08:00:00"),
        ("cron(0/15 9-10 1 1,JUL ? *)", "2026-01-01T10:45:00", "2026-07-01T09:00:00"),
        ("cron(30 6 ? * 1 *)", "2026-01-01T00:00:00", "2026-01-04T06:30:00"),
        ("cron(0 0 29 2 ? *)", "2026-01-01T00:00:00", "2028-02-29T00:00:00"),
        ("cron(0 0 1 1 ? 2025)", "2026-01-01T00:00:00", None),
    ],
)
def test_a_schedule_is_due_next(text, now, due):
    assert shown(Schedule(text).next_after(at(now), BEGAN)) == due


def test_times_are_those_of_a_time_zone_in_summer_and_winter():
    schedule = Schedule("cron(0 9 * * ? *)", "Europe/London")
    assert shown(schedule.next_after(at("2026-01-10T00:00:00"), BEGAN)) == "2026-01-10T09:00:00"
    assert shown(schedule.next_after(at("2026-07-10T00:00:00"), BEGAN)) == "2026-07-10T08:00:00"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "every hour",
        "rate(0 minutes)",
        "rate(1 week)",
        "at(2026-13-01T00:00:00)",
        "cron(0 0 * * *)",
        "cron(0 0 * * * *)",
        "cron(0 0 ? * ? *)",
        "cron(60 0 * * ? *)",
        "cron(0 0 L * ? *)",
        "cron(0 5-3 * * ? *)",
        "cron(*/0 0 * * ? *)",
    ],
)
def test_what_is_no_schedule_is_refused(text):
    with pytest.raises(ScheduleError):
        Schedule(text)


def test_an_unknown_time_zone_is_refused():
    with pytest.raises(ScheduleError):
        Schedule("rate(1 hour)", "Mars/Olympus")
