"""The engine contract: ordered bytes in named stores, and atomic decisions on them.

An engine knows nothing of DynamoDB. It keeps *stores*, each an ordered map from key bytes to value
bytes, and promises:

1. `write` reads the rows a decision names, calls `decide`, and applies its changes as one atomic,
   isolated step; when it returns, the step is as durable as the engine was asked to be.
2. `decide` is pure: the engine may call it more than once and use only the last answer.
3. A decision is refused with `StaleEpochError` when `decision.epoch` is not the epoch in force
   inside that very step (a negative epoch is never refused). Changes with `epoch_step` set move
   the epoch on by one, in the same step.
4. `read` and `range` each see one snapshot, only ever of acknowledged or about to be acknowledged
   steps; a read that starts after a write was acknowledged sees that write.
5. Changes are applied in this order: drops, creates, deletes, puts, appends, tallies. So a put wins
   over a delete of the same key, and of two puts of one key the later one. Creating a store that
   exists and dropping or deleting what does not exist do nothing; a put, an append or a tally for a
   store that does not exist refuses the whole decision with `EngineError`. Dropping a store
   forgets its tally.
6. Appends are numbered by one sequence for all stores, which starts at 1 and never uses a number
   twice. Numbers follow the order of the steps, and within a step the order of its appends; whoever
   sees a number sees all smaller ones that were ever given. A row is stored under its prefix and
   its number, eight bytes, big-endian.
7. The first four bytes of an item key are its placement hash; an engine may spread a store over
   shards by ranges of it. The embedded engines keep every store in one ordered map.
8. Failures are `EngineError` (nothing happened), `UnknownOutcomeError` or `CorruptionError`;
   besides what `decide` itself raises (which passes unchanged, and nothing happened), nothing else
   escapes. Cancelling a `write` in flight leaves its outcome unknown to the caller.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, final

StoreKey = tuple[str, bytes]
"""A row's address: store name ([a-z0-9_]+) and key bytes."""

Row = tuple[bytes, bytes]

ANY_EPOCH = -1

SEQUENCE_BYTES = 8
"""How long the number is that ends the key of an appended row."""


@final
class Changes:
    """What a decision wants done, and the outcome to report to its caller."""

    __slots__ = (
        "appends",
        "creates",
        "deletes",
        "drops",
        "epoch_step",
        "outcome",
        "puts",
        "tallies",
    )

    def __init__(self, outcome: object = None) -> None:
        self.outcome = outcome
        self.puts: list[tuple[str, bytes, bytes]] = []
        self.deletes: list[StoreKey] = []
        # (store, key prefix, value): the engine completes the key with the next sequence number.
        self.appends: list[tuple[str, bytes, bytes]] = []
        # (store, change of its row count, change of its bytes): kept per store, see `Engine.tally`.
        self.tallies: list[tuple[str, int, int]] = []
        self.creates: list[str] = []
        self.drops: list[str] = []
        self.epoch_step = False


class Decision(Protocol):
    """A write, as a pure function of the rows it must see."""

    @property
    def epoch(self) -> int:
        """The catalog epoch it was built on, or ANY_EPOCH."""

    @property
    def keys(self) -> Sequence[StoreKey]:
        """The rows it must see, in the order `decide` receives them."""

    def decide(self, rows: Sequence[bytes | None]) -> Changes:
        """Return the changes for these rows. Pure; an exception refuses the write unchanged."""


class Engine(Protocol):
    """Ordered bytes with atomic decisions; every method may be called from one event loop only."""

    def epoch(self) -> int:
        """Return the newest catalog epoch this process knows of; cheap enough for every request."""

    def sequence(self) -> int:
        """Return the newest number of the sequence this process knows of; as cheap as `epoch`.

        A hint for those who wait for appends, of this process or another: it never runs ahead of
        what can be read, and may lag when a process died until the next write.
        """

    def note_clients(self, count: int) -> None:
        """Take note of how many clients this process has: one alone need not wait for others."""

    async def read(self, keys: Sequence[StoreKey]) -> list[bytes | None]:
        """Return the rows at these keys, from one snapshot; an absent store reads as empty."""

    async def range(
        self,
        store: str,
        lower: bytes,
        upper: bytes,
        *,
        reverse: bool,
        rows_max: int,
        bytes_max: int,
    ) -> tuple[list[Row], bool]:
        """Return rows with lower <= key < upper in key order, and whether the range ended there.

        Stops after `rows_max` rows (at least 1), or after the row with which the values reach
        `bytes_max`. A range stopped by either bound has not ended, even if nothing follows.
        """

    async def write(self, decision: Decision) -> object:
        """Apply a decision and return its outcome."""

    async def tally(self, store: str) -> tuple[int, int]:
        """Return the sums of the tallies written for a store: rows and bytes."""

    async def close(self) -> None:
        """Finish what is under way, then let go of files; a second call does nothing."""
