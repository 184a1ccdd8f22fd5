"""Plain counters of the Cassandra engine, for whoever exports metrics."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import final


@final
@dataclass(slots=True)
class Counts:
    """What one process has done on the cluster since it started."""

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
    # Stores whose floor was raised, because much was deleted from them.
    floors_raised: int = 0
    # Statements that were sent again after a failure.
    retries: int = 0

    def as_dict(self) -> dict[str, float]:
        """Return all counters by name."""
        return asdict(self)
