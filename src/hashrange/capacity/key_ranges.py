"""The partitions of a table or a global index: ranges of its keys, each with a ceiling.

A position is a point in key space: the hash of the partition key as a fraction of the hash range,
and where in its item collection the item lies. The second part is a number or bytes, whichever the
caller uses; positions of one store are all of one kind. A position of a single part comes before
all others with that part. A partition owns a range of positions.

1. A partition serves 3,000 read and 1,000 write units per second, whatever the table provides.
2. A partition that is at its limit for some minutes is split at the median of its recent requests.
   A single position cannot be split; collections under a local index cannot be split either, for
   which the caller gives all their items the same place.

How long heat must last is not documented by AWS; `heat_seconds` is a setting. Memory is bounded.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from dataclasses import dataclass
from typing import Final, Literal, final

from hashrange.capacity.buckets import TokenBucket

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

    __slots__ = ("_heat", "_recent", "_window", "buckets", "end", "hot_since", "start")

    def __init__(self, start: Position, end: Position, now: float) -> None:
        self.start = start
        self.end = end
        self.buckets: dict[Kind, TokenBucket] = {
            kind: TokenBucket(units, units, now) for kind, units in PARTITION_UNITS.items()
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

    def __init__(self, count: int, now: float, heat_seconds: float) -> None:
        self.heat_seconds = heat_seconds
        edges: list[Position] = [(number / count,) for number in range(count)]
        edges.append(HIGHEST)
        self.partitions = [Partition(edges[n], edges[n + 1], now) for n in range(count)]
        self._starts = edges[:-1]
        self.splits: list[Split] = []

    def partition_of(self, position: Position) -> Partition:
        """Return the partition that owns a position."""
        return self.partitions[bisect_right(self._starts, position) - 1]

    def split_hot(self, now: float) -> list[Split]:
        """Split the partitions that have been hot for long enough."""
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

    def grow_to(self, count: int, now: float) -> None:
        """Halve the widest partitions until there are so many."""
        while len(self.partitions) < min(count, PARTITIONS_MAX):
            widest = max(self.partitions, key=lambda each: each.end[0] - each.start[0])
            middle = (widest.start[0] + widest.end[0]) / 2
            self._split(widest, (middle,), now)

    def exhausted(self, kind: Kind, now: float) -> list[Partition]:
        """Return the partitions that admit no request now."""
        return [each for each in self.partitions if not each.buckets[kind].has_units(now)]

    def _split(self, partition: Partition, position: Position, now: float) -> Split:
        at = self.partitions.index(partition)
        halves = [
            Partition(partition.start, position, now),
            Partition(position, partition.end, now),
        ]
        self.partitions[at : at + 1] = halves
        self._starts[at : at + 1] = [half.start for half in halves]
        return Split(now, position, len(self.partitions))
