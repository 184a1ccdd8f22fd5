"""Group-commit policy: where a commit waits for the disk, and how long a batch waits for more.

On a fast disk, handing a COMMIT to a thread costs more than the disk takes. So the event loop waits
for the disk itself, and polls for events that it expects within a moment. On a slow disk a thread
waits, and reads continue.

In both cases a batch waits a little for clients that were just answered. Otherwise clients that
write continuously would fall into two groups that alternate, each with its own commit.
"""

from __future__ import annotations

from time import perf_counter
from typing import Final, final

from hashrange.back_off import BackOff

QUICK_SECONDS: Final = 0.002
"""A disk is quick if commits take less than this on average."""

_QUICK_BYTES_MAX: Final = 256 << 10
# Clients that were answered together soon write again. For so many turns of the event loop, each a
# few microseconds when nothing arrives, a batch waits to become as large as the last one. Without,
# 16 connections write no more than if a thread waited for the disk.
_GATHERING_TURNS_MAX: Final = 50
# Nor longer than this: a turn in which others read may take long. A mix of reads and writes had a
# p99 of 8.7 ms without this with 16 connections and 29 with 64; with it 5.3 and 17.
_GATHERING_SECONDS_MAX: Final = 0.002
# A batch of so many waits for no more, and what a burst leaves behind is soon forgotten.
_EXPECTED_MAX: Final = 64
# A batch waits no longer than this part of a commit on a slow disk. With a commit of 4 ms, against
# no wait: 1.9 times the puts with 4 connections, 1.6 times with 16, 1.2 times with 64.
_PAUSE_PART: Final = 0.5
# Nor longer than this, should the disk have stood still.
_PAUSE_SECONDS_MAX: Final = 0.01
# For so many turns another process may keep the turn to write before the thread waits for it: one
# or two milliseconds. With the thread at once, two processes wrote 0.8 to 0.9 times as much as one;
# that was measured when the turn was kept for the sync, too.
_SEEKING_TURNS_MAX: Final = 300


@final
class CommitPolicy:
    """Measures the speed of the disk and the number of writers; one per writing process."""

    __slots__ = (
        "_back_off",
        "_commit_seconds",
        "_expected",
        "_gathering_ends_at",
        "_gathering_turns",
        "_quick_seconds",
        "_seeking_turns",
        "_writers",
    )

    def __init__(self, quick_seconds: float) -> None:
        self._quick_seconds = quick_seconds
        self._commit_seconds = 0.0
        self._writers = 0
        self._expected = 0
        self._gathering_turns = 0
        self._gathering_ends_at = 0.0
        self._seeking_turns = 0
        # Back-off for pauses on a slow disk during which no writer joined.
        self._back_off = BackOff()

    def note_commit(self, seconds: float) -> None:
        """Note how long a commit took."""
        self._commit_seconds += (seconds - self._commit_seconds) / 8

    def note_answers(self, answered: int, waiting: int) -> None:
        """Note the number of writers: those just answered plus those waiting."""
        self._writers = answered + waiting

    @property
    def is_quick(self) -> bool:
        """Whether commits are so fast that the event loop can wait for them."""
        return self._commit_seconds < self._quick_seconds

    def waits_for(self, put_bytes: int) -> bool:
        """Tell whether the event loop is to wait for the commit of so much."""
        return put_bytes <= _QUICK_BYTES_MAX and self.is_quick

    def gathers(self, waiting: int) -> bool:
        """Tell whether a batch of so many decisions is to wait another turn for more of them."""
        if not self.is_quick:
            self._gathering_turns = 0
            return False
        if self._gathering_turns == 0:
            self._gathering_ends_at = perf_counter() + _GATHERING_SECONDS_MAX
        if (
            waiting < self._expected
            and self._gathering_turns < _GATHERING_TURNS_MAX
            and perf_counter() < self._gathering_ends_at
        ):
            self._gathering_turns += 1
            return True
        self._gathering_turns = 0
        # Fewer writers joined than expected: expect one fewer next time.
        self._expected = min(max(waiting, self._expected - 1), _EXPECTED_MAX)
        return False

    def pause_seconds(self, waiting: int) -> float:
        """Return for how long a batch of so many is to wait for others on a slow disk."""
        if self.is_quick or self.is_complete(waiting) or not self._back_off.is_due():
            return 0.0
        return min(self._commit_seconds * _PAUSE_PART, _PAUSE_SECONDS_MAX)

    def is_complete(self, waiting: int) -> bool:
        """Tell whether so many waiting decisions include all current writers."""
        return waiting >= self._writers

    def note_pause(self, waiting: int) -> None:
        """Note whether all writers joined during the pause; back off if not."""
        if self.is_complete(waiting):
            self._back_off.note_success()
        else:
            self._back_off.note_failure()

    def seeks(self, is_found: bool) -> bool:
        """Tell whether to look for the turn to write once more, now that it was found or not."""
        if is_found or self._seeking_turns >= _SEEKING_TURNS_MAX or not self.is_quick:
            self._seeking_turns = 0
            return False
        self._seeking_turns += 1
        return True
