"""Totals that the workers of a server share: what each of them took of each bucket so far.

Memory that the supervisor maps before it forks holds a region for each worker. A region is a hash
table with open addressing: a word with the hash of a name (0 where free), a total, and the level of
the bucket as the worker saw it last, with the time. A worker
writes to its own region only and reads all others, so there is no lock that a killed worker could
hold. A worker that is started again goes on with the totals of the one before it. In a region that
is full, further names are not shared.
"""

from __future__ import annotations

import mmap
from hashlib import blake2b
from typing import Final, final

ENTRIES: Final = 8192
_WORD_BYTES: Final = 8
_PROBES_MAX: Final = 64


@final
class SharedTotals:
    """The regions of all workers; made before the workers are forked."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        # The map must live as long as the words do.
        part = _WORD_BYTES * ENTRIES * workers
        self._map = mmap.mmap(-1, 4 * part)
        self._names = memoryview(self._map)[:part].cast("Q")
        # Totals, then levels, then their times.
        self._values = memoryview(self._map)[part:].cast("d")

    def of(self, worker: int) -> WorkerTotals:
        """Return the totals as one worker sees them."""
        return WorkerTotals(self._names, self._values, worker, self._workers)


@final
class WorkerTotals:
    """What this worker and the others have taken; see `capacity.buckets.Totals`."""

    def __init__(
        self, names: memoryview[int], values: memoryview[float], worker: int, workers: int
    ) -> None:
        self._names = names
        self._totals = values
        self._levels = ENTRIES * workers
        self._times = 2 * ENTRIES * workers
        self._worker = worker
        self._workers = workers
        self._others = [number for number in range(workers) if number != worker]
        self._hashes: dict[str, int] = {}
        # Where a name was found, by worker and name. Entries never move.
        self._places: dict[tuple[int, str], int] = {}

    def add(self, name: str, units: float, level: tuple[float, float]) -> None:
        """Add units that this worker took, and tell the level since then."""
        place = self._find(self._worker, name, is_own=True)
        if place is not None:
            values = self._totals
            values[place] += units
            values[self._levels + place], values[self._times + place] = level

    def level(self, name: str) -> tuple[float, float] | None:
        """Return the newest level that a worker told, this one in an earlier life included."""
        newest = None
        for worker in range(self._workers):
            place = self._find(worker, name)
            if place is not None:
                at = self._totals[self._times + place]
                if newest is None or at >= newest[1]:
                    newest = self._totals[self._levels + place], at
        return newest

    def others(self, name: str) -> float:
        """Return what all other workers took so far."""
        total = 0.0
        for worker in self._others:
            place = self._find(worker, name)
            if place is not None:
                total += self._totals[place]
        return total

    def _find(self, worker: int, name: str, *, is_own: bool = False) -> int | None:
        """Return where the total of a name is in a region, making room in our own."""
        place = self._places.get((worker, name))
        if place is not None:
            return place
        hashed = self._hash(name)
        first = worker * ENTRIES
        for probe in range(_PROBES_MAX):
            place = first + (hashed + probe) % ENTRIES
            found = self._names[place]
            if found == 0 and is_own:
                self._names[place] = hashed
            elif found != hashed:
                if found == 0:
                    return None
                continue
            self._places[worker, name] = place
            return place
        return None

    def _hash(self, name: str) -> int:
        hashed = self._hashes.get(name)
        if hashed is None:
            digest = blake2b(name.encode(), digest_size=_WORD_BYTES).digest()
            hashed = self._hashes[name] = int.from_bytes(digest, "big") or 1
        return hashed
