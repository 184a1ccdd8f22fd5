"""The store of scalable targets: one space with one shard, changed by decisions.

target row   := target as JSON      under "t" account 0 region 0 resource 0 dimension
activity row := activity as JSON    under "a" account 0 region 0 resource 0 dimension 0 time id

A target is a document in the words of the API, with times in seconds since the epoch, and has its
policy and its scheduled actions inside, so that deregistering it takes all of them. The time in the
key of an activity is in microseconds, eight bytes, so that a range is in the order of time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, final

import orjson

from hashrange.engine.base import STRONG, Changes, Engine, Fence, Row, RowKey
from hashrange.storage.settled_writes import write_surely

STORE: Final = "autoscaling"
ACTIVITY_SECONDS: Final = 6 * 7 * 86_400
_PAGE_ROWS: Final = 500
_PAGE_BYTES: Final = 4 << 20
_TARGET: Final = b"t"
_ACTIVITY: Final = b"a"
_TIME_BYTES: Final = 8

World = tuple[str, str]
"""Account and region."""

Document = dict[str, Any]

Editor = Callable[[Document | None], Document | None]
"""A pure function from a target as it is (None: absent) to what it shall be (None: deleted)."""


def target_key(world: World, resource: str, dimension: str) -> bytes:
    """Return where a target is."""
    return _TARGET + "\x00".join((*world, resource, dimension)).encode()


@final
class _Edit:
    """The decision that changes a target."""

    __slots__ = ("_edit", "fences", "keys")

    def __init__(self, key: bytes, edit: Editor) -> None:
        self.fences: Sequence[Fence] = ()
        self.keys: Sequence[RowKey] = ((STORE, 0, key),)
        self._edit = edit

    def decide(self, rows: Sequence[bytes | None]) -> Changes:
        (row,) = rows
        document = self._edit(None if row is None else orjson.loads(row))
        changes = Changes(document)
        changes.creates = [STORE]
        changes.is_announced = row is None  # a worker that had no target looks again
        if document is not None:
            changes.puts.append((*self.keys[0], orjson.dumps(document)))
        elif row is not None:
            changes.deletes.append(self.keys[0])
        return changes


@final
class _Activities:
    """The decision that adds an activity and takes old ones away."""

    __slots__ = ("_old", "_row", "fences", "keys")

    def __init__(self, key: bytes, row: bytes, old: Sequence[bytes]) -> None:
        self.fences: Sequence[Fence] = ()
        self.keys: Sequence[RowKey] = ((STORE, 0, key),)
        self._row = row
        self._old = old

    def decide(self, rows: Sequence[bytes | None]) -> Changes:
        changes = Changes()
        changes.creates = [STORE]
        changes.deletes.extend([(STORE, 0, key) for key in self._old])
        changes.puts.append((*self.keys[0], self._row))
        return changes


@final
class ScalingStore:
    """The scalable targets of all accounts, and what was done to them."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def counter(self) -> int:
        """Return a number that moves when there is a new target; it may move without one, too."""
        return self._engine.counter()

    async def change(
        self, world: World, resource: str, dimension: str, edit: Editor
    ) -> Document | None:
        """Change a target, and return it as it is then."""
        key = target_key(world, resource, dimension)
        document = await write_surely(self._engine, _Edit(key, edit))
        assert document is None or isinstance(document, dict)
        return document

    async def get(self, world: World, resource: str, dimension: str) -> Document | None:
        """Return a target, None if there is none."""
        key = target_key(world, resource, dimension)
        (row,) = await self._engine.read([(STORE, 0, key)], STRONG)
        return None if row is None else orjson.loads(row)

    async def targets(self, world: World | None = None) -> list[tuple[World, Document]]:
        """Return the targets of an account's region, or all, in the order of their names."""
        prefix = _TARGET + b"".join(f"{name}\x00".encode() for name in world or ())
        found = []
        for key, row in await self._rows(prefix):
            account, region, *_ = key[len(_TARGET) :].decode().split("\x00")
            found.append(((account, region), orjson.loads(row)))
        return found

    async def add_activity(self, world: World, activity: Document) -> None:
        """Add an activity; those of its target that are older than six weeks are forgotten."""
        prefix = _activity_prefix(world, activity["ResourceId"], activity["ScalableDimension"])
        time = activity["StartTime"]
        key = prefix + _time_key(time) + activity["ActivityId"].encode()
        upper = prefix + _time_key(time - ACTIVITY_SECONDS)
        old = [old for old, _ in await self._rows(prefix) if old < upper]
        await write_surely(self._engine, _Activities(key, orjson.dumps(activity), old))

    async def activities(self, world: World, now: float) -> list[Document]:
        """Return the activities of the last six weeks, the newest first."""
        rows = await self._rows(_activity_prefix(world))
        found = [orjson.loads(row) for _, row in rows]
        recent = [each for each in found if each["StartTime"] >= now - ACTIVITY_SECONDS]
        return sorted(recent, key=lambda each: float(each["StartTime"]), reverse=True)

    async def _rows(self, prefix: bytes) -> list[Row]:
        found: list[Row] = []
        lower, upper = prefix, prefix + b"\xff"
        while True:
            rows, ended = await self._engine.range(
                STORE,
                0,
                lower,
                upper,
                reverse=False,
                rows_max=_PAGE_ROWS,
                bytes_max=_PAGE_BYTES,
                consistency=STRONG,
            )
            found += rows
            if ended:
                return found
            lower = rows[-1][0] + b"\x00"


def _activity_prefix(world: World, *target: str) -> bytes:
    return _ACTIVITY + b"".join(f"{name}\x00".encode() for name in (*world, *target))


def _time_key(time: float) -> bytes:
    return max(0, int(time * 1_000_000)).to_bytes(_TIME_BYTES, "big")
