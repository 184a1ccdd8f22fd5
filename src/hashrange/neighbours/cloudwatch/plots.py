"""Draws metric widgets as PNG with matplotlib, which is imported with the first picture.

Everything here is slow and runs in one thread of its own: matplotlib shares its fonts.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timezone
from typing import TYPE_CHECKING, Final

from hashrange.metrics.math.values import TimeSeries
from hashrange.neighbours.cloudwatch.widgets import Axis, Instant, Level, Widget

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Plot
    from matplotlib.figure import Figure
    from matplotlib.text import Text

_DOTS_PER_INCH: Final = 100
_PALETTE: Final = (
    *("#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd"),
    *("#8c564b", "#e377c2", "#7f7f7f", "#bcbd22", "#17becf"),
)
_PAPER: Final = {"light": "#ffffff", "dark": "#1b2635"}
_INK: Final = {"light": "#333333", "dark": "#d5dbdb"}
_GRID: Final = "#88888844"
_ANNOTATION: Final = "#d62728"
_FILL_OPACITY: Final = 0.15
_STACK_OPACITY: Final = 0.6
_MARGIN: Final = 0.05
_SMALL: Final = 8
_LARGE: Final = 10
_LEGEND_COLUMNS_MAX: Final = 3
_LABEL_CHARACTERS_MAX: Final = 60


@dataclass(frozen=True, slots=True)
class Curve:
    """A line of a plot: where its values are, what it is called, and how it looks."""

    series: TimeSeries
    label: str
    unit: str
    color: str | None
    is_right: bool


def draw(widget: Widget, curves: Sequence[Curve], span: tuple[int, int], zone: timezone) -> bytes:
    """Return the picture of a widget as PNG; ImportError says that matplotlib is missing."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    size = (widget.width / _DOTS_PER_INCH, widget.height / _DOTS_PER_INCH)
    figure = Figure(size, dpi=_DOTS_PER_INCH, layout="constrained", facecolor=_PAPER[widget.theme])
    FigureCanvasAgg(figure)
    with warnings.catch_warnings():
        # Of letters that the font lacks, and of pictures too small for their labels.
        warnings.simplefilter("ignore")
        plot = figure.add_subplot()
        _View(figure, plot, widget).draw(curves, span, zone)
        drawn = io.BytesIO()
        figure.savefig(drawn, format="png")
    return drawn.getvalue()


