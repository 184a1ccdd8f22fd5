"""Ways to pay for the same traffic: on-demand, provisioned, auto-scaled, reserved, standard-IA.

All costs are per month of 730 hours. The free tier is left out. Provisioned capacity is billed per
hour at the highest capacity of the hour. Automatic scaling follows AWS's rules at the resolution of
the series: capacity rises when a period exceeds the target, falls after 15 minutes below it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, final

from hashrange.toolkit.cost.prices import HOURS_PER_MONTH, RESERVED_UNITS, SECONDS_PER_MONTH, Prices
from hashrange.toolkit.cost.series import Series
from hashrange.toolkit.cost.traffic import Units

TARGET_DEFAULT: Final = 0.7
FALL_AFTER_SECONDS: Final = 900
BURST_SECONDS: Final = 300
THROTTLED_MAX: Final = 0.001
STANDARD: Final = "STANDARD"
INFREQUENT: Final = "STANDARD_INFREQUENT_ACCESS"


@final
@dataclass(frozen=True, slots=True)
class Stored:
    """What a table stores, with its indexes, in GB; `backed_up` has point-in-time recovery."""

    gigabytes: float
    backed_up: float = 0.0


@final
@dataclass(frozen=True, slots=True)
class Scaling:
    """Bounds and target of automatic scaling."""

    minimum: int = 1
    maximum: int = 40_000
    target: float = TARGET_DEFAULT


@final
@dataclass(frozen=True, slots=True)
class Plan:
    """One way to pay. `throttled` is the share of the units that would be throttled."""

    name: str
    throughput: float
    storage: float
    throttled: float = 0.0
    detail: str = ""

    @property
    def total(self) -> float:
        return self.throughput + self.storage

    @property
    def adapts(self) -> bool:
        """True for plans that follow the traffic and bind nobody."""
        return self.name.startswith(("on-demand", "auto-scaled"))


def compare(
    series: Sequence[Series], stored: Stored, prices: Prices, scaling: Scaling
) -> list[Plan]:
    """Return all plans for a table, whose series are those of the table and its indexes."""
    standard = _storage(stored, prices, STANDARD)
    infrequent = _storage(stored, prices, INFREQUENT)
    fixed = [_fixed(each) for each in series]
    scaled = [scale(each, scaling) for each in series]
    peak = Units(sum(f.read for f in fixed), sum(f.write for f in fixed))
    plans = [
        Plan("on-demand", _on_demand(series, prices, STANDARD), standard),
        Plan(
            "provisioned at the peak",
            _hours([(peak.read, peak.write)], prices, STANDARD),
            standard,
            detail=f"{peak.read:,.0f} read and {peak.write:,.0f} write units",
        ),
        _auto_scaled(series, scaled, standard, prices),
    ]
    plans += _reserved(scaled, standard, prices)
    plans += [
        Plan("on-demand, standard-IA", _on_demand(series, prices, INFREQUENT), infrequent),
        Plan(
            "auto-scaled, standard-IA",
            _hours(_summed(scaled), prices, INFREQUENT),
            infrequent,
            _throttled(series, scaled),
        ),
    ]
    return plans


def best(plans: Sequence[Plan], throttled_max: float = THROTTLED_MAX) -> Plan:
    """Return the cheapest plan that throttles next to nothing."""
    return min(
        (plan for plan in plans if plan.throttled <= throttled_max), key=lambda plan: plan.total
    )


@final
@dataclass(frozen=True, slots=True)
class Scaled:
    """Capacity per period, billed capacity per hour, and the units that were throttled."""

    hours: tuple[tuple[float, float], ...]
    throttled: Units


def scale(series: Series, scaling: Scaling) -> Scaled:
    """Follow a series with automatic scaling."""
    read, lost_read = _follow(series.read, series.period_seconds, scaling)
    write, lost_write = _follow(series.write, series.period_seconds, scaling)
    size = series.periods_per_hour
    hours = tuple(
        (max(read[at : at + size]), max(write[at : at + size])) for at in range(0, len(read), size)
    )
    return Scaled(hours, Units(lost_read, lost_write))


def _follow(values: Sequence[float], period: int, scaling: Scaling) -> tuple[list[float], float]:
    """Return the capacity in each period, and the throttled units per second, added up."""
    wait = max(1, math.ceil(FALL_AFTER_SECONDS / period))
    capacity = _bounded(values[-1] / scaling.target, scaling)  # the day before was like this one
    burst = capacity * BURST_SECONDS
    below, found, lost = 0, [], 0.0
    for value in values:
        found.append(capacity)
        excess = (value - capacity) * period
        lost += max(0.0, excess - burst) / period
        burst = min(max(burst - excess, 0.0), capacity * BURST_SECONDS)
        wanted = _bounded(value / scaling.target, scaling)
        below = below + 1 if wanted < capacity else 0
        if wanted > capacity or below >= wait:
            capacity, below = wanted, 0
    return found, lost


def _bounded(units: float, scaling: Scaling) -> float:
    return float(min(max(math.ceil(units), scaling.minimum), scaling.maximum))


def _fixed(series: Series) -> Units:
    return Units(max(1, math.ceil(series.peak.read)), max(1, math.ceil(series.peak.write)))


def _on_demand(series: Sequence[Series], prices: Prices, table_class: str) -> float:
    read = sum(each.average.read for each in series) * SECONDS_PER_MONTH
    write = sum(each.average.write for each in series) * SECONDS_PER_MONTH
    return prices.request_cost(read, write, table_class)


def _hours(hours: Sequence[tuple[float, float]], prices: Prices, table_class: str) -> float:
    """Return a month of hours like these."""
    each = prices.of_class(table_class)
    cost = sum(read * each.read_unit_hour + write * each.write_unit_hour for read, write in hours)
    return cost / len(hours) * HOURS_PER_MONTH


def _summed(scaled: Sequence[Scaled]) -> list[tuple[float, float]]:
    """Return the billed capacity of all stores together, hour by hour."""
    rows = zip(*(each.hours for each in scaled), strict=True)
    return [(sum(r for r, _ in row), sum(w for _, w in row)) for row in rows]


def _auto_scaled(
    series: Sequence[Series], scaled: Sequence[Scaled], storage: float, prices: Prices
) -> Plan:
    hours = _summed(scaled)
    low, high = min(hours), max(hours)
    return Plan(
        "auto-scaled",
        _hours(hours, prices, STANDARD),
        storage,
        _throttled(series, scaled),
        f"{low[0]:,.0f} to {high[0]:,.0f} read and {low[1]:,.0f} to {high[1]:,.0f} write units",
    )


def _throttled(series: Sequence[Series], scaled: Sequence[Scaled]) -> float:
    lost = sum(each.throttled.read + each.throttled.write for each in scaled)
    total = sum(sum(each.read) + sum(each.write) for each in series)
    return lost / total if total else 0.0


def _reserved(scaled: Sequence[Scaled], storage: float, prices: Prices) -> Iterator[Plan]:
    """Yield a plan per term: the amount of reserved units that costs least, the rest scaled."""
    hours = _summed(scaled)
    for years, price in sorted(prices.reserved.items()):
        months = years * 12
        read, read_units = _cheapest(
            [each for each, _ in hours],
            price.read_upfront / months + price.read_hour * HOURS_PER_MONTH,
            prices.standard.read_unit_hour,
        )
        write, write_units = _cheapest(
            [each for _, each in hours],
            price.write_upfront / months + price.write_hour * HOURS_PER_MONTH,
            prices.standard.write_unit_hour,
        )
        yield Plan(
            f"reserved {years} year{'s' if years > 1 else ''}, rest auto-scaled",
            read + write,
            storage,
            detail=f"{read_units:,} read and {write_units:,} write units reserved",
        )


def _cheapest(hours: Sequence[float], hundred_month: float, unit_hour: float) -> tuple[float, int]:
    """Return the least monthly cost of a capacity profile, and how many units to reserve for it."""
    found = []
    for count in range(math.floor(max(hours) / RESERVED_UNITS) + 1):
        reserved = count * RESERVED_UNITS
        rest = sum(max(0.0, each - reserved) for each in hours) / len(hours)
        cost = count * hundred_month + rest * unit_hour * HOURS_PER_MONTH
        found.append((cost, reserved))
    return min(found)


def _storage(stored: Stored, prices: Prices, table_class: str) -> float:
    backup = stored.backed_up * prices.point_in_time_recovery_gb_month
    return stored.gigabytes * prices.of_class(table_class).storage_gb_month + backup


def by_name(plans: Sequence[Plan]) -> Mapping[str, Plan]:
    """Return plans by their names."""
    return {plan.name: plan for plan in plans}
