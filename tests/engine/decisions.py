"""Small decisions for exercising engines."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hashrange.engine.base import ANY_EPOCH, Changes, StoreKey

Rows = Sequence[bytes | None]


class Write:
    """A decision made of its keys and a function of the rows."""

    def __init__(
        self,
        decide: Callable[[Rows], Changes],
        keys: Sequence[StoreKey] = (),
        epoch: int = ANY_EPOCH,
    ) -> None:
        self.decide = decide
        self.keys = keys
        self.epoch = epoch


def plain(
    *,
    puts: Sequence[tuple[str, bytes, bytes]] = (),
    deletes: Sequence[StoreKey] = (),
    creates: Sequence[str] = (),
    drops: Sequence[str] = (),
    appends: Sequence[tuple[str, bytes, bytes]] = (),
    tallies: Sequence[tuple[str, int, int]] = (),
    epoch_step: bool = False,
    epoch: int = ANY_EPOCH,
    outcome: object = None,
) -> Write:
    """Return a decision that does these things whatever the rows."""

    def decide(rows: Rows) -> Changes:
        changes = Changes(outcome)
        changes.puts.extend(puts)
        changes.deletes.extend(deletes)
        changes.creates.extend(creates)
        changes.drops.extend(drops)
        changes.appends.extend(appends)
        changes.tallies.extend(tallies)
        changes.epoch_step = epoch_step
        return changes

    return Write(decide, epoch=epoch)


def put(store: str, key: bytes, value: bytes) -> Write:
    return plain(puts=[(store, key, value)])


def increment(store: str, *keys: bytes) -> Write:
    """Return a decision that adds one to the decimal counters at these keys; outcome: the first."""

    def decide(rows: Rows) -> Changes:
        counts = [int(row or b"0") + 1 for row in rows]
        changes = Changes(counts[0])
        for key, count in zip(keys, counts, strict=True):
            changes.puts.append((store, key, b"%d" % count))
        return changes

    return Write(decide, [(store, key) for key in keys])


def refuse(error: Exception, keys: Sequence[StoreKey] = ()) -> Write:
    """Return a decision that raises."""

    def decide(rows: Rows) -> Changes:
        raise error

    return Write(decide, keys)
