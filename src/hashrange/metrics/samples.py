"""Samples of one metric over some time: count, sum, extremes and a sketch for percentiles.

The sketch counts values in buckets whose bounds grow by 2 %, as DDSketch does, so a percentile is
within 1 % of a sample. Buckets are numbered: 0 is the value zero, n > 0 holds the values in
[GROWTH ** (n - MIDDLE), GROWTH ** (n - MIDDLE + 1)), and -n their negatives. Merging adds counts.

row := JSON [count, sum, minimum, maximum, [bucket, count, ...] or null]
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from math import exp, log
from typing import Final, final

import orjson

from hashrange.errors import CorruptionError
from hashrange.limits import SKETCH_BUCKETS_MAX

_GROWTH: Final = 1.02
_SCALE: Final = 1.0 / log(_GROWTH)
# The smallest number of all has the bucket -37,600 before it is moved by this.
_MIDDLE: Final = 40_000
_INFINITY: Final = float("inf")

Buckets = dict[int, int]
Weighted = list[tuple[float, float]]
"""Values in ascending order with their counts."""


def bucket_of(value: float) -> int:
    """Return the number of the bucket of a value."""
    if value > 0.0:
        return int(log(value) * _SCALE + _MIDDLE)
    return 0 if value == 0.0 else -int(log(-value) * _SCALE + _MIDDLE)


def _value_of(bucket: int) -> float:
    """Return the value that is at most 1 % from every value of a bucket."""
    if bucket == 0:
        return 0.0
    magnitude: float = 2.0 * _GROWTH ** (abs(bucket) - _MIDDLE + 1) / (_GROWTH + 1.0)
    return magnitude if bucket > 0 else -magnitude


@final
class Samples:
    """What is known about some samples; `buckets` is None if their distribution is not."""

    __slots__ = ("buckets", "count", "maximum", "minimum", "sum")

    def __init__(self) -> None:
        self.count = 0.0
        self.sum = 0.0
        self.minimum = _INFINITY
        self.maximum = -_INFINITY
        self.buckets: Buckets | None = {}

    def add(self, value: float, count: float = 1) -> None:
        """Add a value that was seen some number of times."""
        self.count += count
        self.sum += value * count
        if value < self.minimum:
            self.minimum = value
        if value > self.maximum:
            self.maximum = value
        if self.buckets is not None:
            bucket = bucket_of(value)
            self.buckets[bucket] = self.buckets.get(bucket, 0) + int(count)

    def add_all(self, values: Sequence[float], scale: float = 1.0) -> None:
        """Add several values, each multiplied by `scale`; quicker than one after the other."""
        ordered = sorted(values)
        if ordered[0] <= 0.0:
            for value in values:
                self.add(value * scale)
            return
        self.count += len(values)
        self.sum += sum(values) * scale
        self.minimum = min(self.minimum, ordered[0] * scale)
        self.maximum = max(self.maximum, ordered[-1] * scale)
        if self.buckets is not None:
            _fill(self.buckets, ordered, scale)

    def add_set(self, count: float, total: float, minimum: float, maximum: float) -> None:
        """Add samples of which only these four figures are known."""
        if minimum == maximum:
            self.add(minimum, count)
            return
        self.count += count
        self.sum += total
        self.minimum = min(self.minimum, minimum)
        self.maximum = max(self.maximum, maximum)
        self.buckets = None

    def add_zeros(self, count: int) -> None:
        """Add the zeros of that many idle minutes."""
        if count:
            self.add(0.0, count)

    def merge(self, other: Samples) -> None:
        """Add the samples of another set."""
        self.count += other.count
        self.sum += other.sum
        self.minimum = min(self.minimum, other.minimum)
        self.maximum = max(self.maximum, other.maximum)
        if self.buckets is None or other.buckets is None:
            self.buckets = None
            return
        for bucket, count in other.buckets.items():
            self.buckets[bucket] = self.buckets.get(bucket, 0) + count

    @property
    def average(self) -> float:
        return self.sum / self.count if self.count else 0.0

    def weighted(self) -> Weighted | None:
        """Return the values of the sketch, None if it has none."""
        if self.buckets is None:
            return None
        return [
            (min(max(_value_of(bucket), self.minimum), self.maximum), float(self.buckets[bucket]))
            for bucket in sorted(self.buckets)
        ]

    def pack(self) -> bytes:
        """Return the row of these samples."""
        flat: list[int] | None = None
        if self.buckets is not None:
            flat = [number for pair in _bounded(self.buckets) for number in pair]
        return orjson.dumps([self.count, self.sum, self.minimum, self.maximum, flat])


def _fill(buckets: Buckets, ordered: list[float], scale: float) -> None:
    """Count positive values in ascending order; a logarithm per bucket, not per value."""
    shift = _MIDDLE + log(scale) * _SCALE
    first = 0
    while first < len(ordered):
        bucket = int(log(ordered[first]) * _SCALE + shift)
        # At least one value belongs to the bucket, however its bound is rounded.
        end = bisect_left(ordered, exp((bucket + 1 - shift) / _SCALE), first + 1)
        buckets[bucket] = buckets.get(bucket, 0) + end - first
        first = end


def _bounded(buckets: Buckets) -> Iterable[tuple[int, int]]:
    """Return buckets in order, the lowest ones counted together if there are too many."""
    ordered = sorted(buckets.items())
    excess = len(ordered) - SKETCH_BUCKETS_MAX
    if excess > 0:
        kept = ordered[excess:]
        kept[0] = (kept[0][0], kept[0][1] + sum(count for _, count in ordered[:excess]))
        return kept
    return ordered


def unpack(row: bytes) -> Samples:
    """Return the samples of a row."""
    try:
        count, total, minimum, maximum, flat = orjson.loads(row)
        samples = Samples()
        samples.count, samples.sum = count, total
        samples.minimum, samples.maximum = minimum, maximum
        samples.buckets = None if flat is None else dict(zip(flat[::2], flat[1::2], strict=True))
    except (ValueError, TypeError) as error:
        raise CorruptionError(f"metric row is malformed: {row[:80]!r}") from error
    return samples
