"""The only source of time: the real clock, and a virtual one that tests move by hand.

Also how people write times: see `parse_time`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from math import isfinite
from typing import Protocol


class Clock(Protocol):
    """Seconds since the epoch, as a float."""

    def now(self) -> float: ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> float:
        return time.time()


class VirtualClock:
    """A clock that stands still until it is moved; `moved`, if given, is called after that.

    After `follow`, it shows the time of the process instead, which freezegun and time-machine move.
    """

    def __init__(
        self, now: float = 1_700_000_000.0, moved: Callable[[], None] | None = None
    ) -> None:
        self._now = now
        self._moved = moved
        self._follows = False

    def now(self) -> float:
        return time.time() if self._follows else self._now

    def set(self, now: float) -> None:
        """Jump to a time, forwards or backwards."""
        self._now = now
        self._follows = False
        if self._moved is not None:
            self._moved()

    def follow(self) -> None:
        """Show the time of this process from now on, until the clock is moved by hand."""
        self._follows = True

    def advance(self, seconds: float) -> None:
        """Move forwards by some seconds."""
        self.set(self.now() + seconds)


def parse_time(text: str) -> float:
    """Return the seconds since 1970 of a time in ISO 8601 or in seconds; without offset it is UTC.

    Raises ValueError if it is neither.
    """
    try:
        seconds = float(text)
    except ValueError:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return moment.timestamp()
    if not isfinite(seconds):
        raise ValueError(text)
    return seconds
