"""Load shapes: how the rate of each pattern moves during a simulation.

A shape gives a point between average and peak for each moment, as a share of the whole run: 0 is
the average, 1 the peak, and less than 0 a part of the average.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from hashrange.toolkit.design.expectations import Rate

Shape = Callable[[float], float]


def _spike(share: float) -> float:
    return 1.0 if 1 / 3 <= share < 2 / 3 else 0.0


def _day(share: float) -> float:
    return (1 - math.cos(2 * math.pi * share)) / 2


SHAPES: Final[dict[str, Shape]] = {
    "steady": lambda share: 0.0,
    "peak": lambda share: 1.0,
    "ramp": lambda share: share,
    "spike": _spike,
    "day": _day,
}


def calls_per_second(rate: Rate, shape: Shape, share: float, times: float) -> float:
    """Return the calls per second of a pattern at a moment."""
    peak = rate.peak if rate.peak is not None else rate.average
    return (rate.average + (peak - rate.average) * shape(share)) * times
