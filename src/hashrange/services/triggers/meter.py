"""Measures functions: the metrics of the namespace AWS/Lambda.

Each is published for the function, and all but the age for all functions of a region together.
Mappings that ask for it have the counts of their records.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Final, final

from hashrange.metrics.buffer import MetricBuffer
from hashrange.metrics.series import LAMBDA, make_series
from hashrange.model.triggers import World
from hashrange.services.triggers.lanes import Outcome

_MILLISECONDS: Final = "Milliseconds"


@final
class FunctionMeter:
    """Takes note of invocations; one per process."""

    def __init__(self, buffer: MetricBuffer) -> None:
        self._buffer = buffer
        self._running: Counter[tuple[World, str]] = Counter()

    @contextmanager
    def running(self, world: World, function: str) -> Iterator[list[Outcome]]:
        """Measure an invocation while it runs; its outcome is to be put into the list."""
        outcomes: list[Outcome] = []
        places = ((world, function), (world, ""))
        self._running.update(places)
        for _, name in places:
            self._count(world, name, "ConcurrentExecutions", self._running[world, name])
        begun = perf_counter()
        try:
            yield outcomes
        finally:
            self._running.subtract(places)
        # A function that cannot be reached is not invoked.
        for outcome in outcomes:
            if outcome.is_invoked:
                self._note(world, function, outcome, 1000 * (perf_counter() - begun))

    def _note(self, world: World, function: str, outcome: Outcome, milliseconds: float) -> None:
        for name in (function, ""):
            self._count(world, name, "Invocations", 1.0)
            # Zeros too, so that the average is the share of errors.
            self._count(world, name, "Errors", 0.0 if outcome.error is None else 1.0)
            self._count(world, name, "Duration", milliseconds, _MILLISECONDS)

    def note_age(self, world: World, function: str, seconds: float) -> None:
        """Note how old the last record of a batch is that goes to a function."""
        self._count(world, function, "IteratorAge", 1000 * max(0.0, seconds), _MILLISECONDS)

    def note_undelivered(self, world: World, function: str) -> None:
        """Note that a report on a discarded batch did not reach its destination."""
        self._count(world, function, "DestinationDeliveryFailures", 1.0)

    def note_events(self, world: World, uuid: str, name: str, count: int) -> None:
        """Note that something happened to some records of a mapping."""
        dimensions = {"EventSourceMappingUUID": uuid}
        self._buffer.count(make_series(*world, LAMBDA, name, dimensions), count)

    def _count(
        self, world: World, function: str, name: str, amount: float, unit: str = "Count"
    ) -> None:
        dimensions = {"FunctionName": function} if function else {}
        self._buffer.count(make_series(*world, LAMBDA, name, dimensions), amount, unit)
