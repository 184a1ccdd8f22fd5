"""Parallel scans: the segments of a table read at the same time, one page of each per round.

Rounds keep memory bounded and make progress countable: after each round, every segment that is not
at its end has moved by one page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, final

from hashrange.toolkit.client.operations import (
    Attributes,
    SegmentOptions,
    TableContext,
    scan_fetch,
)
from hashrange.toolkit.client.pages import RawPage
from hashrange.toolkit.client.plans import Plan, Together
from hashrange.toolkit.errors import DesignError
from hashrange.toolkit.values import from_wire_item

SEGMENTS_MAX: Final = 1_000_000


@final
@dataclass(frozen=True, slots=True)
class Progress:
    """How far a parallel scan is: segments read to their end, items returned and examined."""

    segments: int
    segments_done: int
    items: int
    examined: int
    read_units: float

    @property
    def is_done(self) -> bool:
        return self.segments_done == self.segments


_START: Final[Any] = object()
Round = tuple[list[Attributes], Progress]


@final
class ScanRounds:
    """The rounds of a parallel scan: yields plans, keeps count of what came of them."""

    def __init__(
        self,
        context: TableContext,
        segments: int,
        options: SegmentOptions,
        page: int | None = None,
    ) -> None:
        if not 1 <= segments <= SEGMENTS_MAX:
            raise DesignError(f"a scan has 1 to {SEGMENTS_MAX} segments")
        self._fetches = [
            scan_fetch(context, options, segment, segments) for segment in range(segments)
        ]
        self._positions: list[Any] = [_START] * segments
        self._page = page
        self._items = self._examined = 0
        self._units = 0.0

    def is_done(self) -> bool:
        return all(position is None for position in self._positions)

    def plan(self) -> Plan[Round]:
        """Read one page of every segment that is not at its end."""
        alive = [at for at, position in enumerate(self._positions) if position is not None]
        starts = {at: self._positions[at] for at in alive}
        plans = [
            self._fetches[at](None if starts[at] is _START else starts[at], self._page)
            for at in alive
        ]
        raws: list[RawPage] = yield Together(plans, len(plans))
        found: list[Attributes] = []
        for at, raw in zip(alive, raws, strict=True):
            self._positions[at] = raw.next
            self._examined += raw.examined
            self._units += raw.read_units
            found += [from_wire_item(item) for item in raw.items]
        self._items += len(found)
        return found, self._progress()

    def _progress(self) -> Progress:
        done = sum(position is None for position in self._positions)
        return Progress(
            len(self._positions),
            done,
            self._items,
            self._examined,
            self._units,
        )


def run_rounds(
    steps: ScanRounds,
    run: Callable[[Plan[Any]], Any],
    on_progress: Callable[[Progress], None] | None,
) -> Iterator[Attributes]:
    """Run the rounds of a scan and yield the items, reporting after each round."""
    while not steps.is_done():
        found, progress = run(steps.plan())
        yield from found
        if on_progress:
            on_progress(progress)
