"""Traffic of a design: units per second that its stores see, on average and at the peak."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from hashrange.toolkit.cost.consumption import Consumption, estimate, store_name
from hashrange.toolkit.design.model import Design


@final
@dataclass(frozen=True, slots=True)
class Units:
    """Read and write units, per second or in total."""

    read: float = 0
    write: float = 0

    def plus(self, read: float, write: float) -> Units:
        return Units(self.read + read, self.write + write)


def peak_units(design: Design) -> dict[str, Units]:
    """Return the units per second of each store if all patterns have their peak at once."""
    return _sum(design, estimate(design), at_peak=True)


def average_units(design: Design) -> dict[str, Units]:
    """Return the average units per second of each store."""
    return _sum(design, estimate(design), at_peak=False)


def stores_of(design: Design) -> list[str]:
    """Return the stores of a design: its tables, each followed by its global indexes."""
    return [
        name
        for table in design.tables
        for name in (
            table.name,
            *(store_name(table, i.name) for i in table.indexes if i.kind == "global"),
        )
    ]


def _sum(design: Design, estimates: dict[str, Consumption], *, at_peak: bool) -> dict[str, Units]:
    total = {store: Units() for store in stores_of(design)}
    for name, consumption in estimates.items():
        rate = design.pattern(name).rate
        if rate is None:
            continue
        calls = (rate.peak or rate.average) if at_peak else rate.average
        for store, units in consumption.reads.items():
            total[store] = total[store].plus(units * calls, 0)
        for store, units in consumption.writes.items():
            total[store] = total[store].plus(0, units * calls)
    return total
