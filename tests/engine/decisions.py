"""Small decisions for exercising engines; their rows lie in shard 0 unless told otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from hashrange.engine.base import Changes, Fence, RowKey

Rows = Sequence[bytes | None]

SHARD = 0


class Write:
    """A decision made of its keys and a function of the rows."""

    def __init__(
        self,
        decide: Callable[[Rows], Changes],
        keys: Sequence[RowKey] = (("t", SHARD, b""),),
        fences: Sequence[Fence] = (),
    ) -> None:
        self.decide = decide
        self.keys = keys
        self.fences = fences


def plain(
    *,
    puts: Sequence[tuple[str, bytes, bytes]] = (),
    deletes: Sequence[tuple[str, bytes]] = (),
    creates: Sequence[str] = (),
    drops: Sequence[str] = (),
    appends: Sequence[tuple[str, bytes, bytes]] = (),
    tallies: Sequence[tuple[str, int, int]] = (),
    raises: Sequence[Fence] = (),
    announced: bool = False,
    unhurried: bool = False,
    fences: Sequence[Fence] = (),
    outcome: object = None,
) -> Write:
    """Return a decision that does these things whatever the rows.

    `raises` are the versions it raises, `fences` those it was built on.
    """

    def decide(rows: Rows) -> Changes:
        changes = Changes(outcome)
        changes.puts.extend((store, SHARD, key, value) for store, key, value in puts)
        changes.deletes.extend((store, SHARD, key) for store, key in deletes)
        changes.creates.extend(creates)
        changes.drops.extend(drops)
        changes.appends.extend((store, SHARD, prefix, value) for store, prefix, value in appends)
        changes.tallies.extend(tallies)
        changes.fences.extend(raises)
        changes.is_announced = announced
        changes.is_unhurried = unhurried
        return changes

    named: list[Any] = [
        *(row[0] for row in (*puts, *deletes, *appends, *tallies)),
        *creates,
        *drops,
        "t",
    ]
    return Write(decide, [(named[0], SHARD, b"")], fences)


def put(store: str, key: bytes, value: bytes) -> Write:
    return plain(puts=[(store, key, value)])


def append(store: str, *values: bytes) -> Write:
    """Return a decision that appends rows whose keys are their numbers alone."""
    return plain(appends=[(store, b"", value) for value in values])


def increment(store: str, *keys: bytes) -> Write:
    """Return a decision that adds one to the decimal counters at these keys; outcome: the first."""

    def decide(rows: Rows) -> Changes:
        counts = [int(row or b"0") + 1 for row in rows]
        changes = Changes(counts[0])
        for key, count in zip(keys, counts, strict=True):
            changes.puts.append((store, SHARD, key, b"%d" % count))
        return changes

    return Write(decide, keys_of(store, keys))


def refuse(error: Exception, store: str = "t", key: bytes = b"") -> Write:
    """Return a decision that raises."""

    def decide(rows: Rows) -> Changes:
        raise error

    return Write(decide, [(store, SHARD, key)])


def keys_of(store: str, keys: Iterable[bytes]) -> list[RowKey]:
    return [(store, SHARD, key) for key in keys]
