"""The capacity model of a table or a global index: partitions, bursts, splits for heat.

A position is a point in key space: the hash of the partition key as a fraction of the hash range,
and where in its item collection the item lies, from 0 to 1. A partition owns a range of positions.

1. A partition serves 3,000 read and 1,000 write units per second, whatever the table provides.
2. The store as a whole serves its provisioned rate; 300 seconds of unused capacity are kept for
   bursts. Any partition may use all of it up to its own limit (adaptive capacity is immediate).
3. On demand, a store serves 12,000 read and 4,000 write units per second at first, and twice the
   highest minute it has seen, except in the last 30 minutes. It gets partitions for that.
4. A partition that is at its limit for some minutes is split at the median of its recent requests.
   A single position cannot be split; collections under a local index cannot be split either, for
   which the caller gives all their items the same place.

Pure: no clock, no randomness, no I/O; bounded memory per partition. `now` is in seconds and never
goes back. How long heat must last is not documented by AWS; `heat_seconds` is a setting.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from dataclasses import dataclass
from typing import Final, Literal, final

from hashrange.toolkit.simulate.buckets import TokenBucket

Position = tuple[float, float]
Kind = Literal["read", "write"]
Outcome = Literal["admitted", "store", "partition"]
"""Admitted, or what throttled the request: the store as a whole, or its partition."""

PARTITION_READ_UNITS: Final = 3000.0
PARTITION_WRITE_UNITS: Final = 1000.0
BURST_SECONDS: Final = 300.0
ON_DEMAND_READ_UNITS: Final = 12_000.0
ON_DEMAND_WRITE_UNITS: Final = 4_000.0
GROWTH_SECONDS: Final = 1800.0
PARTITION_BYTES: Final = 10 * 1024**3
HEAT_SECONDS: Final = 300.0
HOT_SHARE: Final = 0.9
PARTITIONS_MAX: Final = 4096
_RECENT_MAX: Final = 128
_MINUTE: Final = 60.0

LOWEST: Final[Position] = (0.0, 0.0)
HIGHEST: Final[Position] = (1.0, 0.0)


@final
@dataclass(frozen=True, slots=True)
class Provided:
    """What a store provides: units per second; None is on-demand without a maximum."""

    read: float | None = None
    write: float | None = None


@final
@dataclass(frozen=True, slots=True)
class Split:
    """A partition was split at a position, because of heat."""

    at: float
    position: Position
    partitions: int


@final
class Partition:
    """A range of positions with its two buckets and its recent heat."""

    __slots__ = ("_heat", "_recent", "_window", "buckets", "end", "hot_since", "start")

    def __init__(self, start: Position, end: Position, now: float) -> None:
        self.start = start
        self.end = end
        self.buckets: dict[Kind, TokenBucket] = {
            "read": TokenBucket(PARTITION_READ_UNITS, PARTITION_READ_UNITS, now),
            "write": TokenBucket(PARTITION_WRITE_UNITS, PARTITION_WRITE_UNITS, now),
        }
        self.hot_since: float | None = None
        self._recent: deque[Position] = deque(maxlen=_RECENT_MAX)
        self._window = now
        self._heat: dict[Kind, float] = {"read": 0.0, "write": 0.0}

    def note(self, position: Position, kind: Kind, units: float) -> None:
        """Remember a request, admitted or not: heat is what is asked for."""
        self._recent.append(position)
        self._heat[kind] += units

    def measure(self, now: float) -> None:
        """Close a window of a minute or more, and keep track of since when there is heat."""
        seconds = now - self._window
        if seconds < _MINUTE:
            return
        is_hot = (
            self._heat["read"] >= HOT_SHARE * PARTITION_READ_UNITS * seconds
            or self._heat["write"] >= HOT_SHARE * PARTITION_WRITE_UNITS * seconds
        )
        if not is_hot:
            self.hot_since = None
        elif self.hot_since is None:
            self.hot_since = self._window
        self._window = now
        self._heat = {"read": 0.0, "write": 0.0}

    def split_point(self) -> Position | None:
        """Return the median of recent requests, or None if all are for one position."""
        ordered = sorted(self._recent)
        for position in ordered[len(ordered) // 2 :]:
            if position > ordered[0] and position > self.start:
                return position
        return None


@final
class PartitionedStore:
    """A table or a global index as its partitions."""

    def __init__(
        self,
        provided: Provided,
        partitions: int = 0,
        now: float = 0.0,
        heat_seconds: float = HEAT_SECONDS,
    ) -> None:
        self.provided = provided
        self.heat_seconds = heat_seconds
        count = partitions or initial_partitions(provided)
        edges = [(number / count, 0.0) for number in range(count)] + [HIGHEST]
        self.partitions = [Partition(edges[n], edges[n + 1], now) for n in range(count)]
        self._starts = edges[:-1]
        self.splits: list[Split] = []
        # On demand, more partitions than a new table has stand for a store that was warmed up.
        warm: dict[Kind, float] = {
            "read": max(ON_DEMAND_READ_UNITS, count * PARTITION_READ_UNITS),
            "write": max(ON_DEMAND_WRITE_UNITS, count * PARTITION_WRITE_UNITS),
        }
        self._growth: dict[Kind, _Growth] = {
            kind: _Growth(warm[kind], now)
            for kind, given in self._provided_by_kind()
            if given is None
        }
        self._buckets: dict[Kind, TokenBucket] = {
            kind: TokenBucket(warm[kind], warm[kind], now)
            if given is None
            else TokenBucket(given, given * BURST_SECONDS, now)
            for kind, given in self._provided_by_kind()
        }

    def _provided_by_kind(self) -> tuple[tuple[Kind, float | None], ...]:
        return ("read", self.provided.read), ("write", self.provided.write)

    def partition_of(self, position: Position) -> Partition:
        """Return the partition that owns a position."""
        return self.partitions[bisect_right(self._starts, position) - 1]

    def request(self, position: Position, kind: Kind, units: float, now: float) -> Outcome:
        """Admit or throttle a request."""
        partition = self.partition_of(position)
        partition.note(position, kind, units)
        own, shared = partition.buckets[kind], self._buckets[kind]
        if not own.has_units(now):
            return "partition"
        if not shared.has_units(now):
            return "store"
        own.take(units)
        shared.take(units)
        if kind in self._growth:
            self._growth[kind].add(units, now)
        return "admitted"

    def advance(self, now: float) -> list[Split]:
        """Do what time brings: growth on demand, and splits of hot partitions."""
        self._grow(now)
        found = []
        for partition in list(self.partitions):
            partition.measure(now)
            since = partition.hot_since
            if since is None or now - since < self.heat_seconds:
                continue
            position = partition.split_point()
            if position is not None and len(self.partitions) < PARTITIONS_MAX:
                found.append(self._split(partition, position, now))
        self.splits += found
        return found

    def _split(self, partition: Partition, position: Position, now: float) -> Split:
        at = self.partitions.index(partition)
        halves = [
            Partition(partition.start, position, now),
            Partition(position, partition.end, now),
        ]
        self.partitions[at : at + 1] = halves
        self._starts[at : at + 1] = [half.start for half in halves]
        return Split(now, position, len(self.partitions))

    def _grow(self, now: float) -> None:
        """Raise the rates of an on-demand store, and its partitions with them."""
        for kind, growth in self._growth.items():
            rate = growth.allowed(now)
            if rate <= self._buckets[kind].rate:
                continue
            self._buckets[kind].set_rate(rate, rate)
            limit = PARTITION_READ_UNITS if kind == "read" else PARTITION_WRITE_UNITS
            wanted = min(PARTITIONS_MAX, _ceil(rate / limit))
            while len(self.partitions) < wanted:
                widest = max(self.partitions, key=lambda each: each.end[0] - each.start[0])
                middle = (widest.start[0] + widest.end[0]) / 2
                self._split(widest, (middle, 0.0), now)


@final
class _Growth:
    """What an on-demand store may serve: twice its earlier peak, at least the initial rate."""

    __slots__ = ("_minute", "_minutes", "_peak", "_started", "_units")

    def __init__(self, initial: float, now: float) -> None:
        self._peak = initial / 2
        self._minutes: deque[tuple[float, float]] = deque()
        self._started = now
        self._units = 0.0
        self._minute = now

    def add(self, units: float, now: float) -> None:
        if now - self._minute >= _MINUTE:
            self._minutes.append((self._minute, self._units / (now - self._minute)))
            self._minute, self._units = now, 0.0
        self._units += units

    def allowed(self, now: float) -> float:
        while self._minutes and self._minutes[0][0] <= now - GROWTH_SECONDS:
            self._peak = max(self._peak, self._minutes.popleft()[1])
        return 2 * self._peak


def initial_partitions(provided: Provided, stored_bytes: float = 0.0) -> int:
    """Return how many partitions a store begins with, by throughput and by size."""
    read = ON_DEMAND_READ_UNITS if provided.read is None else provided.read
    write = ON_DEMAND_WRITE_UNITS if provided.write is None else provided.write
    by_units = max(read / PARTITION_READ_UNITS, write / PARTITION_WRITE_UNITS)
    by_size = stored_bytes / PARTITION_BYTES
    return min(PARTITIONS_MAX, max(1, _ceil(by_units), _ceil(by_size)))


def _ceil(value: float) -> int:
    return -int(-value // 1)
