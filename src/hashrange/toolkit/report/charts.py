"""Diagrams as SVG: the heat map of a store's keys, bars of costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from hashrange.capacity.key_ranges import PARTITION_WRITE_UNITS
from hashrange.toolkit.cost.plans import Plan
from hashrange.toolkit.report.markup import Markup, element, joined
from hashrange.toolkit.simulate.run import CELLS, StoreRun

_CELL_WIDTH: Final = 20
_ROW_HEIGHT: Final = 11
_LEFT: Final = 46
_SCALE: Final = ("#e3ecf9", "#c9dcf5", "#a6c8ef", "#7db0e6", "#5596da", "#3579c4", "#1f5ca6")
_HOT: Final = "#d6453a"
_HOT_UNITS: Final = 0.9 * PARTITION_WRITE_UNITS


def busiest(run: StoreRun) -> float:
    """Return the units per second of the busiest cell in its busiest minute."""
    return max((value for minute in run.minutes for value in minute.cells), default=0.0) / 60


def heat_map(run: StoreRun) -> Markup:
    """Return the heat of a store: hash range from left to right, a simulated day downwards.

    Blue is a share of the busiest cell. Red is heat that a partition can hardly serve.
    """
    top = busiest(run)
    width, height = _LEFT + CELLS * _CELL_WIDTH, len(run.minutes) * _ROW_HEIGHT + 34
    cells = []
    for row, minute in enumerate(run.minutes):
        y = row * _ROW_HEIGHT + 4
        if row % 6 == 0:
            cells.append(element("text", f"{row:02d}:00", x=2, y=y + 9))
        for column, value in enumerate(minute.cells):
            cells.append(
                element(
                    "rect",
                    x=_LEFT + column * _CELL_WIDTH,
                    y=y,
                    width=_CELL_WIDTH - 1,
                    height=_ROW_HEIGHT - 1,
                    rx=2,
                    fill=_colour(value / 60, top),
                )
            )
    bottom = len(run.minutes) * _ROW_HEIGHT + 22
    cells += [
        element("text", "hash 0", x=_LEFT, y=bottom),
        element("text", "hash 1", x=width, y=bottom, text_anchor="end"),
        element("text", _legend(run, top), x=width / 2, y=bottom, text_anchor="middle"),
    ]
    return element("svg", *cells, viewBox=f"0 0 {width} {height}", role="img")


def _legend(run: StoreRun, top: float) -> str:
    lost = f", {run.throttled_share:.1%} of all throttled" if run.throttled else ""
    return f"darkest: {top:,.1f} units per second; red: more than {_HOT_UNITS:,.0f}{lost}"


def _colour(units: float, top: float) -> str:
    if units <= 0:
        return "var(--shade)"
    if units >= _HOT_UNITS:
        return _HOT
    return _SCALE[min(len(_SCALE) - 1, int(units / top * len(_SCALE)))]


def plan_bars(plans: Sequence[Plan], advised: Plan) -> Markup:
    """Return the plans as bars, cheapest first."""
    ordered = sorted(plans, key=lambda plan: plan.total)
    top = max(plan.total for plan in ordered) or 1.0
    rows = []
    for number, plan in enumerate(ordered):
        y = number * 34 + 6
        colour, weight = ("var(--good)", "strong") if plan is advised else ("var(--accent)", "")
        wide, storage = 560 * plan.throughput / top, 560 * plan.storage / top
        amount = f"{plan.total:,.2f}" + (
            f"  ({plan.throttled:.1%} throttled)" if plan.throttled > 0.0005 else ""
        )
        rows.append(
            joined(
                element("text", plan.name, x=0, y=y + 15, class_=weight),
                element("rect", x=250, y=y, width=max(1.0, wide), height=21, rx=4, fill=colour),
                element(
                    "rect",
                    x=250 + wide,
                    y=y,
                    width=max(0.5, storage),
                    height=21,
                    rx=4,
                    fill=colour,
                    opacity=0.4,
                ),
                element("text", amount, x=258 + wide + storage, y=y + 15),
            )
        )
    return element("svg", *rows, viewBox=f"0 0 1000 {len(ordered) * 34 + 8}", role="img")


def cost_bars(costs: Sequence[tuple[str, float, float]]) -> Markup:
    """Return the monthly costs of patterns as bars: reads, then writes."""
    top = max((read + write for _, read, write in costs), default=0.0) or 1.0
    rows = []
    for number, (name, read, write) in enumerate(costs):
        y = number * 26 + 4
        first, second = 620 * read / top, 620 * write / top
        rows.append(
            joined(
                element("text", name, x=0, y=y + 13),
                element(
                    "rect", x=250, y=y, width=max(0.5, first), height=16, rx=3, fill="var(--accent)"
                ),
                element(
                    "rect",
                    x=250 + first,
                    y=y,
                    width=max(0.5, second),
                    height=16,
                    rx=3,
                    fill="var(--good)",
                ),
                element("text", f"{read + write:,.2f}", x=258 + first + second, y=y + 13),
            )
        )
    return element("svg", *rows, viewBox=f"0 0 1000 {len(costs) * 26 + 6}", role="img")
