"""Reads the changes in a history, each with the item before and after it, in key order.

What a change made of its item is what the next change replaced, or else the item as it is now. The
item is read before the next change is looked for, so a write in between cannot be mistaken for
the change that is shown. Changes are found by walking the history, so pages are bounded by what
was looked at, not by what was found.
"""

from __future__ import annotations

from typing import Final, final

from hashrange.engine.base import SEQUENCE_BYTES, STRONG, Engine, Row
from hashrange.limits import RESPONSE_PAGE_BYTES_MAX
from hashrange.model.schema import Table
from hashrange.pauses import Pace
from hashrange.storage.history import Version, replaced_row
from hashrange.storage.items import item_row, read_items
from hashrange.storage.reads import Span

_CHUNK_ROWS: Final = 256
# Behind all versions of an item, whose numbers have 63 bits.
_BEHIND: Final = b"\xff" * (SEQUENCE_BYTES + 1)


@final
class ChangePage:
    """Changes with the rows after them, and the last one looked at if there may be more."""

    __slots__ = ("changes", "last", "scanned_bytes", "scanned_count")

    def __init__(self) -> None:
        self.changes: list[tuple[Version, bytes | None]] = []
        self.scanned_count = 0
        self.scanned_bytes = 0
        self.last: tuple[Version, bytes | None] | None = None


@final
class ChangeReader:
    """Reads the changes of a table that were made after one time and up to another."""

    __slots__ = ("_engine", "_history", "_since", "_table", "_until")

    def __init__(
        self, engine: Engine, table: Table, history_store: str, between: tuple[float, float]
    ) -> None:
        self._engine = engine
        self._table = table
        self._history = history_store
        self._since, self._until = between

    async def page(self, span: Span, behind: bytes | None, limit: int | None) -> ChangePage:
        """Read changes of the items of a span, behind a change in reading direction."""
        page = ChangePage()
        pace = Pace()
        room = RESPONSE_PAGE_BYTES_MAX if limit is None else limit
        rest: Span | None = _rest(span, behind)
        while rest is not None:
            shard = rest.shard()
            rows, ended = await self._range(rest, shard, min(room, _CHUNK_ROWS))
            for place, row in enumerate(rows):
                version = Version(*row)
                newer = place - 1 if span.reverse else place + 1
                neighbour = rows[newer] if 0 <= newer < len(rows) else None
                page.scanned_count += 1
                page.scanned_bytes += len(row[1])
                is_wanted = self._since < version.time <= self._until
                after: bytes | None = None
                if is_wanted:
                    after = await self._after(shard, version, neighbour)
                    page.scanned_bytes += len(after or b"")
                    page.changes.append((version, after))
                room -= 1
                if room == 0 or page.scanned_bytes >= RESPONSE_PAGE_BYTES_MAX:
                    page.last = (
                        version,
                        after if is_wanted else await self._after(shard, version, neighbour),
                    )
                    return page
                if pace.is_over():
                    await pace.pause()
            rest = rest.beyond(shard) if ended else _rest(rest, rows[-1][0])
        return page

    async def _range(self, span: Span, shard: int, rows_max: int) -> tuple[list[Row], bool]:
        return await self._engine.range(
            self._history,
            shard,
            span.lower,
            span.upper,
            reverse=span.reverse,
            rows_max=rows_max,
            bytes_max=RESPONSE_PAGE_BYTES_MAX,
            consistency=STRONG,
        )

    async def _after(self, shard: int, version: Version, newer: Row | None) -> bytes | None:
        """Return the row that a change left; `newer` is the next change of some item, if known."""
        if newer is not None and newer[0][:-SEQUENCE_BYTES] == version.key:
            return replaced_row(newer[1])
        (now,) = await read_items(self._engine, (item_row(self._table, version.key),), STRONG)
        following = (version.sequence + 1).to_bytes(SEQUENCE_BYTES, "big")
        span = Span((self._history, 1), version.key + following, version.key + _BEHIND)
        rows, _ = await self._range(span, shard, 1)
        return replaced_row(rows[0][1]) if rows else now


def _rest(span: Span, behind: bytes | None) -> Span:
    """Return what is left of a span of changes behind one of them."""
    return span if behind is None else span.after(behind)
