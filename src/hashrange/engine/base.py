"""The engine contract: ordered bytes in shards of table spaces, and atomic decisions on them.

An engine knows nothing of DynamoDB. A row lives at (store, shard, key). A *store* is an ordered map
from key bytes to value bytes. A *space* is a group of stores that belong together, such as all that
one table consists of except its global indexes; the name of a store is its space, or its space, a
dot and its own name. A *shard* is a numbered part of a space, cut through all its stores: a row's
shard follows from the placement hash of its partition key (see `shard_of`), so that an item, its
local index rows, its expiry row, its collection size and its change record share a shard. How many
shards a space has is fixed when the space is made, and kept by the layer above.

What every engine promises:

1. `write` reads the rows a decision names, calls `decide`, and applies its changes as one atomic,
   isolated step; when it returns, the step is as durable as the engine was asked to be. All rows
   that a decision names and changes lie in one shard of one space, unless the engine can do more
   (`Capabilities.atomic_across_shards`). A decision names at least one row, which tells its shard.
2. `decide` is pure: the engine may call it more than once and use only the last answer.
3. Numbers are per shard. Appends are numbered by a sequence of the shard that starts above 0 and
   never uses a number twice. Numbers follow the order of the steps, and within a step the order of
   its appends; a reader that sees a number sees all smaller ones that were given in that shard. A
   row is stored under its prefix and its number, eight bytes, big-endian. Nothing is promised
   about the order of steps in different shards.
4. Fencing is per space. A decision names the version of each space it was built on; a shard that
   has seen a newer one refuses it with `StaleVersionError`, and takes note of the decision's
   version if that is newer. Changes raise the version of a space in the same step; an engine
   without `atomic_across_shards` does so in the other shards when `fence` is called.
5. `counter` moves when changes are announced. It tells caches to look again; it may move late or
   without need, and nothing is refused because of it.
6. Reads say what they need: EVENTUAL may be stale; STRONG sees every acknowledged decision on that
   row; both see each row by itself. `read_together` sees several rows as of one moment and is
   only there with `snapshot_reads`. No read shows what could still be lost.
7. Changes are applied in this order: drops, creates, deletes, puts, appends, tallies, fences. So a
   put wins over a delete of the same key, and of two puts of one key the later one. Creating a
   store that exists and dropping or deleting what does not exist do nothing; a put, an append or a
   tally for a store that does not exist refuses the whole decision with `EngineError`. An engine
   may carry out creates before the step and drops after it: a crash then leaves an unused
   store.
8. Outcomes: applied, refused (an exception, and nothing happened) or unknown
   (`UnknownOutcomeError`); an engine settles unknown outcomes itself as far as it can. Other
   failures are `EngineError` (nothing happened), `ConflictError` and `CorruptionError`; what
   `decide` raises passes unchanged. Cancelling a `write` leaves its outcome unknown to the caller.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol, final

RowKey = tuple[str, int, bytes]
"""A row's address: store name ([a-z0-9_]+, maybe a dot and more of these), shard and key bytes."""

Row = tuple[bytes, bytes]

Fence = tuple[str, int]
"""A space and its version."""

EVENTUAL: Final = 0
STRONG: Final = 1

SEQUENCE_BYTES: Final = 8
"""The length of the number that ends the key of an appended row."""

PLACEMENT_BYTES: Final = 4
"""The length of the placement hash that the keys of items begin with."""

_PLACEMENT_BITS: Final = 8 * PLACEMENT_BYTES


def shard_of(key: bytes, shards: int) -> int:
    """Return the shard of a key that begins with its placement: shards are equal hash ranges."""
    return int.from_bytes(key[:PLACEMENT_BYTES], "big") * shards >> _PLACEMENT_BITS


