"""The growth rule of on-demand stores: twice the earlier peak, at least the initial rate.

The peak is the highest minute, except for those of the last 30 minutes.
"""

from __future__ import annotations

from collections import deque
from typing import Final, final

GROWTH_SECONDS: Final = 1800.0
_MINUTE: Final = 60.0


@final
class Growth:
    """The rate that an on-demand store may serve in one direction."""

    __slots__ = ("_minute", "_minutes", "_peak", "_units")

    def __init__(self, initial: float, now: float) -> None:
        self._peak = initial / 2
        # Minutes that are too young to count: at most 30, and one for each gap between requests.
        self._minutes: deque[tuple[float, float]] = deque()
        self._units = 0.0
        self._minute = now

    def warm_up(self, rate: float) -> None:
        """Allow at least a rate from now on."""
        self._peak = max(self._peak, rate / 2)

    def add(self, units: float, now: float) -> None:
        """Count units that were served."""
        if now - self._minute >= _MINUTE:
            self._minutes.append((self._minute, self._units / (now - self._minute)))
            self._minute, self._units = now, 0.0
        self._units += units

    def allowed(self, now: float) -> float:
        """Return the units per second that may be served."""
        while self._minutes and self._minutes[0][0] <= now - GROWTH_SECONDS:
            self._peak = max(self._peak, self._minutes.popleft()[1])
        return 2 * self._peak
