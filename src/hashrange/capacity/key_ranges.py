"""The partitions of a table or a global index: ranges of its keys, each with a ceiling.

A position is a point in key space: the hash of the partition key as a fraction of the hash range,
and where in its item collection the item lies. The second part is a number or bytes, whichever the
caller uses; positions of one store are all of one kind. A position of a single part comes before
all others with that part. A partition owns a range of positions.

1. A partition serves 3,000 read and 1,000 write units per second, whatever the table provides.
2. A partition that is at its limit for some minutes is split at the median of its recent requests.
   A single position cannot be split; collections under a local index cannot be split either, for
   which the caller gives all their items the same place.
3. Processes share the limits of a partition, and heat is what all of them served. One that splits a
   partition between two hashes tells the others, which follow.

How long heat must last is not documented by AWS; `heat_seconds` is a setting. Memory is bounded.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from dataclasses import dataclass
from typing import Final, Literal, final

from hashrange.capacity.buckets import ALONE, Bucket, Sharing, TokenBucket

Position = tuple[float] | tuple[float, float | bytes]
Kind = Literal["read", "write"]

PARTITION_READ_UNITS: Final = 3000.0
PARTITION_WRITE_UNITS: Final = 1000.0
PARTITION_UNITS: Final[dict[Kind, float]] = {
    "read": PARTITION_READ_UNITS,
    "write": PARTITION_WRITE_UNITS,
}
HEAT_SECONDS: Final = 300.0
HOT_SHARE: Final = 0.9
PARTITIONS_MAX: Final = 4096
_RECENT_MAX: Final = 128
_MINUTE: Final = 60.0

HIGHEST: Final[Position] = (1.0,)


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

    __slots__ = ("_heat", "_recent", "_window", "buckets", "end", "hot_since", "name", "start")

    def __init__(
        self, start: Position, end: Position, now: float, sharing: Sharing = ALONE
    ) -> None:
        self.start = start
        self.end = end
        self.name = f"{start}{end}"
        self.buckets: dict[Kind, Bucket] = {
            kind: sharing.bucket(f"{self.name}/{kind}", TokenBucket(units, units, now))
            for kind, units in PARTITION_UNITS.items()
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
        for kind, bucket in self.buckets.items():
            bucket.has_units(now)
            self._heat[kind] += bucket.news()
        is_hot = any(
            self._heat[kind] >= HOT_SHARE * units * seconds
            for kind, units in PARTITION_UNITS.items()
        )
        if not is_hot:
            self.hot_since = None
        elif self.hot_since is None:
            self.hot_since = self._window
        self._window = now
        self._heat = {"read": 0.0, "write": 0.0}

    def has_before(self, hashed: float) -> bool:
        """Tell whether a split at a hash has a start and recent requests before it."""
        return self.start < (hashed,) and any(position < (hashed,) for position in self._recent)

    def split_point(self) -> Position | None:
        """Return the median of recent requests, or None if all are for one position."""
        ordered = sorted(self._recent)
        for position in ordered[len(ordered) // 2 :]:
            if position > ordered[0] and position > self.start:
                return position
        return None


@final
class KeyRanges:
    """All partitions of a store, in order; together they own every position."""

    def __init__(
        self, count: int, now: float, heat_seconds: float, sharing: Sharing = ALONE
    ) -> None:
        self.heat_seconds = heat_seconds
        self._sharing = sharing
        edges: list[Position] = [(number / count,) for number in range(count)]
        edges.append(HIGHEST)
        self.partitions = [Partition(edges[n], edges[n + 1], now, sharing) for n in range(count)]
        self._starts = edges[:-1]
        self.splits: list[Split] = []

    def partition_of(self, position: Position) -> Partition:
        """Return the partition that owns a position."""
        return self.partitions[bisect_right(self._starts, position) - 1]

    def split_hot(self, now: float) -> list[Split]:
        """Split the partitions that have been hot for long enough."""
        found = []
        for partition in list(self.partitions):
            if self._follow(partition, now):
                continue
            partition.measure(now)
            since = partition.hot_since
            if since is None or now - since < self.heat_seconds:
                continue
            position = partition.split_point()
            if position is not None and len(self.partitions) < PARTITIONS_MAX:
                found.append(self._split(partition, self._tell(partition, position), now))
        self.splits += found
        return found

    def _follow(self, partition: Partition, now: float) -> bool:
        """Split a partition where another process has split it; tell whether one has."""
        told = self._sharing.told(partition.name)
        if told is None or not partition.start < (told,) < partition.end:
            return False
        self._split(partition, (told,), now)
        return True

    def _tell(self, partition: Partition, position: Position) -> Position:
        """Return where to split a partition, and tell the other processes.

        They are told of a split between two hashes, to which the position is moved. A split within
        an item collection is not told: each process finds one for itself.
        """
        if self._sharing is ALONE or not partition.has_before(position[0]):
            return position
        self._sharing.tell(partition.name, position[0])
        return (position[0],)

    def grow_to(self, count: int, now: float) -> None:
        """Halve the widest partitions until there are so many."""
        while len(self.partitions) < min(count, PARTITIONS_MAX):
            widest = max(self.partitions, key=lambda each: each.end[0] - each.start[0])
            middle = (widest.start[0] + widest.end[0]) / 2
            self._split(widest, (middle,), now)

    def look(self, now: float) -> None:
        """See what other processes took."""
        for partition in self.partitions:
            for bucket in partition.buckets.values():
                bucket.has_units(now)

    def exhausted(self, kind: Kind, now: float) -> list[Partition]:
        """Return the partitions that admit no request now."""
        return [each for each in self.partitions if not each.buckets[kind].has_units(now)]

    def _split(self, partition: Partition, position: Position, now: float) -> Split:
        at = self.partitions.index(partition)
        halves = [
            Partition(partition.start, position, now, self._sharing),
            Partition(position, partition.end, now, self._sharing),
        ]
        self.partitions[at : at + 1] = halves
        self._starts[at : at + 1] = [half.start for half in halves]
        return Split(now, position, len(self.partitions))
