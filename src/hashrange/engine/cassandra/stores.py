"""Which stores each space has, and under which number their rows are kept.

A number is never given twice in a space, so a store that is made again is empty at once, and rows
of a dropped store can be deleted later. The list of a space is one row that changes by
compare-and-set. This process remembers lists for a few seconds. A decision that was built on a
newer version of a space than the list was read under has it read again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from time import monotonic
from typing import Final, final

import orjson

from hashrange.engine.base import space_of
from hashrange.engine.cassandra.link import Link, NoAnswer
from hashrange.engine.cassandra.schema import Statements
from hashrange.engine.cassandra.session import CONDITIONAL, QUORUM, SERIAL
from hashrange.errors import ConflictError

_AGE_SECONDS_MAX: Final = 5.0
_FORGOTTEN: Final = 0.0
_ATTEMPTS_MAX: Final = 50
_PAUSE_SECONDS: Final = 0.02


@final
@dataclass(slots=True)
class StoreList:
    """The stores of one space."""

    numbers: dict[str, int] = field(default_factory=dict)
    last_number: int = 0
    shards: int = 1
    dropped: list[int] = field(default_factory=list)
    # Of this process: when it was read, and the newest version of the space known then.
    read_at: float = _FORGOTTEN
    version: int = 0
    n: int | None = None

    def pack(self) -> bytes:
        return orjson.dumps(
            {
                "stores": self.numbers,
                "last": self.last_number,
                "shards": self.shards,
                "dropped": self.dropped,
            }
        )


def _unpack(value: bytes, n: int) -> StoreList:
    members = orjson.loads(value)
    return StoreList(members["stores"], members["last"], members["shards"], members["dropped"], n=n)


@final
class Stores:
    """The lists of all spaces that this process has met."""

    def __init__(self, link: Link, statements: Statements, shards: int) -> None:
        self._link = link
        self._statements = statements
        self._shards = shards
        self._lists: dict[str, StoreList] = {}
        # How many stores this process has dropped.
        self.drops = 0

    def known(self, store: str) -> int | None:
        """Return the number of a store if this process knows it."""
        found = self._lists.get(space_of(store))
        if found is None or found.read_at == _FORGOTTEN:
            return None
        return found.numbers.get(store)

    async def refresh(self, space: str, version: int) -> None:
        """Read the list of a space if it is old, or older than a version of the space."""
        found = self._lists.get(space)
        if (
            found is None
            or found.version < version
            or monotonic() - found.read_at > _AGE_SECONDS_MAX
        ):
            await self._read(space, version)

    async def number(self, store: str) -> int | None:
        """Return the number of a store, or None if there is no such store."""
        space = space_of(store)
        found = self._lists.get(space)
        if (
            found is None
            or store not in found.numbers
            or monotonic() - found.read_at > _AGE_SECONDS_MAX
        ):
            found = await self._read(space, 0)
        return found.numbers.get(store)

    def forget(self) -> None:
        """Read lists again when they are needed next: something was announced."""
        for found in self._lists.values():
            found.read_at = _FORGOTTEN

    def is_gone(self, name: str, number: int) -> bool:
        """Tell whether a store is known to have been dropped."""
        found = self._lists.get(space_of(name))
        return found is not None and found.numbers.get(name) != number

    async def create(self, names: Iterable[str]) -> None:
        """Make stores; those that exist stay as they are."""
        await asyncio.gather(*(self._change(*each, set()) for each in _by_space(names)))

    async def drop(self, names: Iterable[str]) -> None:
        """Forget stores; their rows are deleted later."""
        await asyncio.gather(*(self._change(space, set(), n) for space, n in _by_space(names)))

    async def note_shard(self, space: str, shard: int) -> None:
        """Note that a space has this many shards at least, before rows are put there."""
        found = self._lists.get(space) or await self._read(space, 0)
        if shard >= found.shards:
            await self._change(space, set(), set(), shards=shard + 1)

    async def shards_of_dropped(self, space: str, number: int) -> int | None:
        """Return how many shards of a dropped store to empty; None if it still is a store."""
        found = await self._read(space, 0)
        if number in found.numbers.values():
            return None
        return found.shards if number in found.dropped else 0

    async def end_drop(self, space: str, number: int) -> None:
        """Note that the rows of a dropped store are gone."""
        await self._change(space, set(), set(), emptied=number)

    async def _read(self, space: str, version: int, profile: str = QUORUM) -> StoreList:
        began = monotonic()
        bound = self._statements.read_space.bind((space,))
        rows = await self._link.read(bound, profile)
        found = _unpack(*rows[0]) if rows and rows[0][1] is not None else StoreList()
        if found.n is None:
            found.shards = self._shards
        before = self._lists.get(space)
        found.version = max(version, 0 if before is None else before.version)
        found.read_at = began
        self._lists[space] = found
        return found

    async def _change(
        self,
        space: str,
        creates: set[str],
        drops: set[str],
        *,
        shards: int = 0,
        emptied: int | None = None,
    ) -> None:
        """Change the list of a space; what is so already costs one read."""
        for attempt in range(_ATTEMPTS_MAX):
            # A list that seems to miss nothing may be remembered; one that changes must be new.
            found = await self._read(space, 0, SERIAL if attempt else QUORUM)
            missing = sorted(creates - found.numbers.keys())
            gone = sorted(drops & found.numbers.keys())
            if not missing and not gone and shards <= found.shards and emptied is None:
                return
            before = found.n
            found = _unpack(found.pack(), before or 0)  # the known one is not to change before
            for name in missing:
                found.last_number += 1
                found.numbers[name] = found.last_number
            for name in gone:
                number = found.numbers.pop(name)
                found.dropped.append(number)
                await self._link.read(self._statements.add_chore.bind((space, number)), QUORUM)
            found.shards = max(found.shards, shards)
            found.dropped = [number for number in found.dropped if number != emptied]
            found.n = (before or 0) + 1
            bound = self._statements.change_space.bind((found.pack(), found.n, space, before))
            try:
                [answer] = await self._link.ask(bound, CONDITIONAL)
            except NoAnswer:
                answer = (False,)  # looked up in the next round
            if answer[0]:
                self.drops += len(gone)
                found.read_at = monotonic()
                known = self._lists.get(space)
                found.version = 0 if known is None else known.version
                self._lists[space] = found
                return
            self._lists.pop(space, None)
            await asyncio.sleep(_PAUSE_SECONDS)
        raise ConflictError(f"gave up on the stores of {space}")


def _by_space(names: Iterable[str]) -> list[tuple[str, set[str]]]:
    spaces: dict[str, set[str]] = {}
    for name in names:
        spaces.setdefault(space_of(name), set()).add(name)
    return list(spaces.items())
