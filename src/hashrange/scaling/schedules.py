"""Schedules of scheduled actions: at(…), rate(…) and cron(…), and when they are due next.

    at(yyyy-mm-ddThh:mm:ss)
    rate(value minute|minutes|hour|hours|day|days)
    cron(minutes hours day-of-month month day-of-week year)

A field of cron is `*`, `?`, or a list of values, ranges and steps; months and days have names, and
days of the week count from Sunday, 1. `L`, `W` and `#` are not supported. Times are those of a time
zone. A schedule is due at the earliest one second after the last time.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final, final

_RATE: Final = re.compile(r"rate\((\d{1,9}) (minute|hour|day)s?\)")
_AT: Final = re.compile(r"at\((\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\)")
_CRON: Final = re.compile(r"cron\(([^()]*)\)")
_SECONDS: Final = {"minute": 60, "hour": 3600, "day": 86_400}
_MONTHS: Final = [
    "JAN",
    "FEB",
    "MAR",
    "APR",
    "MAY",
    "JUN",
    "JUL",
    "AUG",
    "SEP",
    "OCT",
    "NOV",
    "DEC",
]
_DAYS: Final = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"]
# Lowest and highest value of each field of cron, and the names of values from the lowest on.
_FIELDS: Final[tuple[tuple[int, int, list[str]], ...]] = (
    (0, 59, []),
    (0, 23, []),
    (1, 31, []),
    (1, 12, _MONTHS),
    (1, 7, _DAYS),
    (1970, 2199, []),
)
# A cron expression that is due at all is due within so many days: the 29th of February.
_DAYS_MAX: Final = 366 * 8 + 2


class ScheduleError(Exception):
    """A schedule cannot be understood; the message says why."""


@final
class Schedule:
    """One schedule in a time zone."""

    def __init__(self, text: str, zone: str = "UTC") -> None:
        # Only scheduled actions need time zones, and every server waits for what is imported.
        from zoneinfo import ZoneInfo

        try:
            self._zone = ZoneInfo(zone)
        except (KeyError, ValueError, OSError) as error:
            raise ScheduleError(f"Unknown time zone: {zone}") from error
        self._at: float | None = None
        self._every: float | None = None
        self._cron: tuple[frozenset[int], ...] = ()
        if match := _AT.fullmatch(text):
            self._at = self._parse_at(match[1])
        elif match := _RATE.fullmatch(text):
            self._every = int(match[1]) * _SECONDS[match[2]]
            if self._every <= 0:
                raise ScheduleError("Value of a rate must be positive")
        elif match := _CRON.fullmatch(text):
            self._cron = _parse_cron(match[1])
        else:
            raise ScheduleError("Schedule expression is not at(...), rate(...) or cron(...)")

    def _parse_at(self, text: str) -> float:
        try:
            return datetime.fromisoformat(text).replace(tzinfo=self._zone).timestamp()
        except ValueError as error:
            raise ScheduleError(f"Not a time: {text}") from error

    def next_after(self, now: float, began: float) -> float | None:
        """Return when it is due next after a time, None if never; rates count from `began`."""
        if self._at is not None:
            return self._at if self._at > now else None
        if self._every is not None:
            if now < began:
                return began
            return began + (int((now - began) // self._every) + 1) * self._every
        return self._next_cron(now)

    def _next_cron(self, now: float) -> float | None:
        minutes, hours, days, months, weekdays, years = self._cron
        today = datetime.fromtimestamp(now, UTC).astimezone(self._zone)
        for ahead in range(_DAYS_MAX):
            day = today.date() + timedelta(days=ahead)
            if day.year > max(years):
                return None
            if (
                day.day not in days
                or day.month not in months
                or day.year not in years
                or day.isoweekday() % 7 + 1 not in weekdays
            ):
                continue
            for hour in sorted(hours):
                for minute in sorted(minutes):
                    local = datetime(day.year, day.month, day.day, hour, minute, tzinfo=self._zone)
                    if local.timestamp() > now:
                        return local.timestamp()
        return None


def _parse_cron(text: str) -> tuple[frozenset[int], ...]:
    fields = text.split()
    if len(fields) != len(_FIELDS):
        raise ScheduleError("A cron expression has six fields")
    if (fields[2] == "?") == (fields[4] == "?"):
        raise ScheduleError("Exactly one of day of month and day of week must be ?")
    return tuple(
        _parse_field(field, lowest, highest, names)
        for field, (lowest, highest, names) in zip(fields, _FIELDS, strict=True)
    )


def _parse_field(text: str, lowest: int, highest: int, names: list[str]) -> frozenset[int]:
    values: set[int] = set()
    for part in text.split(","):
        span, _, step = part.partition("/")
        first, _, last = span.partition("-")
        if span in ("*", "?"):
            start, end = lowest, highest
        else:
            start = _parse_value(first, lowest, names)
            end = _parse_value(last, lowest, names) if last else (highest if step else start)
        if step and not step.isdecimal():
            raise ScheduleError(f"Not a field of a cron expression: {text}")
        if not lowest <= start <= end <= highest or step == "0":
            raise ScheduleError(f"Not a field of a cron expression: {text}")
        values.update(range(start, end + 1, int(step or 1)))
    return frozenset(values)


def _parse_value(text: str, lowest: int, names: list[str]) -> int:
    if text.upper() in names:
        return lowest + names.index(text.upper())
    if not text.isdecimal() or len(text) > 4:
        raise ScheduleError(f"Not a field of a cron expression: {text}")
    return int(text)
