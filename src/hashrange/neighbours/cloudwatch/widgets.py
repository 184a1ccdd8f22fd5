"""Reads the JSON of a metric widget: what GetMetricWidgetImage is to draw.

Members that are not known are refused, so that nothing is left out of a picture without a word.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta, Struct

from hashrange.metrics.queries import Query
from hashrange.metrics.store import MINUTE
from hashrange.neighbours.cloudwatch.requests import check_period, validation_error
from hashrange.neighbours.service import ServiceError

WIDGET_BYTES_MAX: Final = 100_000
METRICS_MAX: Final = 100
_NAME_PARTS: Final = 2
_RELATIVE: Final = re.compile(
    r"(?P<sign>-?)P(?:(?P<weeks>\d{1,4})W)?(?:(?P<days>\d{1,5})D)?"
    r"(?:T(?:(?P<hours>\d{1,6})H)?(?:(?P<minutes>\d{1,7})M)?(?:(?P<seconds>\d{1,9})S)?)?"
)
_ZONE: Final = re.compile(r"([+-])([01]\d|2[0-3]):?([0-5]\d)")

Color = Annotated[str, Meta(pattern=r"^#([0-9A-Fa-f]{3}|[0-9A-Fa-f]{6})$")]
Pixels = Annotated[int, Meta(ge=1, le=2000)]
Side = Literal["left", "right"]


class _Part(Struct, forbid_unknown_fields=True, rename="camel", frozen=True):
    """A part of a widget; members are named as in the JSON, in snake case here."""


class Rendering(_Part, frozen=True):
    """How a metric or an expression is drawn."""

    id: str | None = None
    expression: str | None = None
    label: str | None = None
    color: Color | None = None
    period: int | None = None
    region: str | None = None
    stat: str | None = None
    visible: bool = True
    y_axis: Side = "left"


class Level(_Part, frozen=True):
    """A horizontal line at a value; two of them in a list are a band."""

    value: float
    label: str = ""
    color: Color | None = None
    fill: Literal["none", "above", "below"] = "none"
    visible: bool = True
    y_axis: Side = "left"


class Instant(_Part, frozen=True):
    """A vertical line at a time; two of them in a list are a band."""

    value: datetime
    label: str = ""
    color: Color | None = None
    fill: Literal["none", "before", "after"] = "none"
    visible: bool = True


class Annotations(_Part, frozen=True):
    horizontal: list[Level | list[Level]] = []
    vertical: list[Instant | list[Instant]] = []


class Axis(_Part, frozen=True):
    min: float | None = None
    max: float | None = None
    label: str = ""
    show_units: bool = True


class Axes(_Part, frozen=True):
    left: Axis = Axis()
    right: Axis = Axis()


class Legend(_Part, frozen=True):
    position: Literal["bottom", "right", "hidden"] = "bottom"


class Widget(_Part, frozen=True):
    """A metric widget as clients write it."""

    metrics: Annotated[list[list[Any]], Meta(min_length=1, max_length=METRICS_MAX)]
    annotations: Annotations = Annotations()
    end: str = "PT0H"
    height: Pixels = 400
    legend: Legend = Legend()
    live_data: bool = False
    period: int = 300
    region: str | None = None
    set_period_to_time_range: bool = False
    stacked: bool = False
    start: str = "-PT3H"
    stat: str = "Average"
    theme: Literal["light", "dark"] = "light"
    timezone: str = "+0000"
    title: str = ""
    view: Literal["timeSeries", "singleValue", "bar", "pie"] = "timeSeries"
    width: Pixels = 600
    y_axis: Axes = Axes()


@dataclass(frozen=True, slots=True)
class Line:
    """A metric or an expression of a widget: its query, and how it is drawn."""

    query: Query
    rendering: Rendering


def read_widget(text: str) -> Widget:
    """Return the widget that a JSON text describes."""
    if len(text.encode()) > WIDGET_BYTES_MAX:
        raise invalid(f"it has more than {WIDGET_BYTES_MAX} bytes")
    try:
        return msgspec.json.decode(text, type=Widget)
    except msgspec.MsgspecError as error:
        raise invalid(str(error)) from None


def invalid(reason: str) -> ServiceError:
    return validation_error(f"Invalid metric widget: {reason}")


def zone_of(widget: Widget) -> timezone:
    """Return the time zone of the labels of the time axis."""
    found = _ZONE.fullmatch(widget.timezone)
    if found is None:
        raise invalid(f"timezone is an offset such as +0130, not {widget.timezone!r}")
    offset = timedelta(hours=int(found[2]), minutes=int(found[3]))
    return timezone(-offset if found[1] == "-" else offset)


def span_of(widget: Widget, now: float) -> tuple[int, int]:
    """Return the first and the last second of a widget.

    The minute that has not ended belongs to it only with `liveData`.
    """
    start, end = _moment(widget.start, now), _moment(widget.end, now)
    if not widget.live_data:
        end = min(end, now - now % MINUTE)
    if start < 0 or start >= end:
        raise invalid("start is not before end")
    return int(start) - int(start) % MINUTE, int(end)


def _moment(text: str, now: float) -> float:
    """Return a time that is absolute, or relative to now."""
    found = _RELATIVE.fullmatch(text)
    if found is not None:
        parts = {name: int(part) for name, part in found.groupdict("0").items() if name != "sign"}
        seconds = timedelta(**parts).total_seconds()
        return now - seconds if found["sign"] else now + seconds
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise invalid(f"{text!r} is neither a time nor a duration such as -PT3H") from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def lines_of(widget: Widget, region: str, span: tuple[int, int]) -> list[Line]:
    """Return the metrics and expressions of a widget, with `.` and `...` filled in."""
    lines: list[Line] = []
    before: list[str] = []
    for number, row in enumerate(widget.metrics):
        names, rendering = _split(number, row)
        for place in (widget.region, rendering.region):
            if place not in (None, region):
                raise invalid(f"metrics of the region {place} are not drawn in {region}")
        if rendering.expression is not None:
            if names:
                raise invalid(f"metrics[{number}] is both a metric and an expression")
            query: Query = {"Expression": rendering.expression}
            if rendering.period is not None:
                query["Period"] = check_period(rendering.period)
        else:
            before = _fill_in(number, names, before)
            query = {"MetricStat": _metric_stat(widget, rendering, before, span)}
        query["Id"] = rendering.id or f"line{number}"
        if rendering.label is not None:
            query["Label"] = rendering.label
        lines.append(Line(query, rendering))
    return lines


def _split(number: int, row: list[Any]) -> tuple[list[str], Rendering]:
    """Return the names in a row of metrics, and how it is drawn."""
    properties: Any = {}
    if row and isinstance(row[-1], dict):
        *row, properties = row
    if not all(isinstance(name, str) for name in row):
        raise invalid(f"metrics[{number}] is a list of texts with an object at its end")
    try:
        return list(row), msgspec.convert(properties, Rendering)
    except msgspec.MsgspecError as error:
        raise invalid(f"metrics[{number}]: {error}") from None


def _fill_in(number: int, names: list[str], before: list[str]) -> list[str]:
    """Return the names of a metric; `.` and `...` stand for those of the metric before it."""
    if "..." in names:
        place = names.index("...")
        missing = len(before) - len(names) + 1
        names = names[:place] + before[place : place + missing] + names[place + 1 :]
    filled = [
        before[place] if name == "." and place < len(before) else name
        for place, name in enumerate(names)
    ]
    if len(filled) < _NAME_PARTS or len(filled) % 2 or "." in filled or "..." in filled:
        raise invalid(f"metrics[{number}] is not a namespace, a metric and pairs of dimensions")
    return filled


def _metric_stat(
    widget: Widget, rendering: Rendering, names: list[str], span: tuple[int, int]
) -> dict[str, Any]:
    namespace, metric, *pairs = names
    dimensions = [
        {"Name": name, "Value": value} for name, value in zip(pairs[::2], pairs[1::2], strict=True)
    ]
    period = check_period(rendering.period or widget.period)
    if widget.set_period_to_time_range:
        period = -(-(span[1] - span[0]) // MINUTE) * MINUTE
    return {
        "Metric": {"Namespace": namespace, "MetricName": metric, "Dimensions": dimensions},
        "Period": period,
        "Stat": rendering.stat or widget.stat,
    }
