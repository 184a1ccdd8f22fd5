"""The heaviest keys of a stream of accesses, in bounded memory: a space-saving summary.

A summary has at most so many keys. When it is full, a new key takes the place of the lightest one
and inherits its weight, which is the most that the new key may be overestimated by. Every key that
is heavier than total / size is in the summary. The weights of a summary add up to the total.

row := JSON [total, [[key parts], weight, overestimate], ...]
"""

from __future__ import annotations

from typing import final

import orjson

from hashrange.errors import CorruptionError
from hashrange.limits import INSIGHT_KEYS_MAX

Key = tuple[str, ...]
"""The values of the partition key, and those of the sort key if they count, as texts."""


@final
class TopKeys:
    """One summary."""

    __slots__ = ("_size", "total", "weights")

    def __init__(self, size: int = INSIGHT_KEYS_MAX) -> None:
        self._size = size
        self.total = 0.0
        # Weight and overestimate.
        self.weights: dict[Key, tuple[float, float]] = {}

    def add(self, key: Key, weight: float, error: float = 0.0) -> None:
        """Count an access."""
        self.total += weight
        known = self.weights.get(key)
        if known is not None:
            self.weights[key] = (known[0] + weight, known[1] + error)
            return
        if len(self.weights) >= self._size:
            lightest = min(self.weights, key=lambda other: self.weights[other][0])
            inherited = self.weights.pop(lightest)[0]
            weight, error = weight + inherited, error + inherited
        self.weights[key] = (weight, error)

    def merge(self, other: TopKeys) -> None:
        """Add everything that another summary has counted."""
        heaviest = sorted(other.weights.items(), key=lambda pair: -pair[1][0])
        for key, (weight, error) in heaviest:
            self.add(key, weight, error)

    def heaviest(self, count: int) -> list[tuple[Key, float]]:
        """Return the heaviest keys with their weights."""
        ordered = sorted(self.weights.items(), key=lambda pair: (-pair[1][0], pair[0]))
        return [(key, weight) for key, (weight, _) in ordered[:count]]

    def pack(self) -> bytes:
        """Return the row of this summary."""
        rows = [[key, weight, error] for key, (weight, error) in self.weights.items()]
        return orjson.dumps([self.total, rows])


def unpack(row: bytes) -> TopKeys:
    """Return the summary of a row."""
    try:
        total, rows = orjson.loads(row)
        found = TopKeys()
        found.total = total
        found.weights = {tuple(key): (weight, error) for key, weight, error in rows}
    except (ValueError, TypeError) as error:
        raise CorruptionError(f"summary of keys is malformed: {row[:80]!r}") from error
    return found