def space_of(store: str) -> str:
    """Return the space of a store."""
    return store.partition(".")[0]


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What an engine promises beyond the contract, and its preferences.

    The layer above asks these, never for an engine's name.
    """

    # One decision may name and change rows of several shards and spaces.
    atomic_across_shards: bool
    # Global index rows may be changed in the step of their item.
    indexes_in_step: bool
    # `read_together` is supported.
    snapshot_reads: bool
    # The data is in files of this machine, to be copied or encrypted by us.
    local_files: bool
    # How many shards a new space should have.
    shards: int = 1
    # The rows of one shard that one call of `read` asks for are seen as of one moment.
    shard_snapshots: bool = False


@final
class Changes:
    """The changes of a decision, and the outcome to report to its caller."""

    __slots__ = (
        "appends",
        "creates",
        "deletes",
        "drops",
        "fences",
        "is_announced",
        "is_unhurried",
        "outcome",
        "puts",
        "tallies",
    )

    def __init__(self, outcome: object = None) -> None:
        self.outcome = outcome
        self.puts: list[tuple[str, int, bytes, bytes]] = []
        self.deletes: list[RowKey] = []
        # (store, shard, key prefix, value): the engine completes the key with the next number.
        self.appends: list[tuple[str, int, bytes, bytes]] = []
        # (name of a store, change of its row count, change of its bytes): kept beside the rows of
        # the decision's shard, also for a store of another space; see `Engine.tally`.
        self.tallies: list[tuple[str, int, int]] = []
        self.creates: list[str] = []
        self.drops: list[str] = []
        # Spaces whose version is raised.
        self.fences: list[Fence] = []
        # Whether the change counter moves.
        self.is_announced = False
        # Whether no client waits for it: an event loop then does not wait for the disk itself.
        self.is_unhurried = False


class Decision(Protocol):
    """A write, as a pure function of the rows it must see."""

    @property
    def fences(self) -> Sequence[Fence]:
        """The versions of spaces it was built on; empty when it was built on none."""

    @property
    def keys(self) -> Sequence[RowKey]:
        """The rows it must see, in the order `decide` receives them; at least one."""

    def decide(self, rows: Sequence[bytes | None]) -> Changes:
        """Return the changes for these rows. Pure; an exception refuses the write unchanged."""


class Lease(Protocol):
    """The right to do some background work, held until it is released or lost.

    A holder that was paused may not know that it lost its lease, so the work done under it must be
    harmless even then.
    """

    @property
    def is_held(self) -> bool:
        """Whether the lease is still held, as far as this process knows."""

    async def release(self) -> None:
        """Release the lease, so that another process can take it."""


class Engine(Protocol):
    """Ordered bytes with atomic decisions; every method may be called from one event loop only."""

    @property
    def capabilities(self) -> Capabilities: ...

    def counter(self) -> int:
        """Return the newest change counter this process knows of; cheap enough for each request."""

    async def read(self, keys: Sequence[RowKey], consistency: int) -> list[bytes | None]:
        """Return the rows at these keys, each by itself; an absent store reads as empty."""

    async def read_together(self, keys: Sequence[RowKey]) -> list[bytes | None]:
        """Return the rows at these keys as they were at one moment (`snapshot_reads`)."""

    async def read_versions(self, keys: Sequence[RowKey]) -> list[tuple[bytes | None, int]]:
        """Return rows, strongly, each with a number that differs whenever the row has changed.

        For engines without `snapshot_reads`: two equal answers, one after the other, mean that
        all rows were so at one moment between them. Of a row that is absent, the number may also
        differ when other rows of the shard were deleted.
        """

    async def range(
        self,
        store: str,
        shard: int,
        lower: bytes,
        upper: bytes,
        *,
        reverse: bool,
        rows_max: int,
        bytes_max: int,
        consistency: int,
    ) -> tuple[list[Row], bool]:
        """Return rows with lower <= key < upper in key order, and whether the range ended there.

        Stops after `rows_max` rows (at least 1), or after the row with which the values reach
        `bytes_max`. A range stopped by either bound has not ended, even if nothing follows.
        """

    async def write(self, decision: Decision) -> object:
        """Apply a decision and return its outcome."""

    async def merge(self, store: str, rows: Sequence[tuple[int, bytes, bytes | None, int]]) -> None:
        """Write rows (shard, key, value or None to delete, version), each by itself.

        For engines without `indexes_in_step`, and for stores that are written in no other way:
        of two versions of one row the higher one wins, in whatever order they come.
        """

    async def fence(self, space: str, shards: int, version: int) -> None:
        """Make all shards of a space refuse decisions built on an older version."""

    async def tally(self, space: str, shards: int, name: str) -> tuple[int, int]:
        """Return the sums of the tallies written in a space under a name: rows and bytes."""

    async def tidy(self) -> bool:
        """Do a small piece of work that the engine has put off; return whether there was any.

        Called by the process that does the background work, again and again.
        """

    def appended(self, space: str) -> int:
        """Return a mark that differs whenever something was appended to a space; may lag."""

    async def watch(self, space: str, seen: int, seconds: float) -> None:
        """Wait until `appended` may differ from `seen`, at most so many seconds.

        A hint: it may return late, up to the given time, or without need.
        """

    async def lease(self, name: str, seconds: float) -> Lease | None:
        """Take the lease of a name, unless another process holds it.

        A process that dies loses its leases at once or after `seconds`; a living one keeps them.
        """

    async def close(self) -> None:
        """Finish what is under way, then let go of files; a second call does nothing."""
