"""How long tables and indexes stay in passing states; zero unless a server is told otherwise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Delays:
    """How long tables and indexes stay in states such as CREATING, in seconds."""

    create_seconds: float = 0.0
    update_seconds: float = 0.0
    delete_seconds: float = 0.0
    index_seconds: float = 0.0
    time_to_live_seconds: float = 0.0
    recovery_seconds: float = 0.0  # by which the latest time to restore to is behind


REALISTIC: Final = Delays(
    create_seconds=5.0,
    update_seconds=5.0,
    delete_seconds=5.0,
    index_seconds=5.0,
    time_to_live_seconds=60.0,
    recovery_seconds=300.0,
)
