"""What a process has done on an engine that others use as well, counted for metrics and health.

Plain numbers that only grow. Latencies wait here until a collector takes them; without one the
oldest are forgotten. Steps of `quiet_spaces` are not counted: metrics are kept on the engine
themselves, and writing them must not be something to measure.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container
from dataclasses import dataclass, field
from typing import Final, final

_LATENCIES_MAX: Final = 4096
_NOT_NUMBERS: Final = ("quiet_spaces", "latencies")


@final
@dataclass(slots=True)
class Counts:
    """What one process has done since it started."""

    # Conditional batches that were applied, the decisions in them, and the time they took.
    steps: int = 0
    decisions: int = 0
    step_seconds: float = 0.0
    # Conditional batches that were refused because another process was first.
    conflicts: int = 0
    # Conditional batches without an answer, and how they were settled.
    unanswered: int = 0
    settled_applied: int = 0
    settled_not_applied: int = 0
    unsettled: int = 0
    # Statements that read rows, the keys in them, and strong ones that needed a Paxos round.
    reads: int = 0
    read_keys: int = 0
    serial_reads: int = 0
    # Reads that were repeated, because steps were made while they went on.
    reads_repeated: int = 0
    # Stores whose floor was raised, because much was deleted from them.
    floors_raised: int = 0
    # Statements that were sent again after a failure.
    retries: int = 0
    quiet_spaces: Container[str] = ()
    # Seconds from sending a batch until it was known to be applied.
    latencies: deque[float] = field(default_factory=lambda: deque(maxlen=_LATENCIES_MAX))

    def note_step(self, space: str, decisions: int, seconds: float) -> None:
        """Count a conditional batch that was applied."""
        if space in self.quiet_spaces:
            return
        self.steps += 1
        self.decisions += decisions
        self.step_seconds += seconds
        self.latencies.append(seconds)

    def note_conflict(self, space: str) -> None:
        """Count a conditional batch that another process has forestalled."""
        if space not in self.quiet_spaces:
            self.conflicts += 1

    def take_latencies(self) -> list[float]:
        """Return the latencies that nobody has taken yet."""
        taken = list(self.latencies)
        self.latencies.clear()
        return taken

    def as_dict(self) -> dict[str, float]:
        """Return all counters by name."""
        return {name: getattr(self, name) for name in self.__slots__ if name not in _NOT_NUMBERS}
