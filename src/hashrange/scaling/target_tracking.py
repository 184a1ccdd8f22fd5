"""Target tracking: which capacity keeps the utilisation of a table or index near a target.

Consumption is looked at minute by minute. Two minutes in a row above the target raise the capacity,
fifteen in a row more than 20 points below it lower it. The new capacity is the one of which the
consumption is the target's share, within the bounds. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, final

MINUTE_SECONDS: Final = 60
HIGH_MINUTES: Final = 2
LOW_MINUTES: Final = 15
_LOW_POINTS: Final = 20.0

Direction = Literal["out", "in"]


@final
@dataclass(frozen=True, slots=True)
class Tracking:
    """A target-tracking policy on a target: utilisation in percent, and bounds of capacity."""

    target: float
    lowest: int
    highest: int
    scales_in: bool = True
    out_cooldown: float = 0.0
    in_cooldown: float = 0.0


def high_threshold(target: float, provisioned: int) -> float:
    """Return the units in a minute above which the capacity is too small."""
    return target * provisioned * MINUTE_SECONDS / 100


def low_threshold(target: float, provisioned: int) -> float:
    """Return the units in a minute below which the capacity is too large."""
    return max(0.0, target - _LOW_POINTS) * provisioned * MINUTE_SECONDS / 100


def bounded(capacity: int, lowest: int, highest: int) -> int:
    """Return a capacity within bounds."""
    return max(lowest, min(highest, capacity))


def wanted_capacity(
    tracking: Tracking, provisioned: int, minutes: Sequence[float]
) -> tuple[Direction, int] | None:
    """Return a new capacity and its direction, None if the capacity suits.

    `minutes` are the units consumed in the last complete minutes, the newest last; there may be
    fewer than fifteen.
    """
    latest = minutes[-HIGH_MINUTES:]
    high = high_threshold(tracking.target, provisioned)
    if len(latest) == HIGH_MINUTES and min(latest) > high:
        capacity = bounded(_needed(max(latest), tracking), tracking.lowest, tracking.highest)
        return ("out", capacity) if capacity > provisioned else None
    past = minutes[-LOW_MINUTES:]
    low = low_threshold(tracking.target, provisioned)
    if tracking.scales_in and len(past) == LOW_MINUTES and max(past) < low:
        capacity = bounded(_needed(max(past), tracking), tracking.lowest, tracking.highest)
        return ("in", capacity) if capacity < provisioned else None
    return None


def _needed(consumed: float, tracking: Tracking) -> int:
    """Return the capacity of which a minute's consumption is the target's share."""
    # Rounded first, since 150 / 0.7 must not become 215 because of the last bit of 107.1 / 0.5.
    exact = consumed * 100 / (MINUTE_SECONDS * tracking.target)
    return max(1, math.ceil(round(exact, 6)))


def is_cooling(
    tracking: Tracking, direction: Direction, last: dict[str, float], now: float
) -> bool:
    """Tell whether the last change in a direction was too recent for another one.

    `last` has the times of the last changes by direction.
    """
    seconds = tracking.out_cooldown if direction == "out" else tracking.in_cooldown
    changed_at = last.get(direction)
    return changed_at is not None and now - changed_at < seconds
