"""The store of fault rules: one row that all processes of a server read when it has changed.

rules row := {"seed": number, "rules": [rule]} as JSON    under "rules"
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Final, final

import orjson

from hashrange.engine.base import STRONG, Changes, Engine, Fence, RowKey
from hashrange.injection.rules import FaultPlan, FaultRule
from hashrange.storage.settled_writes import write_surely

STORE: Final = "faults"
_KEY: Final[RowKey] = (STORE, 0, b"rules")


@final
class _Replacement:
    """The decision that replaces all rules, and tells every process."""

    __slots__ = ("_row", "fences", "keys")

    def __init__(self, row: bytes) -> None:
        self.fences: Sequence[Fence] = ()
        self.keys: Sequence[RowKey] = (_KEY,)
        self._row = row

    def decide(self, rows: Sequence[bytes | None]) -> Changes:
        changes = Changes()
        changes.creates = [STORE]
        changes.puts.append((*_KEY, self._row))
        changes.is_announced = True
        return changes


@final
class FaultStore:
    """The rules in force, as this process knows them."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._counter = -1
        self._row: bytes | None = None
        self._plan = FaultPlan()

    @property
    def known_plan(self) -> FaultPlan | None:
        """The rules, None if something was announced since they were read."""
        return self._plan if self._engine.counter() == self._counter else None

    async def plan(self) -> FaultPlan:
        """Return the rules; their random sequence goes on unless they were replaced."""
        counter = self._engine.counter()
        if counter != self._counter:
            (row,) = await self._engine.read([_KEY], STRONG)
            if row != self._row:
                self._row = row
                self._plan = FaultPlan() if row is None else _unpack(row)
            self._counter = counter
        return self._plan

    async def replace(self, rules: Sequence[FaultRule], seed: int) -> None:
        """Replace all rules; their random sequence begins anew."""
        document = {"seed": seed, "rules": [asdict(rule) for rule in rules]}
        # A set of rules that equals the last one begins anew as well.
        self._row = None
        await write_surely(self._engine, _Replacement(orjson.dumps(document)))


def _unpack(row: bytes) -> FaultPlan:
    document = orjson.loads(row)
    return FaultPlan([FaultRule(**rule) for rule in document["rules"]], document["seed"])
