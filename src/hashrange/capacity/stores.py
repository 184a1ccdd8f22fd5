"""The capacity model of a table or a global index.

1. A provisioned store serves its rate; 300 seconds of unused capacity are kept for bursts. Any
   partition may use all of it up to its own limit (adaptive capacity is immediate).
2. An on-demand store may have a configured maximum, which it serves without bursts.
3. With `Ceilings`, each partition has its own limit (see `key_ranges`). An on-demand store then
   grows by the rule of `growth`, from 12,000 read and 4,000 write units per second or its warm
   throughput, gets partitions for that, and stops at the quota of an account for one table.

A request is admitted before its units are known, and charged afterwards. Pure: no randomness, no
I/O. `now` is in seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, final

from hashrange.capacity.buckets import ALONE, Bucket, Sharing, TokenBucket
from hashrange.capacity.growth import Growth
from hashrange.capacity.key_ranges import (
    HEAT_SECONDS,
    PARTITION_READ_UNITS,
    PARTITION_UNITS,
    PARTITION_WRITE_UNITS,
    PARTITIONS_MAX,
    KeyRanges,
    Kind,
    Partition,
    Position,
    Split,
)

Outcome = Literal["admitted", "store", "maximum", "growth", "quota", "partition"]
"""Admitted, or what throttled the request: provisioned capacity, the configured maximum, the growth
rule, the quota of the account, or a partition."""

BURST_SECONDS: Final = 300.0
MAXIMUM_SECONDS: Final = 1.0
ON_DEMAND_READ_UNITS: Final = 12_000.0
ON_DEMAND_WRITE_UNITS: Final = 4_000.0
ON_DEMAND_UNITS: Final[dict[Kind, float]] = {
    "read": ON_DEMAND_READ_UNITS,
    "write": ON_DEMAND_WRITE_UNITS,
}
QUOTA_UNITS: Final = 40_000.0
PARTITION_BYTES: Final = 10 * 1024**3
KINDS: Final[tuple[Kind, Kind]] = ("read", "write")
_ADVANCE_SECONDS: Final = 1.0


@final
@dataclass(frozen=True, slots=True)
class Provided:
    """What a store provides, in units per second.

    `read` and `write` are its provisioned rates; on demand they are maxima, None where there is
    none. `warm_read` and `warm_write` are what an on-demand store serves at once.
    """

    read: float | None = None
    write: float | None = None
    is_on_demand: bool = False
    warm_read: float = 0.0
    warm_write: float = 0.0

    def rate(self, kind: Kind) -> float | None:
        """Return the rate or the maximum in one direction."""
        return self.read if kind == "read" else self.write

    def is_growing(self, kind: Kind) -> bool:
        """Tell whether the growth rule applies in one direction."""
        return self.is_on_demand or self.rate(kind) is None

    def warm(self, kind: Kind) -> float:
        """Return what an on-demand store serves at once."""
        return self.warm_read if kind == "read" else self.warm_write


@final
@dataclass(frozen=True, slots=True)
class Ceilings:
    """The limits that nobody asked for; `partitions` is the number to begin with, 0 for a guess."""

    partitions: int = 0
    heat_seconds: float = HEAT_SECONDS
    quota: float = QUOTA_UNITS


@final
class CapacityStore:
    """A table or a global index."""

    def __init__(
        self,
        provided: Provided,
        now: float,
        ceilings: Ceilings | None = None,
        sharing: Sharing = ALONE,
    ) -> None:
        self.provided = provided
        self._buckets: dict[Kind, Bucket] = {}
        self._sharing = sharing
        self.ranges: KeyRanges | None = None
        self._growth: dict[Kind, tuple[Growth, Bucket]] = {}
        self._quotas: dict[Kind, Bucket] = {}
        self._advance_at = now + _ADVANCE_SECONDS
        self._set_buckets(provided, now)
        if ceilings is not None:
            self._set_ceilings(ceilings, now)

    def _set_buckets(self, provided: Provided, now: float) -> None:
        seconds = MAXIMUM_SECONDS if provided.is_on_demand else BURST_SECONDS
        for kind in KINDS:
            rate = provided.rate(kind)
            known = self._buckets.get(kind)
            if rate is None:
                self._buckets.pop(kind, None)
            elif known is not None:
                known.has_units(now)  # fills at the old rate up to now
                known.set_rate(rate, rate * seconds)
            else:
                bucket = TokenBucket(rate, rate * seconds, now)
                self._buckets[kind] = self._sharing.bucket(kind, bucket)

    def _set_ceilings(self, ceilings: Ceilings, now: float) -> None:
        count = ceilings.partitions or initial_partitions(self.provided)
        self.ranges = KeyRanges(count, now, ceilings.heat_seconds, self._sharing)
        for kind in KINDS:
            if self.provided.is_growing(kind):
                # More partitions than a new table has stand for a store that was warmed up.
                rate = max(ON_DEMAND_UNITS[kind], count * PARTITION_UNITS[kind])
                bucket = self._sharing.bucket(f"growth/{kind}", TokenBucket(rate, rate, now))
                self._growth[kind] = Growth(rate, now), bucket
            if self.provided.is_on_demand:
                quota = TokenBucket(ceilings.quota, ceilings.quota, now)
                self._quotas[kind] = self._sharing.bucket(f"quota/{kind}", quota)

    def provide(self, provided: Provided, now: float) -> None:
        """Change what is provided; unused capacity is kept as far as it fits."""
        if provided == self.provided:
            return
        if provided.is_on_demand != self.provided.is_on_demand:
            self._buckets.clear()
        self._set_buckets(provided, now)
        self.provided = provided
        if self.ranges is not None:
            for kind, (growth, _) in self._growth.items():
                growth.warm_up(provided.warm(kind))
            self.ranges.grow_to(initial_partitions(provided), now)

    def refusal(
        self, position: Position | None, kind: Kind, now: float, ahead: float = 0.0
    ) -> Outcome:
        """Tell whether a request is admitted after one of `ahead` units, or what is in its way."""
        bucket = self._buckets.get(kind)
        if bucket is not None and not bucket.has_units(now, ahead):
            return "maximum" if self.provided.is_on_demand else "store"
        if self.ranges is None:
            return "admitted"
        quota = self._quotas.get(kind)
        if quota is not None and not quota.has_units(now, ahead):
            return "quota"
        growing = self._growth.get(kind)
        if growing is not None and not growing[1].has_units(now, ahead):
            return "growth"
        if position is not None:
            partition = self.ranges.partition_of(position)
            if not partition.buckets[kind].has_units(now, ahead):
                partition.note(position, kind, 1.0)
                return "partition"
        return "admitted"

    def charge(self, position: Position | None, kind: Kind, units: float, now: float) -> None:
        """Take the units of a request that was admitted."""
        bucket = self._buckets.get(kind)
        if bucket is not None:
            bucket.take(units)
        if self.ranges is None:
            return
        if position is not None:
            partition = self.ranges.partition_of(position)
            partition.note(position, kind, units)
            partition.buckets[kind].take(units)
        quota = self._quotas.get(kind)
        if quota is not None:
            quota.take(units)
        growing = self._growth.get(kind)
        if growing is not None:
            growing[0].add(units, now)
            growing[1].take(units)
        if now >= self._advance_at:
            self.advance(now)

    @property
    def is_limited(self) -> bool:
        """Whether it has provisioned capacity or a configured maximum."""
        return bool(self._buckets)

    def look(self, now: float) -> None:
        """See what other processes took; needed now and then where buckets are shared."""
        for bucket in (*self._buckets.values(), *self._quotas.values()):
            bucket.has_units(now)
        if self.ranges is not None:
            self.ranges.look(now)
            self.advance(now)

    def _see_growth(self, now: float) -> None:
        """Count what other processes served towards growth."""
        for growth, bucket in self._growth.values():
            bucket.has_units(now)
            growth.add(bucket.news(), now)

    def advance(self, now: float) -> list[Split]:
        """Do what time brings: growth on demand, and splits of hot partitions."""
        self._advance_at = now + _ADVANCE_SECONDS
        if self.ranges is None:
            return []
        self._see_growth(now)
        for kind, (growth, bucket) in self._growth.items():
            rate = growth.allowed(now)
            if rate > bucket.rate:
                bucket.set_rate(rate, rate)
                self.ranges.grow_to(_ceil(rate / PARTITION_UNITS[kind]), now)
        return self.ranges.split_hot(now)


@final
class PartitionedStore:
    """A store with key ranges whose requests bring their units, for simulations."""

    def __init__(
        self,
        provided: Provided,
        partitions: int = 0,
        now: float = 0.0,
        heat_seconds: float = HEAT_SECONDS,
    ) -> None:
        self._store = CapacityStore(provided, now, Ceilings(partitions, heat_seconds))
        assert self._store.ranges is not None
        self._ranges = self._store.ranges
        self.advance = self._store.advance
        self.partition_of = self._ranges.partition_of

    @property
    def partitions(self) -> list[Partition]:
        return self._ranges.partitions

    @property
    def splits(self) -> list[Split]:
        return self._ranges.splits

    def request(self, position: Position, kind: Kind, units: float, now: float) -> Outcome:
        """Admit or throttle a request."""
        outcome = self._store.refusal(position, kind, now)
        if outcome == "admitted":
            self._store.charge(position, kind, units, now)
        elif outcome == "partition":
            # Heat is what is asked for, in units.
            self._ranges.partition_of(position).note(position, kind, units - 1.0)
        return outcome


def initial_partitions(provided: Provided, stored_bytes: float = 0.0) -> int:
    """Return how many partitions a store begins with, by throughput and by size."""
    rates = {
        kind: max(ON_DEMAND_UNITS[kind], provided.warm(kind))
        if provided.is_growing(kind)
        else provided.rate(kind) or 0.0
        for kind in KINDS
    }
    by_units = max(rates["read"] / PARTITION_READ_UNITS, rates["write"] / PARTITION_WRITE_UNITS)
    by_size = stored_bytes / PARTITION_BYTES
    return min(PARTITIONS_MAX, max(1, _ceil(by_units), _ceil(by_size)))


def _ceil(value: float) -> int:
    return -int(-value // 1)
