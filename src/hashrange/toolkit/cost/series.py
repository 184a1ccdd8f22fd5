"""Traffic over time: units per second of each store in equal periods.

Declared traffic has an average and a peak; a day between them is assumed to rise and fall once,
as steeply as average and peak demand. Recorded traffic is a JSON document:

    {"period_seconds": 300, "stores": {"Shop": {"read": [12.5, …], "write": [3, …]}}}

with average units per second for each period; a global index is `Shop.GSI1`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final

from hashrange.toolkit.cost.traffic import Units, average_units, peak_units
from hashrange.toolkit.design.model import Design
from hashrange.toolkit.errors import DesignError

PERIOD_SECONDS: Final = 300
PERIODS_PER_DAY: Final = 86400 // PERIOD_SECONDS
_STEEPNESS_MAX: Final = 1e6
_BISECTIONS: Final = 50


@final
@dataclass(frozen=True, slots=True)
class Series:
    """Units per second of one store, a value per period."""

    period_seconds: int
    read: tuple[float, ...]
    write: tuple[float, ...]

    @property
    def average(self) -> Units:
        return Units(_mean(self.read), _mean(self.write))

    @property
    def peak(self) -> Units:
        return Units(max(self.read, default=0), max(self.write, default=0))

    @property
    def periods_per_hour(self) -> int:
        return max(1, 3600 // self.period_seconds)


def declared_series(design: Design) -> dict[str, Series]:
    """Return a day of each store, from the declared rates."""
    averages, peaks = average_units(design), peak_units(design)
    return {
        store: Series(
            PERIOD_SECONDS,
            day_between(averages[store].read, peaks[store].read),
            day_between(averages[store].write, peaks[store].write),
        )
        for store in averages
    }


def day_between(average: float, peak: float) -> tuple[float, ...]:
    """Return a day with this average and this peak, rising and falling once.

    It is a raised cosine to a power: the steeper the power, the lower the average. The power is
    found by bisection. A peak that must be shorter than a period is spread over one period.
    """
    if peak <= average or average <= 0:
        return (max(average, 0.0),) * PERIODS_PER_DAY
    peak = min(peak, average * PERIODS_PER_DAY)
    wave = [(1 - math.cos(2 * math.pi * k / PERIODS_PER_DAY)) / 2 for k in range(PERIODS_PER_DAY)]
    low, high = 0.0, _STEEPNESS_MAX
    for _ in range(_BISECTIONS):
        power = (low + high) / 2
        if _mean([each**power for each in wave]) > average / peak:
            low = power
        else:
            high = power
    return tuple(peak * each**high for each in wave)


def load_series(path: str | Path) -> dict[str, Series]:
    """Read recorded traffic from a JSON file."""
    try:
        return parse_series(json.loads(Path(path).read_text(encoding="utf-8")))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DesignError(f"{path} is no recorded traffic: {error}") from error


def parse_series(document: Mapping[str, Any]) -> dict[str, Series]:
    """Return recorded traffic from its document."""
    period = int(document["period_seconds"])
    found = {
        store: Series(period, tuple(map(float, each["read"])), tuple(map(float, each["write"])))
        for store, each in document["stores"].items()
    }
    if period <= 0 or any(len(s.read) != len(s.write) or not s.read for s in found.values()):
        raise ValueError("read and write need a value for every period")
    return found


def _mean(values: tuple[float, ...] | list[float]) -> float:
    return sum(values) / len(values) if values else 0.0
