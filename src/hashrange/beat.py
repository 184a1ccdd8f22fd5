"""A common beat for loops that look for work: they wake up together, so an idle server sleeps.

A loop that rests for some tenths of a second or longer wakes up on a beat, a multiple of
BEAT_SECONDS of the monotonic clock, and one that rests for seconds on a multiple of CALM_SECONDS.
All such loops of a process then share its wake-ups. Where a change should be noticed sooner,
`Attention` makes a loop look more often while things change.
"""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import Final, final

BEAT_SECONDS: Final = 0.25
# How often loops look for work that nobody has asked for lately, all at the same time.
CALM_SECONDS: Final = 4 * BEAT_SECONDS
# Timers of an event loop count whole milliseconds, and round. Half of one more makes all that wait
# for a beat round to the same millisecond; else some wake up one earlier, for themselves.
_ROUNDING_SECONDS: Final = 0.0005
# After the last change, a loop looks often for so long.
_ATTENTIVE_SECONDS: Final = 3.0


def next_beat(seconds: float) -> float:
    """Return the time of the monotonic clock at which a rest of about so many seconds ends.

    Rests shorter than a beat are exact.
    """
    now = monotonic()
    if seconds < BEAT_SECONDS:
        return now + seconds
    beat = CALM_SECONDS if seconds >= CALM_SECONDS else BEAT_SECONDS
    # Rounded, because a loop wakes up a little after its beat.
    return round((now + seconds) / beat) * beat


def seconds_until(time: float) -> float:
    """Return how long to sleep until a time of the monotonic clock, 0 if it has passed."""
    left = time - monotonic()
    return left + _ROUNDING_SECONDS if left > 0 else 0.0


def seconds_to_beat(seconds: float) -> float:
    """Return how long a rest of about so many seconds lasts if it ends on a beat."""
    return seconds_until(next_beat(seconds))


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
