"""Token buckets: a rate in units per second, and a store of unused units up to a bound.

Time is a number of seconds that the caller passes in; it never goes back.
"""

from __future__ import annotations

from typing import final


@final
class TokenBucket:
    """Fills at a rate up to a capacity; a request takes units if any are there.

    DynamoDB admits a request while the bucket is above zero and lets the bucket fall below it, so
    that a request larger than one second of capacity is not refused for ever.
    """

    __slots__ = ("_filled_at", "capacity", "rate", "tokens")

    def __init__(self, rate: float, capacity: float, now: float = 0.0) -> None:
        self.rate = rate
        self.capacity = capacity
        self.tokens = capacity
        self._filled_at = now

    def has_units(self, now: float) -> bool:
        """Tell whether a request would be admitted."""
        if now > self._filled_at:
            self.tokens = min(self.capacity, self.tokens + (now - self._filled_at) * self.rate)
            self._filled_at = now
        return self.tokens > 0

    def take(self, units: float) -> None:
        """Take units, after `has_units` said that a request is admitted."""
        self.tokens -= units

    def set_rate(self, rate: float, capacity: float) -> None:
        """Change rate and capacity; stored units beyond the capacity are lost."""
        self.rate = rate
        self.capacity = capacity
        self.tokens = min(self.tokens, capacity)
