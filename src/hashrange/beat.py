"""A common beat for loops that look for work: they wake up together, so an idle server sleeps.

A loop that rests for some tenths of a second or longer wakes up on a beat, a multiple of
BEAT_SECONDS of the monotonic clock. All such loops of a process then share its wake-ups. Where a
change should be noticed sooner, `Attention` makes a loop look more often while things change.
"""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import Final, final

BEAT_SECONDS: Final = 0.25
# After the last change, a loop looks often for so long.
_ATTENTIVE_SECONDS: Final = 3.0


def next_beat(seconds: float) -> float:
    """Return the time of the monotonic clock at which a rest of about so many seconds ends.

    Rests shorter than a beat are exact.
    """
    now = monotonic()
    if seconds < BEAT_SECONDS:
        return now + seconds
    # Rounded, because a loop wakes up a little after its beat.
    return round((now + seconds) / BEAT_SECONDS) * BEAT_SECONDS


def seconds_to_beat(seconds: float) -> float:
    """Return how long a rest of about so many seconds lasts if it ends on a beat."""
    return max(0.0, next_beat(seconds) - monotonic())


async def rest(seconds: float) -> None:
    """Sleep for about so many seconds, until a beat."""
    await asyncio.sleep(seconds_to_beat(seconds))


@final
class Attention:
    """Whether something changed a moment ago, so that more is to be expected."""

    __slots__ = ("_ends_at", "_seen")

    def __init__(self) -> None:
        self._seen = -1
        self._ends_at = 0.0

    def pay(self, counter: int) -> bool:
        """Take note of a change counter; tell whether it moved lately."""
        now = monotonic()
        if counter != self._seen:
            self._seen = counter
            self._ends_at = now + _ATTENTIVE_SECONDS
        return now < self._ends_at
