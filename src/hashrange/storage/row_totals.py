"""Totals that processes on several machines share, by way of rows that they exchange.

total row := {"at": time, "totals": {bucket: [total, level, time of the level]}} as JSON
             under the process's name

For engines whose data several machines use. Each process that takes anything writes its row and
reads the others about every second, and an idle one every five. In between it does not see what the
others take; it takes that off its buckets afterwards, so a table is overdrawn by at most what the
others take in one exchange, and not for long. A row that has not changed for an hour belongs to a
process that is gone.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Final, final

import orjson

from hashrange.engine.base import STRONG, Changes, Engine, Fence, RowKey
from hashrange.storage.settled_writes import write_surely

TOTALS_STORE: Final = "capacity"

_NAME_BYTES: Final = 8
_GONE_SECONDS: Final = 3600.0
_PROCESSES_MAX: Final = 1000
_PAGE_BYTES: Final = 8 << 20

_Told = dict[str, list[float]]
"""What a process told: total, level and time of the level, by bucket."""


@final
class _Exchange:
    """The decision that writes the row of one process and deletes rows of those that are gone."""

    __slots__ = ("_gone", "_row", "fences", "keys")

    def __init__(self, key: bytes, row: bytes, gone: Sequence[bytes]) -> None:
        self.fences: Sequence[Fence] = ()
        self.keys: Sequence[RowKey] = ((TOTALS_STORE, 0, key),)
        self._row = row
        self._gone = gone

    def decide(self, rows: Sequence[bytes | None]) -> Changes:
        changes = Changes()
        changes.creates.append(TOTALS_STORE)
        changes.deletes.extend([(TOTALS_STORE, 0, key) for key in self._gone])
        changes.puts.append((*self.keys[0], self._row))
        return changes


@final
class RowTotals:
    """What this process and the others have taken; see `capacity.buckets.Totals`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._key = secrets.token_bytes(_NAME_BYTES)
        # Totals with the levels and times of their buckets.
        self._own: dict[str, tuple[float, float, float]] = {}
        # Whether this process took anything since the last exchange.
        self.is_changed = False
        self._others: dict[str, float] = {}
        self._last: dict[bytes, _Told] | None = None

    def add(self, name: str, units: float, level: tuple[float, float]) -> None:
        """Add units that this process took, and tell the level since then."""
        known = self._own.get(name)
        self._own[name] = (units if known is None else known[0] + units, *level)
        self.is_changed = True

    def level(self, name: str) -> tuple[float, float] | None:
        """Return the newest level that another process told."""
        told = [totals[name] for totals in (self._last or {}).values() if name in totals]
        if not told:
            return None
        _, level, at = max(told, key=lambda each: each[2])
        return level, at

    def others(self, name: str) -> float:
        """Return what all other processes took, as far as they told."""
        return self._others.get(name, 0.0)

    async def exchange(self, now: float) -> None:
        """Write what this process took, and read what the others did."""
        found, gone = await self._read(now)
        # What others took before this process began is not its business.
        last = found if self._last is None else self._last
        for key, totals in found.items():
            known = last.get(key, {})
            for name, (total, *_) in totals.items():
                added = total - (known[name][0] if name in known else 0.0)
                if added > 0:
                    self._others[name] = self._others.get(name, 0.0) + added
        self._last = found
        if self.is_changed or gone:
            self.is_changed = False
            row = orjson.dumps({"at": now, "totals": self._own})
            await write_surely(self._engine, _Exchange(self._key, row, gone))

    async def _read(self, now: float) -> tuple[dict[bytes, _Told], list[bytes]]:
        """Return the totals of the other processes, and the rows of those that are gone."""
        rows, _ = await self._engine.range(
            TOTALS_STORE,
            0,
            b"",
            b"\xff" * (_NAME_BYTES + 1),
            reverse=False,
            rows_max=_PROCESSES_MAX,
            bytes_max=_PAGE_BYTES,
            consistency=STRONG,
        )
        found: dict[bytes, _Told] = {}
        gone = []
        for key, row in rows:
            if key == self._key:
                continue
            document = orjson.loads(row)
            if document["at"] < now - _GONE_SECONDS:
                gone.append(key)
            else:
                found[key] = document["totals"]
        return found, gone