class _View:
    """One picture while it is drawn."""

    def __init__(self, figure: Figure, plot: Plot, widget: Widget) -> None:
        self._figure = figure
        self._plot = plot
        self._widget = widget
        self._ink = _INK[widget.theme]

    def draw(self, curves: Sequence[Curve], span: tuple[int, int], zone: timezone) -> None:
        colors = [curve.color or _PALETTE[n % len(_PALETTE)] for n, curve in enumerate(curves)]
        if self._widget.title:
            _write(self._plot.set_title(self._widget.title, fontsize=_LARGE, color=self._ink))
        self._plot.set_facecolor(_PAPER[self._widget.theme])
        view = self._widget.view
        if view == "timeSeries":
            self._draw_lines(curves, colors, span, zone)
        elif view == "bar":
            self._draw_bars(curves, colors)
        elif view == "pie":
            self._draw_pie(curves, colors)
        else:
            self._draw_numbers(curves, colors)

    def _draw_lines(
        self,
        curves: Sequence[Curve],
        colors: Sequence[str],
        span: tuple[int, int],
        zone: timezone,
    ) -> None:
        from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

        plot, widget = self._plot, self._widget
        sides = [plot]
        if any(curve.is_right for curve in curves):
            sides.append(plot.twinx())
        for side, axis, is_right in zip(
            sides, (widget.y_axis.left, widget.y_axis.right), (False, True), strict=False
        ):
            chosen = [
                (curve, color)
                for curve, color in zip(curves, colors, strict=True)
                if curve.is_right == is_right
            ]
            if widget.stacked:
                _stack(side, chosen)
            else:
                _trace(side, chosen)
            self._set_axis(side, axis, [curve for curve, _ in chosen])
        plot.set_xlim(_date(span[0]), _date(span[1]))
        locator = AutoDateLocator(tz=zone)  # type: ignore[no-untyped-call]
        plot.xaxis.set_major_locator(locator)
        labels = ConciseDateFormatter(locator, tz=zone)  # type: ignore[no-untyped-call]
        plot.xaxis.set_major_formatter(labels)
        plot.xaxis.get_offset_text().set(fontsize=_SMALL, color=self._ink)
        plot.grid(visible=True, color=_GRID)
        for level in widget.annotations.horizontal:
            self._draw_levels(sides, level if isinstance(level, list) else [level])
        for instant in widget.annotations.vertical:
            self._draw_instants(instant if isinstance(instant, list) else [instant])
        self._add_legend(curves, colors)

    def _set_axis(self, plot: Plot, axis: Axis, curves: Sequence[Curve]) -> None:
        """Give a vertical axis its limits and its label; a stack begins at zero."""
        bottom = 0.0 if axis.min is None and self._widget.stacked else axis.min
        plot.set_ylim(bottom=bottom, top=axis.max)
        units = dict.fromkeys(curve.unit for curve in curves if curve.unit != "None")
        label = axis.label or (", ".join(units) if axis.show_units else "")
        _write(plot.set_ylabel(label, fontsize=_SMALL, color=self._ink))
        plot.tick_params(labelsize=_SMALL, colors=self._ink)
        for spine in plot.spines.values():
            spine.set_color(_GRID)

    def _draw_levels(self, sides: Sequence[Plot], levels: Sequence[Level]) -> None:
        """Draw a horizontal line, or a band between two."""
        shown = [level for level in levels if level.visible]
        if not shown:
            return
        side = sides[-1] if shown[0].y_axis == "right" else sides[0]
        color = shown[0].color or _ANNOTATION
        values = [level.value for level in shown]
        low, high = _make_room(side, values)
        for level in shown:
            side.axhline(level.value, color=level.color or color, linewidth=1, linestyle="--")
            text = side.annotate(
                level.label,
                (0.01, level.value),
                xycoords=("axes fraction", "data"),
                xytext=(0, 2),
                textcoords="offset points",
                fontsize=_SMALL,
                color=level.color or color,
            )
            _write(text)
        if len(shown) > 1:
            side.axhspan(min(values), max(values), color=color, alpha=_FILL_OPACITY)
        elif shown[0].fill != "none":
            edge = high if shown[0].fill == "above" else low
            side.axhspan(values[0], edge, color=color, alpha=_FILL_OPACITY)

    def _draw_instants(self, instants: Sequence[Instant]) -> None:
        """Draw a vertical line, or a band between two."""
        shown = [instant for instant in instants if instant.visible]
        if not shown:
            return
        plot = self._plot
        color = shown[0].color or _ANNOTATION
        start, end = plot.get_xlim()
        for instant in shown:
            plot.axvline(
                _moment(instant.value), color=instant.color or color, linewidth=1, linestyle="--"
            )
            text = plot.annotate(
                instant.label,
                (_moment(instant.value), 0.98),
                xycoords=("data", "axes fraction"),
                xytext=(3, 0),
                textcoords="offset points",
                fontsize=_SMALL,
                color=instant.color or color,
                verticalalignment="top",
                annotation_clip=True,
            )
            _write(text)
        first = _moment(shown[0].value)
        if len(shown) > 1:
            plot.axvspan(first, _moment(shown[1].value), color=color, alpha=_FILL_OPACITY)
        elif shown[0].fill == "before":
            plot.axvspan(start, first, color=color, alpha=_FILL_OPACITY)
        elif shown[0].fill == "after":
            plot.axvspan(first, end, color=color, alpha=_FILL_OPACITY)
        plot.set_xlim(start, end)

    def _add_legend(self, curves: Sequence[Curve], colors: Sequence[str]) -> None:
        from matplotlib.lines import Line2D

        position = self._widget.legend.position
        if position == "hidden" or not curves:
            return
        handles = [Line2D([], [], color=color, linewidth=4) for color in colors]
        is_right = position == "right"
        legend = self._figure.legend(
            handles,
            [_shorten(curve.label) for curve in curves],
            loc="outside right upper" if is_right else "outside lower left",
            ncols=1 if is_right else min(len(curves), _LEGEND_COLUMNS_MAX),
            fontsize=_SMALL,
            frameon=False,
            labelcolor=self._ink,
        )
        for text in legend.get_texts():
            _write(text)

    def _draw_bars(self, curves: Sequence[Curve], colors: Sequence[str]) -> None:
        places = range(len(curves))
        self._plot.bar(places, [_last(curve) or 0.0 for curve in curves], color=list(colors))
        self._plot.set_xticks(places, [""] * len(curves))
        self._plot.grid(visible=True, axis="y", color=_GRID)
        self._set_axis(self._plot, self._widget.y_axis.left, curves)
        self._add_legend(curves, colors)

    def _draw_pie(self, curves: Sequence[Curve], colors: Sequence[str]) -> None:
        """Draw the shares of what is positive; a pie has no place for anything else."""
        values = [max(0.0, _last(curve) or 0.0) for curve in curves]
        if any(values):
            self._plot.pie(values, colors=list(colors))
        else:
            self._plot.set_axis_off()
        self._add_legend(curves, colors)

    def _draw_numbers(self, curves: Sequence[Curve], colors: Sequence[str]) -> None:
        self._plot.set_axis_off()
        for number, (curve, color) in enumerate(zip(curves, colors, strict=True)):
            value = _last(curve)
            left = (number + 0.5) / len(curves)
            unit = "" if curve.unit in ("None", "Count") else f" {curve.unit}"
            shown = "--" if value is None else f"{value:,.6g}{unit}"
            for text, height, size, ink in (
                (shown, 0.55, 2 * _LARGE, self._ink),
                (_shorten(curve.label), 0.3, _SMALL, color),
            ):
                written = self._plot.text(
                    left, height, text, fontsize=size, color=ink, horizontalalignment="center"
                )
                _write(written)


