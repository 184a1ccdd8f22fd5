"""Where the lines of an export come from: a table as it was, or what changed between two times.

A source is read page by page in the order of keys; a page ends with a whole item, so an export can
go on behind any page.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any, Final, Protocol, final

import orjson

from hashrange.api.transfers.filters import ExportFilter
from hashrange.engine.base import SEQUENCE_BYTES, STRONG, Engine, Row
from hashrange.model.keys import decode_key
from hashrange.model.schema import Table
from hashrange.model.values import Item
from hashrange.storage.history import replaced_row, version_time
from hashrange.storage.layout import END_OF_KEYS, HEADER_BYTES, row_size, unpack_item
from hashrange.storage.past import PastView, TimeCut
from hashrange.transfers.formats.ion_text import ion_item, ion_line

_PAGE_ROWS: Final = 256
# Of items that have to be decoded, or looked for.
_COSTLY_PAGE_ROWS: Final = 64
_PAGE_BYTES: Final = 1 << 18
_BEHIND: Final = b"\xff" * (SEQUENCE_BYTES + 1)
_FIRST: Final = b'{"Item":'
_LAST: Final = b"}\n"


@dataclass(slots=True)
class SourcePage:
    """Some lines, the items they hold, the rows and bytes looked at, and where to go on."""

    lines: bytes
    items: int
    rows: int
    billed_bytes: int
    last: bytes
    has_ended: bool


class ExportSource(Protocol):
    """Lines of an export."""

    rows_max: int
    """How many rows to read at once, at most."""

    async def page(self, shard: int, after: bytes, rows_max: int) -> SourcePage:
        """Return the lines of some items of a shard, behind a key; read so many rows at once."""


@final
class FullSource:
    """All items of a table as they were at a time."""

    def __init__(
        self,
        engine: Engine,
        table: Table,
        history: str,
        at: float,
        form: tuple[bool, ExportFilter | None],
    ) -> None:
        self._table = table
        self._view = PastView(engine, history, TimeCut(at))
        self._is_ion, self._filter = form
        is_plain = self._filter is None and not self._is_ion
        self.rows_max = _PAGE_ROWS if is_plain else _COSTLY_PAGE_ROWS

    async def page(self, shard: int, after: bytes, rows_max: int) -> SourcePage:
        rows, ended = await self._view.range(
            self._table.store,
            shard,
            after + b"\x00" if after else b"",
            END_OF_KEYS,
            reverse=False,
            rows_max=rows_max,
            bytes_max=_PAGE_BYTES,
            consistency=STRONG,
        )
        billed = sum([row_size(row) for _, row in rows])
        last = rows[-1][0] if rows else after
        if self._filter is None and not self._is_ion:
            lines = b"".join([_FIRST + row[HEADER_BYTES:] + _LAST for _, row in rows])
            return SourcePage(lines, len(rows), len(rows), billed, last, ended)
        kept = [line for key, row in rows if (line := self._line(key, row)) is not None]
        return SourcePage(b"".join(kept), len(kept), len(rows), billed, last, ended)

    def _line(self, key: bytes, row: bytes) -> bytes | None:
        item = unpack_item(row)
        if self._filter is not None:
            if not self._filter.holds(key, item):
                return None
            item = self._filter.project(item)
        if self._is_ion:
            return ion_line({"Item": item})
        return orjson.dumps({"Item": item}) + b"\n"


@final
class _Group:
    """The changes of one item, seen in their order."""

    __slots__ = ("changed_at", "has_new", "has_old", "key", "new", "old", "sequence")

    def __init__(self, key: bytes) -> None:
        self.key = key
        self.has_old = self.has_new = False
        self.old: bytes | None = None
        self.new: bytes | None = None
        self.changed_at = 0.0
        self.sequence = 0


@final
class ChangeSource:
    """The items that changed from one time on, before another: how they were, and became."""

    rows_max = _COSTLY_PAGE_ROWS

    def __init__(
        self,
        engine: Engine,
        table: Table,
        history: str,
        period: tuple[float, float, str],
        form: tuple[bool, ExportFilter | None],
    ) -> None:
        self._engine = engine
        self._table = table
        self._history = history
        self._begin, self._end, view = period
        self._keeps_old = view != "NEW_IMAGE"
        self._is_ion, self._filter = form

    async def page(self, shard: int, after: bytes, rows_max: int) -> SourcePage:
        groups, last, ended = await self._groups(shard, after, rows_max)
        lines: list[bytes] = []
        billed = 0
        for group in groups:
            if not group.has_new:
                await self._see_current(shard, group)
            billed += sum(row_size(row) for row in (group.old, group.new) if row is not None)
            line = self._line(group)
            if line is not None:
                lines.append(line)
        return SourcePage(b"".join(lines), len(lines), len(groups), billed, last, ended)

    async def _groups(
        self, shard: int, after: bytes, rows_max: int
    ) -> tuple[list[_Group], bytes, bool]:
        """Return items that changed in the period, the last key looked at, and whether all were."""
        lower = after + _BEHIND if after else b""
        found: dict[bytes, _Group] = {}
        while True:
            rows, ended = await self._versions(shard, lower, END_OF_KEYS, rows_max)
            for key, row in rows:
                item_key = key[:-SEQUENCE_BYTES]
                group = found.get(item_key)
                if group is None:
                    group = found[item_key] = _Group(item_key)
                self._see(group, key, row)
            last = rows[-1][0][:-SEQUENCE_BYTES] if rows else after
            if ended:
                break
            if len(found) > 1:
                # The rest of the last item's changes is in the next page.
                found.pop(last)
                last = next(reversed(found))
                break
            lower = rows[-1][0] + b"\x00"
            await asyncio.sleep(0)
        return [group for group in found.values() if group.changed_at], last, ended

    def _see(self, group: _Group, key: bytes, row: bytes) -> None:
        time = version_time(row)
        group.sequence = int.from_bytes(key[-SEQUENCE_BYTES:], "big")
        if not group.has_old and time >= self._begin:
            group.has_old = True
            group.old = replaced_row(row)
        if not group.has_new and time >= self._end:
            group.has_new = True
            group.new = replaced_row(row)
        if group.has_old and not group.has_new:
            group.changed_at = max(group.changed_at, time)

    async def _see_current(self, shard: int, group: _Group) -> None:
        """Find what an item became that has not changed since, as far as was seen."""
        (group.new,) = await self._engine.read([(self._table.store, shard, group.key)], STRONG)
        after = group.key + (group.sequence + 1).to_bytes(SEQUENCE_BYTES, "big")
        later, _ = await self._versions(shard, after, group.key + _BEHIND, 1)
        if later:
            group.new = replaced_row(later[0][1])

    async def _versions(
        self, shard: int, lower: bytes, upper: bytes, rows_max: int
    ) -> tuple[list[Row], bool]:
        return await self._engine.range(
            self._history,
            shard,
            lower,
            upper,
            reverse=False,
            rows_max=rows_max,
            bytes_max=_PAGE_BYTES,
            consistency=STRONG,
        )

    def _line(self, group: _Group) -> bytes | None:
        old = None if group.old is None else unpack_item(group.old)
        new = None if group.new is None else unpack_item(group.new)
        seen = old if new is None else new
        if seen is None:
            return None  # created and deleted in between
        filter = self._filter
        if filter is not None:
            if not filter.holds(group.key, seen):
                return None
            old = None if old is None else filter.project(old)
            new = None if new is None else filter.project(new)
        values = decode_key([part.type for part in self._table.parts], group.key)
        keys: Item = dict(zip(self._table.key_names, values, strict=True))
        members: dict[str, Any] = {
            "Metadata": {"WriteTimestampMicros": {"N": f"{int(group.changed_at * 1e6)}"}},
            "Keys": keys,
        }
        if old is not None and self._keeps_old:
            members["OldImage"] = old
        if new is not None:
            members["NewImage"] = new
        if self._is_ion:
            content = ",".join(f"{name}:{ion_item(item)}" for name, item in members.items())
            return f"$ion_1_0 {{Record:{{{content}}}}}\n".encode()
        return orjson.dumps(members) + b"\n"
