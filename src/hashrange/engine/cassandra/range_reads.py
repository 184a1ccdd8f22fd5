"""Ranges of keys, in statements whose number of rows follows from the sizes seen so far.

What was deleted in front of a queue is not read: see the floors in shard_state. The floor is read
before the range. A row that is put below it later belongs to a step that this read may miss.

A strong read that shows a row of a step shows the rows of all steps before it: readers of a log
rely on that.
"""

from __future__ import annotations

from typing import Final, final

from hashrange.engine.base import EVENTUAL, STRONG, Row
from hashrange.engine.cassandra.link import Link, Rows
from hashrange.engine.cassandra.row_reads import RowReads
from hashrange.engine.cassandra.schema import Statements
from hashrange.engine.cassandra.session import ONE, SERIAL
from hashrange.engine.cassandra.shard_state import BOOKS_KEY, META_STORE, Books, unpack_books
from hashrange.engine.cassandra.steps import Place
from hashrange.errors import EngineError

_ROWS_FIRST: Final = 128
_ROWS_MAX: Final = 2000
_ANSWER_BYTES: Final = 4 << 20
_END_OF_KEYS: Final = b"\xff" * 4096


@final
class RangeReads:
    """Reads of ranges."""

    def __init__(self, link: Link, statements: Statements, reads: RowReads) -> None:
        self._link = link
        self._statements = statements
        self._reads = reads
        # Floors as last seen; where there is one, the present one is asked for.
        self._floors: dict[tuple[Place, int], bytes] = {}
        # The mean size of the rows of a store, as last seen.
        self._row_bytes: dict[tuple[str, int], int] = {}

    async def read(
        self,
        place: Place,
        store: int,
        bounds: tuple[bytes, bytes],
        *,
        reverse: bool,
        rows_max: int,
        bytes_max: int,
        consistency: int,
    ) -> tuple[list[Row], bool]:
        """Return rows of a range in order, and whether it ended there."""
        lower, upper = bounds
        if lower < self._floors.get((place, store), b""):
            lower = max(lower, await self._floor(place, store, consistency))
        try:
            return await self._read(
                place, store, (lower, upper), reverse, rows_max, bytes_max, consistency
            )
        except EngineError:
            # Perhaps it was too much that was deleted there, and this process did not know.
            floor = await self._floor(place, store, consistency)
            if lower >= floor:
                raise
        return await self._read(
            place, store, (floor, upper), reverse, rows_max, bytes_max, consistency
        )

    def note_floors(self, place: Place, books: Books) -> None:
        """Take note of the floors of a shard."""
        for store, floor in books.floors.items():
            self._floors[place, store] = floor

    async def first_key(self, place: Place, store: int, floor: bytes) -> bytes | None:
        """Return the first key of a store that is not below a floor, as of after this call."""
        rows = await self._ask(place, store, (floor, _END_OF_KEYS), 1, False, STRONG)
        return rows[0][0] if rows else None

    async def _floor(self, place: Place, store: int, consistency: int) -> bytes:
        view = await self._reads.read(place, [(META_STORE, BOOKS_KEY)], consistency)
        found = view.get((META_STORE, BOOKS_KEY))
        books = unpack_books(found[0] if found else None)
        self.note_floors(place, books)
        return books.floors.get(store, b"")

    async def _read(
        self,
        place: Place,
        store: int,
        bounds: tuple[bytes, bytes],
        reverse: bool,
        rows_max: int,
        bytes_max: int,
        consistency: int,
    ) -> tuple[list[Row], bool]:
        lower, upper = bounds
        page: list[Row] = []
        while lower < upper:
            count = min(rows_max - len(page), self._rows_at_once(place[0], store, bytes_max))
            rows = await self._ask(place, store, (lower, upper), count, reverse, consistency)
            self._note(place[0], store, rows)
            for row in rows:
                page.append(row)
                bytes_max -= len(row[1])
                if len(page) >= rows_max or bytes_max <= 0:
                    return page, False
            if len(rows) < count:
                break
            if reverse:
                upper = rows[-1][0]
            else:
                lower = rows[-1][0] + b"\x00"
        return page, True

    async def _ask(
        self,
        place: Place,
        store: int,
        bounds: tuple[bytes, bytes],
        count: int,
        reverse: bool,
        consistency: int,
    ) -> list[Row]:
        statement = self._statements.read_down if reverse else self._statements.read_up
        bound = statement.bind((*place, store, *bounds, count))
        counts = self._link.counts
        counts.reads += 1
        if consistency == EVENTUAL:
            found = await self._link.read(bound, ONE)
        else:
            counts.serial_reads += 1
            found = await self._reads.whole(
                place, lambda: self._link.read(bound, SERIAL), _newest_step
            )
        return [(key, value) for key, value, _ in found]

    def _rows_at_once(self, space: str, store: int, bytes_max: int) -> int:
        """Return how many rows to ask for: about what fits, never much more than that."""
        mean = self._row_bytes.get((space, store))
        if mean is None:
            return _ROWS_FIRST
        return max(1, min(_ROWS_MAX, 1 + min(bytes_max, _ANSWER_BYTES) // mean))

    def _note(self, space: str, store: int, rows: list[Row]) -> None:
        if rows:
            size = sum(len(value) for _, value in rows)
            self._row_bytes[space, store] = 1 + size // len(rows)


def _newest_step(rows: Rows) -> int:
    """Return the newest step that wrote one of the rows; those of merged stores have none."""
    return max((n for _, _, n in rows), default=0)
