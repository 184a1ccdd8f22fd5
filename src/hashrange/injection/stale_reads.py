"""Stale reads: an engine that remembers rows as they were, and views of it that show them.

A view answers eventually consistent reads of items that were written within some seconds as they
were before; an item that was just created is absent, one that was just deleted is still there when
it is read by its key. Everything else is the engine's own. Rows of global indexes are not
remembered. What is remembered is bounded, and is the memory of one process.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Sequence
from typing import Final, final

from hashrange.clock import Clock
from hashrange.engine.base import EVENTUAL, Changes, Decision, Engine, Fence, Row, RowKey

_REMEMBERED_MAX: Final = 10_000
_VERSIONS_MAX: Final = 16


@final
class _Watched:
    """A decision, of which it is noted how the rows were that it changes."""

    __slots__ = ("_decision", "before")

    def __init__(self, decision: Decision) -> None:
        self._decision = decision
        self.before: dict[RowKey, bytes | None] = {}

    @property
    def fences(self) -> Sequence[Fence]:
        return self._decision.fences

    @property
    def keys(self) -> Sequence[RowKey]:
        return self._decision.keys

    def decide(self, rows: Sequence[bytes | None]) -> Changes:
        changes = self._decision.decide(rows)
        known = dict(zip(self.keys, rows, strict=True))
        written = {*[put[:3] for put in changes.puts], *changes.deletes}
        self.before = {key: row for key, row in known.items() if key in written}
        return changes


@final
class Memory:
    """The last versions of rows, each with the time of the write that replaced it."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._rows: OrderedDict[RowKey, deque[tuple[float, bytes | None]]] = OrderedDict()

    def watch(self, decision: Decision) -> _Watched:
        """Return the decision to carry out instead; give it to `note` afterwards."""
        return _Watched(decision)

    def note(self, watched: _Watched) -> None:
        """Remember the rows that a decision has changed."""
        now = self._clock.now()
        for key, row in watched.before.items():
            versions = self._rows.setdefault(key, deque(maxlen=_VERSIONS_MAX))
            versions.append((now, row))
            self._rows.move_to_end(key)
            if len(self._rows) > _REMEMBERED_MAX:
                self._rows.popitem(last=False)

    def before(self, key: RowKey, row: bytes | None, seconds: float) -> bytes | None:
        """Return a row as it was before the writes of the last seconds, or as it is."""
        since = self._clock.now() - seconds
        for replaced_at, version in self._rows.get(key, ()):
            if replaced_at > since:
                return version
        return row


class RememberingEngine:
    """An engine that remembers; with `stale_seconds`, a view that shows what it remembers."""

    def __init__(self, engine: Engine, memory: Memory, stale_seconds: float = 0.0) -> None:
        self._engine = engine
        self._memory = memory
        self._stale_seconds = stale_seconds
        # Everything that is the same is the engine's own method.
        self.capabilities = engine.capabilities
        self.counter = engine.counter
        self.read_together = engine.read_together
        self.read_versions = engine.read_versions
        self.merge = engine.merge
        self.fence = engine.fence
        self.tally = engine.tally
        self.tidy = engine.tidy
        self.appended = engine.appended
        self.watch = engine.watch
        self.lease = engine.lease
        self.close = engine.close

    def view(self, seconds: float) -> RememberingEngine:
        """Return a view whose eventual reads are up to some seconds behind."""
        return RememberingEngine(self._engine, self._memory, seconds)

    async def read(self, keys: Sequence[RowKey], consistency: int) -> list[bytes | None]:
        """Read rows; see `Engine.read`."""
        rows = await self._engine.read(keys, consistency)
        if consistency != EVENTUAL or not self._stale_seconds:
            return rows
        before = self._memory.before
        return [before(key, row, self._stale_seconds) for key, row in zip(keys, rows, strict=True)]

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
        """Read a range; see `Engine.range`."""
        rows, ended = await self._engine.range(
            store,
            shard,
            lower,
            upper,
            reverse=reverse,
            rows_max=rows_max,
            bytes_max=bytes_max,
            consistency=consistency,
        )
        if consistency != EVENTUAL or not self._stale_seconds:
            return rows, ended
        shown: list[Row] = []
        for key, row in rows:
            before = self._memory.before((store, shard, key), row, self._stale_seconds)
            if before is not None:
                shown.append((key, before))
        # A range that has not ended must not be empty, or its reader could not go on.
        return (shown, ended) if shown or ended else (rows, ended)

    async def write(self, decision: Decision) -> object:
        """Apply a decision; see `Engine.write`."""
        watched = self._memory.watch(decision)
        outcome = await self._engine.write(watched)
        self._memory.note(watched)
        return outcome
