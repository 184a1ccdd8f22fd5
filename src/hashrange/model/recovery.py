"""Catalog records of point-in-time recovery: whether a table keeps its history, and for how long.

A table keeps its history while recovery is enabled. The history has a store of its own in the space
of the table, with a new name each time it begins.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

RECOVERY_DAYS_MAX: Final = 35
SECONDS_PER_DAY: Final = 86_400.0


@dataclass(slots=True)
class RecoveryRecord:
    """The history of a table.

    `enabled_at` is the earliest time that can be restored; None while recovery is being turned on.
    """

    store: str
    enabled_at: float | None = None
    days: int = RECOVERY_DAYS_MAX

    @property
    def is_enabled(self) -> bool:
        return self.enabled_at is not None

    def earliest(self, now: float) -> float:
        """Return the earliest time that can be restored."""
        assert self.enabled_at is not None
        return max(self.enabled_at, now - self.days * SECONDS_PER_DAY)

    def latest(self, now: float, lag_seconds: float) -> float:
        """Return the latest time that can be restored, given how far that is behind."""
        assert self.enabled_at is not None
        return max(self.enabled_at, now - lag_seconds)


def recovery_record(members: dict[str, Any] | None) -> RecoveryRecord | None:
    """Return the record that a table's record holds as plain values."""
    return None if members is None else RecoveryRecord(**members)
