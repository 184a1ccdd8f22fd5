"""Values of metric math: a number, a time series, or a list of time series."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

from hashrange.metrics.math.parser import MathError


@dataclass(frozen=True, slots=True)
class TimeSeries:
    """Values by time, with their period in seconds."""

    values: dict[int, float]
    period: int
    label: str = ""
    id: str = ""

    def map(self, change: Callable[[float], float | None]) -> TimeSeries:
        """Return the series with each value changed; None leaves a point out."""
        changed = ((time, change(value)) for time, value in self.values.items())
        return self.with_values({time: value for time, value in changed if value is not None})

    def with_values(self, values: dict[int, float]) -> TimeSeries:
        return replace(self, values=values)

    def ordered(self) -> list[tuple[int, float]]:
        """Return the points, oldest first."""
        return sorted(self.values.items())


Value = float | str | TimeSeries | list[TimeSeries]


class Window(NamedTuple):
    """The time that is asked about, and the largest period of the metrics."""

    start: int
    end: int
    period: int

    def times(self) -> range:
        """Return the times at which a series without gaps has points."""
        return range(self.start - self.start % self.period, self.end, self.period)


def as_series(value: Value, window: Window) -> TimeSeries:
    """Return a value as one series; a number has the same value everywhere."""
    if isinstance(value, TimeSeries):
        return value
    if isinstance(value, float):
        return TimeSeries(dict.fromkeys(window.times(), value), window.period)
    if isinstance(value, list) and len(value) == 1:
        return value[0]
    raise MathError("The function needs a single time series")


def as_list(value: Value, window: Window) -> list[TimeSeries]:
    """Return a value as a list of series."""
    return value if isinstance(value, list) else [as_series(value, window)]


def combine(left: Value, right: Value, compute: Callable[[float, float], float | None]) -> Value:
    """Apply an operator: point by point where both sides have one, or to each series of a list."""
    if isinstance(left, str) or isinstance(right, str):
        raise MathError("A text cannot be an operand")
    if isinstance(left, list) or isinstance(right, list):
        if isinstance(left, list) and isinstance(right, list):
            if len(left) != len(right):
                raise MathError("Lists of time series must be of the same length")
            pairs = list(zip(left, right, strict=True))
            return [_one(a, b, compute) for a, b in pairs]
        if isinstance(left, list):
            return [_one(member, right, compute) for member in left]
        assert isinstance(right, list)
        return [_one(left, member, compute) for member in right]
    if isinstance(left, float) and isinstance(right, float):
        result = compute(left, right)
        if result is None:
            raise MathError("The expression divides by zero")
        return result
    return _one(left, right, compute)


def _one(left: Value, right: Value, compute: Callable[[float, float], float | None]) -> TimeSeries:
    if isinstance(left, TimeSeries) and isinstance(right, TimeSeries):
        values = {
            time: result
            for time, value in left.values.items()
            if time in right.values and (result := compute(value, right.values[time])) is not None
        }
        return left.with_values(values)
    if isinstance(left, TimeSeries):
        assert isinstance(right, float)
        number = right
        return left.map(lambda value: compute(value, number))
    assert isinstance(left, float)
    assert isinstance(right, TimeSeries)
    first = left
    return right.map(lambda value: compute(first, value))
