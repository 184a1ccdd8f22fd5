"""Compares two tables: items and a digest for each of 256 parts, by the hash of the key.

The parts do not depend on the endpoint, unlike segments of a scan. The digest of a part is the sum
of its items' digests, so the order of reading does not matter. Items are brought to one form
before: numbers without needless digits, sets and members of maps in order.

Items of parts that differ are read again by key: a source that is being written to differs while
its latest changes are on their way.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, Final, final

import orjson

from hashrange.cli.copying.pace import Pace
from hashrange.cli.copying.places import Place
from hashrange.cli.copying.scanning import PATIENT, scan_segments
from hashrange.cli.meter import Meter
from hashrange.toolkit.client.batches import GETS_PER_BATCH, chunked, get_items
from hashrange.toolkit.values import Item, Wire

PARTS: Final = 256
SUSPECTS_MAX: Final = 100_000
_DIGEST_BYTES: Final = 16
_ROUNDS: Final = 5

Key = bytes


@final
class TableDigest:
    """Items and digest of each part of a table. Threads may share it."""

    def __init__(self, keys: Sequence[str]) -> None:
        self._keys = keys
        self._lock = threading.Lock()
        self.counts = [0] * PARTS
        self.sums = [0] * PARTS

    def add(self, items: Sequence[Item]) -> None:
        """Count items in."""
        found = [(part_of(identity(item, self._keys)), digest_of(item)) for item in items]
        with self._lock:
            for part, digest in found:
                self.counts[part] += 1
                self.sums[part] += digest

    def differing(self, other: TableDigest) -> list[int]:
        """Return the parts that are not the same."""
        return [
            part
            for part in range(PARTS)
            if (self.counts[part], self.sums[part]) != (other.counts[part], other.sums[part])
        ]


def identity(item: Item, keys: Sequence[str]) -> Key:
    """Return the key of an item as bytes, which are also a JSON list of its values."""
    return orjson.dumps([canonical(item[name]) for name in keys])


def part_of(key: Key) -> int:
    """Return the part of a table that a key belongs to."""
    return hashlib.blake2b(key, digest_size=1).digest()[0]


def digest_of(item: Item) -> int:
    """Return the digest of an item."""
    form = {name: canonical(value) for name, value in item.items()}
    text = orjson.dumps(form, option=orjson.OPT_SORT_KEYS)
    return int.from_bytes(hashlib.blake2b(text, digest_size=_DIGEST_BYTES).digest(), "big")


def canonical(value: Wire) -> Wire:
    """Return an attribute value in the form that equal values share."""
    ((kind, content),) = value.items()
    if kind == "N":
        return {kind: _number(content)}
    if kind in ("SS", "BS"):
        return {kind: sorted(content)}
    if kind == "NS":
        return {kind: sorted(map(_number, content))}
    if kind == "L":
        return {kind: [canonical(each) for each in content]}
    if kind == "M":
        return {kind: {name: canonical(each) for name, each in content.items()}}
    return value


def _number(text: str) -> str:
    if text.isdigit() and (text[0] != "0" or text == "0") and text[-1] != "0":
        return text
    return str(Decimal(text).normalize() + 0)


@final
class Comparison:
    """Compares the two ends of a copy."""

    def __init__(
        self, ends: tuple[Place, Place], keys: Sequence[str], segments: int, pace: Pace
    ) -> None:
        self._ends = ends
        self._keys = keys
        self._segments = segments
        self._pace = pace
        self.items = 0

    def differences(self, meter: Meter, catch_up: Callable[[], None] | None) -> list[Key] | None:
        """Return the keys of items that differ; None if there are too many to tell."""
        digests = [self._digest(place, meter) for place in self._ends]
        self.items = sum(digests[0].counts)
        parts = frozenset(digests[0].differing(digests[1]))
        if not parts:
            return []
        suspects = self._suspects(parts)
        if suspects is None:
            return None
        for _ in range(_ROUNDS):
            if catch_up is not None:
                catch_up()
            suspects = self._still_differing(suspects)
            if not suspects or catch_up is None:
                break
        return sorted(suspects)

    def _digest(self, place: Place, meter: Meter) -> TableDigest:
        digest = TableDigest(self._keys)

        def add(_: int, items: list[Item], __: object) -> None:
            self._pace.take(len(items))
            digest.add(items)
            meter.advance(len(items))

        self._scan(place, add)
        return digest

    def _suspects(self, parts: frozenset[int]) -> dict[Key, Item] | None:
        """Return the keys of items that differ in some parts; None if there are too many."""
        found: list[dict[Key, tuple[int, Item]]] = [{}, {}]
        for place, entries in zip(self._ends, found, strict=True):

            def add(
                _: int,
                items: list[Item],
                __: object,
                entries: dict[Key, tuple[int, Item]] = entries,
            ) -> None:
                self._pace.take(len(items))
                for item in items:
                    key = identity(item, self._keys)
                    if part_of(key) in parts and len(entries) <= SUSPECTS_MAX:
                        entries[key] = (digest_of(item), {name: item[name] for name in self._keys})

            self._scan(place, add)
        if any(len(entries) > SUSPECTS_MAX for entries in found):
            return None
        left, right = found
        both = left | right
        return {
            key: both[key][1]
            for key in both
            if key not in left or key not in right or left[key][0] != right[key][0]
        }

    def _scan(self, place: Place, on_page: Callable[[int, list[Item], Any], None]) -> None:
        starts: dict[int, dict[str, Any] | None] = dict.fromkeys(range(self._segments))
        scan_segments(place, starts, self._segments, self._pace, on_page)

    def _still_differing(self, suspects: dict[Key, Item]) -> dict[Key, Item]:
        still: dict[Key, Item] = {}
        for chunk in chunked(list(suspects.items()), GETS_PER_BATCH):
            left, right = (self._digests(place, dict(chunk)) for place in self._ends)
            still |= {key: item for key, item in chunk if left.get(key) != right.get(key)}
        return still

    def _digests(self, place: Place, keys: dict[Key, Item]) -> dict[Key, int]:
        options = {"ConsistentRead": True}
        plan = get_items(place.table, list(keys.values()), options, PATIENT)
        return {identity(item, self._keys): digest_of(item) for item in place.driver.run(plan)}