def _make_room(plot: Plot, values: Sequence[float]) -> tuple[float, float]:
    """Have values within a vertical axis, and return its ends."""
    low, high = plot.get_ylim()
    margin = _MARGIN * (max(high, *values) - min(low, *values))
    low = min([low, *(value - margin for value in values if value <= low)])
    high = max([high, *(value + margin for value in values if value >= high)])
    plot.set_ylim(low, high)
    return low, high


def _trace(plot: Plot, chosen: Sequence[tuple[Curve, str]]) -> None:
    for curve, color in chosen:
        points = curve.series.ordered()
        is_single = len(points) == 1
        plot.plot(
            [_date(time) for time, _ in points],
            [value for _, value in points],
            color=color,
            linewidth=1.5,
            marker="o" if is_single else "",
        )


def _stack(plot: Plot, chosen: Sequence[tuple[Curve, str]]) -> None:
    """Draw lines on top of each other; where one has no point, it counts as zero."""
    times = sorted({time for curve, _ in chosen for time in curve.series.values})
    if times:
        plot.stackplot(
            [_date(time) for time in times],
            [[curve.series.values.get(time, 0.0) for time in times] for curve, _ in chosen],
            colors=[color for _, color in chosen],
            alpha=_STACK_OPACITY,
        )


def _last(curve: Curve) -> float | None:
    points = curve.series.ordered()
    return points[-1][1] if points else None


def _write(text: Text) -> None:
    """Have a text written as it is: matplotlib would take what is between dollars for TeX."""
    text.set_parse_math(False)


def _shorten(label: str) -> str:
    if len(label) <= _LABEL_CHARACTERS_MAX:
        return label
    return f"{label[: _LABEL_CHARACTERS_MAX - 1]}…"


def _date(seconds: float) -> float:
    """Return a time as matplotlib counts it: in days since 1970."""
    return seconds / 86_400


def _moment(time: datetime) -> float:
    return _date((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp())
