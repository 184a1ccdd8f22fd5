"""How jobs share the event loop with requests: pieces of a bounded length, and rests between them.

A job works in pieces and rests after each. A rest lasts two turns of the event loop, enough for a
request that arrived during the piece to be answered. If anything else ran on the event loop
meanwhile, the server is *busy*:

1. Pieces become as short as BUSY_SECONDS, in CPU time of the event loop's thread. After a few
   rests in which nothing else ran, each one makes them longer again, up to QUIET_SECONDS.
2. The job rests for REST_SHARE times as long as it worked, so it takes at most a quarter of the
   event loop.

How many rows make a piece is measured: `Pieces` knows what a row of its kind of work costs.
Decision record: docs/decisions/0054.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from time import perf_counter, thread_time
from typing import Final, TypeVar, final

BUSY_SECONDS: Final = 0.000_3
QUIET_SECONDS: Final = 0.004
REST_SHARE: Final = 3

# Two turns of a loop on which nobody else has work take less CPU time.
_TURNS_SECONDS: Final = 0.000_06
_GROWTH: Final = 1.6
# Requests that are there all the time are not seen in every rest.
_QUIET_RESTS_MIN: Final = 2
# Timers count milliseconds, so shorter rests are taken together.
_REST_SECONDS_MIN: Final = 0.001
_REST_SECONDS_MAX: Final = 0.05
# What a row is thought to cost at first.
_ROW_SECONDS: Final = 0.000_02
# Measured time may be that of requests, which ran while the job waited for a commit. So a higher
# cost is believed slowly, a lower one at once, and a piece has this part of its rows at least.
_DOUBT: Final = 1.1
_ROWS_SHARE_MIN: Final = 16

Answer = TypeVar("Answer")


@final
class Pace:
    """The pieces and rests of one job; a job that is not patient never rests."""

    __slots__ = ("_owed_seconds", "_quiet_rests", "_resumed_at", "is_patient", "piece_seconds")

    def __init__(self, *, is_patient: bool = True) -> None:
        self.is_patient = is_patient
        # Nobody knows yet whether the server is busy.
        self.piece_seconds = BUSY_SECONDS
        self._resumed_at = thread_time()
        # How many rests ago others ran.
        self._quiet_rests = 0
        # Rest that was not taken yet.
        self._owed_seconds = 0.0

    @property
    def is_busy(self) -> bool:
        """Whether others used the event loop a moment ago."""
        return self.piece_seconds < QUIET_SECONDS

    @property
    def worked_seconds(self) -> float:
        """The CPU time since the last rest."""
        return thread_time() - self._resumed_at

    def pieces(self) -> Pieces:
        """Return the measure of another kind of work."""
        return Pieces(self)

    async def rest(self, worked_seconds: float | None = None) -> None:
        """Let others run after a piece that took so long; if any did, rest."""
        if worked_seconds is None:
            worked_seconds = self.worked_seconds
        begun_at = thread_time()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        if self.is_patient:
            has_seen_others = thread_time() - begun_at > _TURNS_SECONDS
            self._quiet_rests = 0 if has_seen_others else self._quiet_rests + 1
            if has_seen_others:
                self.piece_seconds = BUSY_SECONDS
            if self._quiet_rests <= _QUIET_RESTS_MIN:
                await self._give_way(worked_seconds)
            else:
                self.piece_seconds = min(self.piece_seconds * _GROWTH, QUIET_SECONDS)
        self._resumed_at = thread_time()

    async def apart(self, work: Awaitable[Answer]) -> Answer:
        """Wait for work in a thread; what the event loop does meanwhile is done for others."""
        worked_seconds = self.worked_seconds
        begun_at = perf_counter()
        answer = await work
        self._resumed_at = thread_time() - worked_seconds
        if self.is_busy:
            # The thread had a processor that others could have had, unless it waited for a disk.
            took_seconds = min(perf_counter() - begun_at, _REST_SECONDS_MIN)
            self._owed_seconds += REST_SHARE * took_seconds
        return answer

    async def _give_way(self, worked_seconds: float) -> None:
        self._owed_seconds += REST_SHARE * worked_seconds
        if self._owed_seconds >= _REST_SECONDS_MIN:
            begun_at = perf_counter()
            await asyncio.sleep(min(self._owed_seconds, _REST_SECONDS_MAX))
            rested_seconds = perf_counter() - begun_at
            self._owed_seconds = max(0.0, self._owed_seconds - rested_seconds)


@final
class Pieces:
    """The pieces of one kind of work, whose rows cost alike."""

    __slots__ = ("_pace", "_row_seconds")

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._row_seconds = _ROW_SECONDS

    def rows(self, most: int) -> int:
        """Return how many rows to work on in the next piece."""
        if not self._pace.is_patient:
            return most
        fitting = int(self._pace.piece_seconds / self._row_seconds)
        return min(most, max(fitting, most // _ROWS_SHARE_MIN, 1))

    async def rest(self, rows: int) -> None:
        """Rest after a piece of so many rows."""
        worked_seconds = self._pace.worked_seconds
        if rows:
            measured = max(worked_seconds / rows, 1e-7)
            self._row_seconds = min(measured, self._row_seconds * _DOUBT)
            worked_seconds = min(worked_seconds, rows * self._row_seconds)
        await self._pace.rest(worked_seconds)
