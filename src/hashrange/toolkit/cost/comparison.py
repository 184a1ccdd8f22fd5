"""Compares the ways to pay for each table of a design, and says which one to take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, final

from hashrange.toolkit.cost.consumption import Estimate
from hashrange.toolkit.cost.plans import (
    THROTTLED_MAX,
    Plan,
    Scaling,
    Stored,
    best,
    by_name,
    compare,
)
from hashrange.toolkit.cost.prices import SECONDS_PER_MONTH, Prices
from hashrange.toolkit.cost.series import Series
from hashrange.toolkit.design.entities import Entity
from hashrange.toolkit.design.model import Design
from hashrange.toolkit.design.patterns import AccessPattern
from hashrange.toolkit.design.tables import Table

ITEM_OVERHEAD_BYTES: Final = 100
"""What DynamoDB adds to each item, in the table and in each index, when it bills storage."""

CLOSE: Final = 0.10
SAVING_MIN: Final = 5.0
"""Savings below this share of on-demand, or below this amount a month, are not worth the care."""

GIGABYTE: Final = 1024**3


@final
@dataclass(frozen=True)
class TableCosts:
    """The plans of a table, the one to take, and why."""

    table: Table
    series: Mapping[str, Series]
    stored: Stored
    plans: tuple[Plan, ...]
    advised: Plan
    reasons: tuple[str, ...]


def compare_tables(
    design: Design, series: Mapping[str, Series], prices: Prices
) -> list[TableCosts]:
    """Return the comparison for each table that has traffic or data."""
    found = []
    for table in design.tables:
        own = {s: each for s, each in series.items() if s.partition(".")[0] == table.name}
        if not own:
            continue
        stored = storage_of(design, table)
        scaling = _scaling(table)
        plans = compare(list(own.values()), stored, prices, scaling)
        advised, reasons = advise(plans, list(own.values()))
        found.append(TableCosts(table, own, stored, tuple(plans), advised, reasons))
    return found


def storage_of(design: Design, table: Table) -> Stored:
    """Return what the declared volumes of a table take, indexes and overhead included."""
    size = 0.0
    for entity in design.entities_of(table.name):
        items = entity.volume.items or 0
        size += items * (_bytes(design, entity, None) + ITEM_OVERHEAD_BYTES)
        for index in design.indexes_of(entity):
            size += items * (_bytes(design, entity, index.name) + ITEM_OVERHEAD_BYTES)
    gigabytes = size / GIGABYTE
    return Stored(gigabytes, gigabytes if table.point_in_time_recovery else 0.0)


def _bytes(design: Design, entity: Entity[Any], index: str | None) -> int:
    table = design.table(entity.table)
    estimate = Estimate(design, AccessPattern("storage", "get", (entity.name,)))
    return estimate.projected_bytes(entity, table.index(index) if index else None)


def _scaling(table: Table) -> Scaling:
    declared = table.capacity.auto_scaling
    if declared is None:
        return Scaling()
    return Scaling(declared.minimum_units, declared.maximum_units, declared.target_percent / 100)


def advise(plans: list[Plan], series: list[Series]) -> tuple[Plan, tuple[str, ...]]:
    """Return the plan to take, with reasons.

    It is the cheapest that adapts to traffic without a commitment, unless on-demand is about as
    cheap. Reserved capacity is mentioned, not advised: whether traffic stays for years is for
    people to decide. Capacity fixed at the peak is shown, but throttles when the peak grows.
    """
    named = by_name(plans)
    on_demand = named["on-demand"]
    cheapest = best([plan for plan in plans if plan.adapts])
    chosen, reasons = cheapest, []
    worth = max(on_demand.total * CLOSE, SAVING_MIN)
    if cheapest is not on_demand and on_demand.total - cheapest.total < worth:
        chosen = on_demand
        reasons.append(
            f"{cheapest.name} would save less than {worth:,.2f} and needs planning and watching"
        )
    elif cheapest is not on_demand:
        reasons.append(f"it costs {_saving(cheapest, on_demand)} less than on-demand")
    ratio = peak_to_average(series)
    if ratio is not None:
        shape = "steady" if ratio < 2 else "uneven" if ratio < 5 else "spiky"
        reasons.append(f"the traffic is {shape}: its peak is {ratio:.1f} times its average")
    if named["auto-scaled"].throttled > THROTTLED_MAX:
        share = named["auto-scaled"].throttled
        reasons.append(f"automatic scaling would be too slow: {share:.1%} would be throttled")
    committed = min((p for p in plans if "reserved" in p.name), key=lambda plan: plan.total)
    if committed.total < chosen.total * (1 - CLOSE):
        saving = _saving(committed, chosen)
        reasons.append(f"{committed.name} would cost {saving} less, if the traffic stays")
    return chosen, tuple(reasons)


def _saving(cheaper: Plan, dearer: Plan) -> str:
    saved = dearer.total - cheaper.total
    return f"{saved:,.2f} ({saved / dearer.total:.0%})"


def peak_to_average(series: list[Series]) -> float | None:
    """Return how many times its average the peak of the traffic is; None without traffic."""
    average = sum(each.average.read + each.average.write for each in series)
    peak = sum(each.peak.read + each.peak.write for each in series)
    return peak / average if average else None


def pattern_costs(design: Design, prices: Prices) -> dict[str, tuple[float, float] | None]:
    """Return read and write cost per month of each pattern on demand; None without a rate."""
    found: dict[str, tuple[float, float] | None] = {}
    for pattern in design.patterns:
        if pattern.rate is None:
            found[pattern.name] = None
            continue
        consumption = Estimate(design, pattern).consumption()
        calls = pattern.rate.average * SECONDS_PER_MONTH
        read = write = 0.0
        for stores, is_read in ((consumption.reads, True), (consumption.writes, False)):
            for store, units in stores.items():
                table_class = design.table(store.partition(".")[0]).table_class
                if is_read:
                    read += prices.request_cost(calls * units, 0, table_class)
                else:
                    write += prices.request_cost(0, calls * units, table_class)
        found[pattern.name] = (read, write)
    return found
