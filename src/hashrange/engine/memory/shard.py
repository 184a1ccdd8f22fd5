"""One shard of a space in memory: ordered rows, a sequence, tallies and the recent past.

A shard changes in steps. The last few steps can be undone for a reader, which is how stale reads
are served, and the write ids of recent steps tell whether a write without an answer was applied.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Final, final

from sortedcontainers import SortedList

from hashrange.engine.base import SEQUENCE_BYTES, Changes, Fence, Row
from hashrange.engine.memory.faults import STALE_STEPS_MAX

WRITE_IDS_KEPT: Final = 4096  # more than a test has writes in flight


@final
class _Store:
    """The rows of one store in one shard. `marks` hold the step or version that made a row."""

    __slots__ = ("marks", "order", "rows")

    def __init__(self) -> None:
        self.rows: dict[bytes, bytes] = {}
        self.order: SortedList[bytes] = SortedList()
        # Rows that were deleted by a merge keep their version as a tombstone.
        self.marks: dict[bytes, int] = {}

    def put(self, key: bytes, value: bytes | None, mark: int) -> bytes | None:
        """Replace or remove a row; return what was there."""
        before = self.rows.pop(key, None)
        if value is not None:
            if before is None:
                self.order.add(key)
            self.rows[key] = value
        elif before is not None:
            self.order.remove(key)
        self.marks[key] = mark
        return before


@final
class Step:
    """Changes on their way to a shard: the step they expect it to be at, and an id of their own."""

    __slots__ = ("changes", "expected", "id", "version")

    def __init__(self, expected: int, changes: Changes, id: int) -> None:
        self.expected = expected
        self.changes = changes
        self.id = id
        self.version = 0

    def note_versions(self, space: str, fences: Sequence[Fence]) -> None:
        """Take note of the newest version of a space that was built on, or is raised to."""
        for name, version in (*fences, *self.changes.fences):
            if name == space:
                self.version = max(self.version, version)


_Undo = dict[tuple[str, bytes], bytes | None]


@final
class Shard:
    """The state of one replica group."""

    def __init__(self) -> None:
        self.step = 0
        self.version = 0
        self.tallies: dict[str, tuple[int, int]] = {}
        self.pending: Step | None = None  # without an answer; it may still be carried out
        self._sequence = 0
        self._deleted_at = 0
        self._stores: dict[str, _Store] = {}
        self._past: deque[_Undo] = deque(maxlen=STALE_STEPS_MAX)
        self._write_ids: deque[tuple[int, int]] = deque(maxlen=WRITE_IDS_KEPT)

    def get(self, store: str, key: bytes, steps_back: int = 0) -> bytes | None:
        """Return a row as it was so many steps ago."""
        overlay = self._overlay(store, steps_back)
        if key in overlay:
            return overlay[key]
        found = self._stores.get(store)
        return None if found is None else found.rows.get(key)

    def mark(self, store: str, key: bytes) -> int:
        """Return a number that differs whenever the row has changed."""
        found = self._stores.get(store)
        if found is None or key not in found.rows:
            return self._deleted_at
        return found.marks[key]

    def rows(
        self, store: str, lower: bytes, upper: bytes, *, reverse: bool, steps_back: int
    ) -> Iterator[Row]:
        """Yield the rows of a range as they were so many steps ago."""
        found = self._stores.get(store) or _Store()
        overlay = self._overlay(store, steps_back)
        keys = found.order.irange(lower, upper, inclusive=(True, False), reverse=reverse)
        if overlay:
            added = [key for key in overlay if lower <= key < upper and key not in found.rows]
            keys = iter(sorted([*keys, *added], reverse=reverse))
        for key in keys:
            value = overlay[key] if key in overlay else found.rows[key]
            if value is not None:
                yield key, value

    def apply(self, step: Step) -> int:
        """Carry out one step; return how many rows were appended."""
        changes = step.changes
        self.step += 1
        self.version = max(self.version, step.version)
        undo: _Undo = {}
        for store, _, key in changes.deletes:
            self._put(store, key, None, undo)
        for store, _, key, value in changes.puts:
            self._put(store, key, value, undo)
        for store, _, prefix, value in changes.appends:
            self._sequence += 1
            key = prefix + self._sequence.to_bytes(SEQUENCE_BYTES, "big")
            self._put(store, key, value, undo)
        for name, rows, size in changes.tallies:
            before = self.tallies.get(name, (0, 0))
            self.tallies[name] = (before[0] + rows, before[1] + size)
        self._past.append(undo)
        self._write_ids.append((self.step, step.id))
        return len(changes.appends)

    def merge(self, store: str, key: bytes, value: bytes | None, version: int) -> None:
        """Write a row unless a version at least as new is there."""
        found = self._stores.setdefault(store, _Store())
        if found.marks.get(key, -1) >= version:
            return
        self.step += 1
        self._past.append({(store, key): found.put(key, value, version)})

    def was_applied(self, step: Step) -> bool | None:
        """Tell whether a step was carried out; None when that is too long ago to tell."""
        if any(kept == step.id for _, kept in self._write_ids):
            return True
        is_full = len(self._write_ids) == WRITE_IDS_KEPT
        return None if is_full and self._write_ids[0][0] > step.expected + 1 else False

    def drop(self, store: str) -> None:
        """Forget a store and the tallies kept under its name."""
        self._stores.pop(store, None)
        self.tallies.pop(store, None)
        for undo in self._past:
            for address in [address for address in undo if address[0] == store]:
                del undo[address]

    def _put(self, store: str, key: bytes, value: bytes | None, undo: _Undo) -> None:
        found = self._stores.setdefault(store, _Store())
        before = found.put(key, value, self.step)
        if value is None:
            self._deleted_at = self.step
        undo.setdefault((store, key), before)

    def _overlay(self, store: str, steps_back: int) -> dict[bytes, bytes | None]:
        """Return the rows of a store that differed so many steps ago."""
        overlay: dict[bytes, bytes | None] = {}
        for number in range(1, min(steps_back, len(self._past)) + 1):
            for (name, key), value in self._past[-number].items():
                if name == store:
                    overlay[key] = value
        return overlay
