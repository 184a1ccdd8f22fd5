"""Deletes expired client request tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

from hashrange.clock import Clock
from hashrange.engine.base import STRONG, Changes, Engine, Fence, RowKey
from hashrange.storage.tokens import TOKEN_STORE, window_key

_ROWS_PER_STEP = 500


@final
class _Removal:
    """The decision that deletes rows, whatever is in them."""

    def __init__(self, keys: Sequence[RowKey]) -> None:
        self.fences: Sequence[Fence] = ()
        self.keys = keys

    def decide(self, rows: Sequence[bytes | None]) -> Changes:
        changes = Changes()
        changes.deletes.extend(self.keys)
        return changes


async def drop_old_tokens(engine: Engine, clock: Clock) -> int:
    """Delete a bounded number of expired tokens; return how many."""
    rows, _ = await engine.range(
        TOKEN_STORE,
        0,
        b"",
        window_key(clock.now(), back=1),
        reverse=False,
        rows_max=_ROWS_PER_STEP,
        bytes_max=1 << 20,
        consistency=STRONG,
    )
    if rows:
        await engine.write(_Removal([(TOKEN_STORE, 0, key) for key, _ in rows]))
    return len(rows)
