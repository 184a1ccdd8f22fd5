"""Token buckets: a rate in units per second, and a store of unused units up to a bound.

Time is a number of seconds that the caller passes in; a bucket ignores time that goes back.
"""

from __future__ import annotations

from typing import Final, Protocol, final

_IDLE_SECONDS: Final = 10.0
"""After so long, every other process has seen what one took, on several machines as well."""


class Bucket(Protocol):
    """Units that requests take, and that time brings back."""

    @property
    def rate(self) -> float: ...

    def has_units(self, now: float, ahead: float = 0.0) -> bool:
        """Tell whether a request would be admitted after one that takes `ahead` units."""

    def take(self, units: float) -> None:
        """Take units, after `has_units` said that a request is admitted."""

    def set_rate(self, rate: float, capacity: float) -> None:
        """Change rate and capacity; stored units beyond the capacity are lost."""

    def news(self) -> float:
        """Return the units that other processes took since this was asked last."""


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

    def has_units(self, now: float, ahead: float = 0.0) -> bool:
        if now > self._filled_at:
            self.tokens = min(self.capacity, self.tokens + (now - self._filled_at) * self.rate)
            self._filled_at = now
        return self.tokens > ahead

    def take(self, units: float) -> None:
        self.tokens -= units

    def set_rate(self, rate: float, capacity: float) -> None:
        self.rate = rate
        self.capacity = capacity
        self.tokens = min(self.tokens, capacity)

    def news(self) -> float:
        return 0.0

    def level(self) -> Level:
        """Return how many units there were, and when."""
        return self.tokens, self._filled_at

    def raise_to(self, level: Level) -> None:
        """Hold at least what a bucket of the same kind would by now that had a level before."""
        tokens, at = level
        filled = tokens + max(0.0, self._filled_at - at) * self.rate
        self.tokens = max(self.tokens, min(self.capacity, filled))

    def restore(self, level: Level) -> None:
        """Go on from a level that a bucket of the same kind had."""
        tokens, self._filled_at = level
        self.tokens = min(tokens, self.capacity)


Level = tuple[float, float]
"""The units in a bucket, and the time at which they were there."""


class Totals(Protocol):
    """The units that each process of a server has taken so far, by bucket.

    A total only grows. What another process took may be seen late, never twice.
    """

    def add(self, name: str, units: float, level: Level) -> None:
        """Add units that this process took of a bucket, which has a level since then."""

    def level(self, name: str) -> Level | None:
        """Return the newest level that any process told of a bucket, None if none did."""

    def others(self, name: str) -> float:
        """Return how many units all other processes have taken of a bucket so far."""


@final
class SharedBucket:
    """A bucket that several processes take from, each with a copy of its own.

    A new copy begins with the newest level that another one has told. A copy takes what the others
    took when it sees it, after filling up. It therefore never holds
    more than the one true bucket would, but for requests under way in other processes; it may hold
    less by what came in between two looks, so idle processes have to look now and then. A copy that
    took nothing for a while goes by the level that another one told since, if that is higher: the
    other one has seen all that this copy took.
    """

    __slots__ = ("_name", "_news", "_own", "_seen", "_taken_at", "_totals")

    def __init__(self, own: TokenBucket, name: str, totals: Totals) -> None:
        self._own = own
        self._name = name
        self._totals = totals
        self._seen = totals.others(name)
        self._news = 0.0
        self._taken_at = float("-inf")
        level = totals.level(name)
        if level is not None:
            own.restore(level)

    @property
    def rate(self) -> float:
        return self._own.rate

    def has_units(self, now: float, ahead: float = 0.0) -> bool:
        self._own.has_units(now)
        others = self._totals.others(self._name)
        if others != self._seen:
            self._own.take(others - self._seen)
            self._news += others - self._seen
            self._seen = others
            if now > self._taken_at + _IDLE_SECONDS:
                level = self._totals.level(self._name)
                if level is not None and level[1] > self._taken_at + _IDLE_SECONDS:
                    self._own.raise_to(level)
        return self._own.tokens > ahead

    def take(self, units: float) -> None:
        own = self._own
        own.take(units)
        level = own.level()
        self._taken_at = level[1]
        self._totals.add(self._name, units, level)

    def set_rate(self, rate: float, capacity: float) -> None:
        self._own.set_rate(rate, capacity)

    def news(self) -> float:
        news, self._news = self._news, 0.0
        return news


class Sharing(Protocol):
    """How the processes of a server share the buckets of one store."""

    def bucket(self, name: str, own: TokenBucket) -> Bucket:
        """Return a bucket as it is to be used, by its name within the store."""

    def tell(self, name: str, number: float) -> None:
        """Tell the other processes a number."""

    def told(self, name: str) -> float | None:
        """Return the number that a process told, None if none did."""


@final
class Alone:
    """Nothing is shared: the buckets belong to this process."""

    def bucket(self, name: str, own: TokenBucket) -> Bucket:
        return own

    def tell(self, name: str, number: float) -> None:
        pass

    def told(self, name: str) -> float | None:
        return None


@final
class Shared:
    """Shares by way of totals. A number is told as the level of a name that no bucket has."""

    def __init__(self, totals: Totals, store: str) -> None:
        self._totals = totals
        self._store = store

    def bucket(self, name: str, own: TokenBucket) -> Bucket:
        return SharedBucket(own, f"{self._store}/{name}", self._totals)

    def tell(self, name: str, number: float) -> None:
        self._totals.add(f"{self._store}/{name}", 0.0, (number, 0.0))

    def told(self, name: str) -> float | None:
        level = self._totals.level(f"{self._store}/{name}")
        return None if level is None else level[0]


ALONE: Final = Alone()
