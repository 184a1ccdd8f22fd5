"""The functions of metric math, by name; names in AWS's documentation that are missing are refused.

Each takes the window and its arguments. Functions that reduce take a list of series and return one
series, or one series and return a number.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import pairwise
from typing import Final

from hashrange.metrics.math.parser import MathError
from hashrange.metrics.math.values import TimeSeries, Value, Window, as_list, as_series

Function = Callable[[Window, list[Value]], Value]


def _reduce(compute: Callable[[list[float]], float]) -> Function:
    """Return a function from series to a series, point by point, or from a series to a number."""

    def apply(window: Window, arguments: list[Value]) -> Value:
        (value,) = arguments
        if isinstance(value, list):
            times = {time for series in value for time in series.values}
            period = max((series.period for series in value), default=window.period)
            return TimeSeries(
                {
                    time: compute([s.values[time] for s in value if time in s.values])
                    for time in times
                },
                period,
            )
        if isinstance(value, float):
            return value
        series = as_series(value, window)
        if not series.values:
            return series
        return compute(list(series.values.values()))

    return apply


def _each(compute: Callable[[float], float | None]) -> Function:
    """Return a function of every value."""

    def apply(window: Window, arguments: list[Value]) -> Value:
        (value,) = arguments
        if isinstance(value, float):
            result = compute(value)
            if result is None:
                raise MathError("The function is not defined for the number")
            return result
        if isinstance(value, list):
            return [series.map(compute) for series in value]
        return as_series(value, window).map(compute)

    return apply


def _deviation(values: list[float]) -> float:
    """Return the standard deviation; the library's own is slow to import."""
    mean = sum(values) / len(values)
    return math.sqrt(sum((value - mean) ** 2 for value in values) / len(values))


def _per_series(compute: Callable[[TimeSeries], TimeSeries]) -> Function:
    """Return a function of one series, or of each of a list."""

    def apply(window: Window, arguments: list[Value]) -> Value:
        (value,) = arguments
        if isinstance(value, list):
            return [compute(series) for series in value]
        return compute(as_series(value, window))

    return apply


def _differences(series: TimeSeries) -> TimeSeries:
    points = series.ordered()
    pairs = pairwise(points)
    return series.with_values({time: value - old for (_, old), (time, value) in pairs})


def _time_differences(series: TimeSeries) -> TimeSeries:
    times = sorted(series.values)
    pairs = pairwise(times)
    return series.with_values({time: float(time - old) for old, time in pairs})


def _rates(series: TimeSeries) -> TimeSeries:
    points = series.ordered()
    pairs = pairwise(points)
    return series.with_values(
        {time: (value - old) / (time - before) for (before, old), (time, value) in pairs}
    )


def _running_sum(series: TimeSeries) -> TimeSeries:
    total = 0.0
    values: dict[int, float] = {}
    for time, value in series.ordered():
        total += value
        values[time] = total
    return series.with_values(values)


def _calendar(part: Callable[[datetime], float]) -> Callable[[TimeSeries], TimeSeries]:
    def apply(series: TimeSeries) -> TimeSeries:
        return series.with_values(
            {time: part(datetime.fromtimestamp(time, UTC)) for time in series.values}
        )

    return apply


def _period(window: Window, arguments: list[Value]) -> Value:
    (value,) = arguments
    return float(as_series(value, window).period)


def _fill(window: Window, arguments: list[Value]) -> Value:
    value, filling = arguments
    if isinstance(value, list):
        return [_fill_one(window, series, filling) for series in value]
    return _fill_one(window, as_series(value, window), filling)


def _fill_one(window: Window, series: TimeSeries, filling: Value) -> TimeSeries:
    period = series.period or window.period
    times = range(window.start - window.start % period, window.end, period)
    # Points that are not at full periods say where the others would be.
    if series.values:
        shift = min(series.values) % period
        times = range(times.start + shift, times.stop, period)
    if isinstance(filling, (float, TimeSeries)):
        other = as_series(filling, window).values if isinstance(filling, TimeSeries) else None
        values = dict(series.values)
        for time in times:
            if time not in values:
                if other is None:
                    assert isinstance(filling, float)
                    values[time] = filling
                elif time in other:
                    values[time] = other[time]
        return series.with_values(values)
    if filling not in ("REPEAT", "LINEAR"):
        raise MathError("FILL takes a number, a time series, REPEAT or LINEAR")
    return series.with_values(_bridged(series.ordered(), times, is_linear=filling == "LINEAR"))


def _bridged(points: list[tuple[int, float]], times: range, *, is_linear: bool) -> dict[int, float]:
    """Return points with the gaps between them filled by the last one, or by a line."""
    values = dict(points)
    for number, (begin, value) in enumerate(points):
        following = points[number + 1] if number + 1 < len(points) else None
        end = times.stop if following is None else following[0]
        for time in range(begin + times.step, end, times.step):
            if following is None or not is_linear:
                if not is_linear:
                    values[time] = value
                continue
            share = (time - begin) / (following[0] - begin)
            values[time] = value + (following[1] - value) * share
    return values


