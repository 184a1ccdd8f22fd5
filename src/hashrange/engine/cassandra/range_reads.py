"""Ranges of keys, in statements whose number of rows follows from the sizes seen so far."""

from __future__ import annotations

from typing import Final, final

from hashrange.engine.base import EVENTUAL, Row
from hashrange.engine.cassandra.link import Link
from hashrange.engine.cassandra.schema import Statements
from hashrange.engine.cassandra.session import ONE, SERIAL
from hashrange.engine.cassandra.steps import Place

_ROWS_FIRST: Final = 128
_ROWS_MAX: Final = 2000
_ANSWER_BYTES: Final = 4 << 20


@final
class RangeReads:
    """Reads of ranges."""

    def __init__(self, link: Link, statements: Statements) -> None:
        self._link = link
        self._statements = statements
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
        counts.serial_reads += consistency != EVENTUAL
        rows: list[Row] = await self._link.read(bound, ONE if consistency == EVENTUAL else SERIAL)
        return rows

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
