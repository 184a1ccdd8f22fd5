"""The store of contributor insights: a summary of the heaviest keys per rule and minute.

row := TopKeys      under "i" account 0 region 0 rule 0 minute(4), in the store of metrics

Each process merges its summaries into the rows, as with samples. Rows are kept for a day.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, final

from hashrange.engine.base import STRONG, Changes, Engine, Fence, RowKey
from hashrange.metrics.store import DAY_SECONDS, STORE, Removal
from hashrange.metrics.top_keys import TopKeys, unpack

_ROWS_MAX: Final = 500
_BYTES_MAX: Final = 1 << 20

RuleMinute = tuple[str, str, str, int]
"""Account, region, rule and the time of a minute."""


def _prefix(account: str, region: str, rule: str) -> bytes:
    return b"i" + f"{account}\x00{region}\x00{rule}\x00".encode()


@final
class InsightStore:
    """The summaries of all rules, on an engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def add(self, summaries: Mapping[RuleMinute, TopKeys]) -> None:
        """Merge summaries into their rows."""
        for (account, region, rule, minute), summary in summaries.items():
            key = _prefix(account, region, rule) + minute.to_bytes(4, "big")
            await self._engine.write(_Merge(key, summary))

    async def read(
        self, world: tuple[str, str], rule: str, start: int, end: int
    ) -> dict[int, TopKeys]:
        """Return the summaries of a rule by minute."""
        prefix = _prefix(*world, rule)
        lower, upper = prefix + start.to_bytes(4, "big"), prefix + end.to_bytes(4, "big")
        found: dict[int, TopKeys] = {}
        ended = False
        while not ended:
            rows, ended = await self._engine.range(
                STORE,
                0,
                lower,
                upper,
                reverse=False,
                rows_max=_ROWS_MAX,
                bytes_max=_BYTES_MAX,
                consistency=STRONG,
            )
            for key, row in rows:
                found[int.from_bytes(key[-4:], "big")] = unpack(row)
                lower = key + b"\x00"
        return found

    async def drop_old(self, now: float) -> int:
        """Delete a bounded number of rows that are older than a day; return how many."""
        oldest = int(now) - DAY_SECONDS
        lower, doomed = b"i", list[RowKey]()
        ended = False
        while not ended and len(doomed) < _ROWS_MAX:
            rows, ended = await self._engine.range(
                STORE,
                0,
                lower,
                b"j",
                reverse=False,
                rows_max=_ROWS_MAX,
                bytes_max=_BYTES_MAX,
                consistency=STRONG,
            )
            for key, _ in rows:
                lower = key + b"\x00"
                if int.from_bytes(key[-4:], "big") < oldest:
                    doomed.append((STORE, 0, key))
        if doomed:
            await self._engine.write(Removal(doomed))
        return len(doomed)


@final
class _Merge:
    """The decision that merges a summary into a row."""

    def __init__(self, key: bytes, summary: TopKeys) -> None:
        self.fences: Sequence[Fence] = ()
        self.keys: Sequence[RowKey] = [(STORE, 0, key)]
        self._summary = summary

    def decide(self, rows: Sequence[bytes | None]) -> Changes:
        merged = TopKeys() if rows[0] is None else unpack(rows[0])
        merged.merge(self._summary)
        changes = Changes()
        changes.creates = [STORE]
        changes.puts.append((*self.keys[0], merged.pack()))
        return changes