def _if(window: Window, arguments: list[Value]) -> Value:
    if len(arguments) == 2:
        arguments = [*arguments, TimeSeries({}, window.period)]
    condition, yes, no = arguments
    if isinstance(condition, float):
        return yes if condition else no
    asked = as_series(condition, window)
    values: dict[int, float] = {}
    for time, truth in asked.values.items():
        chosen = yes if truth else no
        if isinstance(chosen, float):
            values[time] = chosen
        else:
            series = as_series(chosen, window)
            if time in series.values:
                values[time] = series.values[time]
    return asked.with_values(values)


def _last(window: Window, arguments: list[Value]) -> Value:
    (value,) = arguments
    if isinstance(value, list):
        return value[-1]
    return as_series(value, window).ordered()[-1][1]


def _first(window: Window, arguments: list[Value]) -> Value:
    (value,) = arguments
    if isinstance(value, list):
        return value[0]
    return as_series(value, window).ordered()[0][1]


def _slice(window: Window, arguments: list[Value]) -> Value:
    found = as_list(arguments[0], window)
    bounds = [int(_number(bound)) for bound in arguments[1:]]
    if not 1 <= len(bounds) <= 2:
        raise MathError("SLICE takes a list and one or two numbers")
    if len(bounds) == 1:
        return found[: bounds[0]]
    return found[bounds[0] : bounds[1]]


_SORT_KEYS: Final[dict[str, Callable[[list[float]], float]]] = {
    "SUM": sum,
    "AVG": lambda values: sum(values) / len(values),
    "MIN": min,
    "MAX": max,
    "STDDEV": _deviation,
}


def _sort(window: Window, arguments: list[Value]) -> Value:
    if not 3 <= len(arguments) <= 4:
        raise MathError("SORT takes a list, a function, an order and perhaps a limit")
    found, function, order = as_list(arguments[0], window), arguments[1], arguments[2]
    compute = _SORT_KEYS.get(str(function))
    if compute is None or order not in ("ASC", "DESC"):
        raise MathError("SORT takes SUM, AVG, MIN, MAX or STDDEV, and ASC or DESC")
    ordered = sorted(
        (series for series in found if series.values),
        key=lambda series: compute(list(series.values.values())),
        reverse=order == "DESC",
    )
    ordered += [series for series in found if not series.values]
    return ordered[: int(_number(arguments[3]))] if len(arguments) == 4 else ordered


def _remove_empty(window: Window, arguments: list[Value]) -> Value:
    (value,) = arguments
    return [series for series in as_list(value, window) if series.values]


def _time_series(window: Window, arguments: list[Value]) -> Value:
    (value,) = arguments
    return as_series(value, window)


def _metric_count(window: Window, arguments: list[Value]) -> Value:
    (value,) = arguments
    return float(len(as_list(value, window)))


def _number(value: Value) -> float:
    if not isinstance(value, float):
        raise MathError("The function needs a number")
    return value


def _logarithm(compute: Callable[[float], float]) -> Callable[[float], float | None]:
    return lambda value: compute(value) if value > 0 else None


FUNCTIONS: Final[dict[str, Function]] = {
    "ABS": _each(abs),
    "AVG": _reduce(lambda values: sum(values) / len(values)),
    "CEIL": _each(lambda value: float(math.ceil(value))),
    "DATAPOINT_COUNT": _reduce(lambda values: float(len(values))),
    "DATE": _per_series(_calendar(lambda moment: float(moment.day))),
    "DAY": _per_series(_calendar(lambda moment: float(moment.isoweekday()))),
    "DIFF": _per_series(_differences),
    "DIFF_TIME": _per_series(_time_differences),
    "EPOCH": _per_series(_calendar(lambda moment: moment.timestamp())),
    "FILL": _fill,
    "FIRST": _first,
    "FLOOR": _each(lambda value: float(math.floor(value))),
    "HOUR": _per_series(_calendar(lambda moment: float(moment.hour))),
    "IF": _if,
    "LAST": _last,
    "LOG": _each(_logarithm(math.log)),
    "LOG10": _each(_logarithm(math.log10)),
    "MAX": _reduce(max),
    "METRIC_COUNT": _metric_count,
    "MIN": _reduce(min),
    "MINUTE": _per_series(_calendar(lambda moment: float(moment.minute))),
    "MONTH": _per_series(_calendar(lambda moment: float(moment.month))),
    "PERIOD": _period,
    "RATE": _per_series(_rates),
    "REMOVE_EMPTY": _remove_empty,
    "RUNNING_SUM": _per_series(_running_sum),
    "SLICE": _slice,
    "SORT": _sort,
    "STDDEV": _reduce(_deviation),
    "SUM": _reduce(sum),
    "TIME_SERIES": _time_series,
    "YEAR": _per_series(_calendar(lambda moment: float(moment.year))),
}
