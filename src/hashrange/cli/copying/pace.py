"""The pace of a copy: at most so many items a second, over all threads, and a way to stop."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import final


class StoppedError(Exception):
    """The copy was stopped while a thread worked."""


@final
class Pace:
    """Lets threads go on as fast as the rate allows; without a rate, at once."""

    def __init__(self, rate: int | None, now: Callable[[], float] = time.monotonic) -> None:
        self.rate = rate
        self._now = now
        self._free_at = 0.0
        self._lock = threading.Lock()
        self._stop = threading.Event()

    def take(self, count: int) -> None:
        """Wait until so many items may be written; raise StoppedError after `stop`."""
        seconds = self._reserve(count) if self.rate else 0.0
        if self._stop.wait(seconds) if seconds > 0 else self._stop.is_set():
            raise StoppedError

    def stop(self) -> None:
        """Let every thread that takes something end."""
        self._stop.set()

    def go_on(self) -> None:
        """Let threads work again."""
        self._stop.clear()

    def _reserve(self, count: int) -> float:
        """Return how long to wait for items that are taken now."""
        assert self.rate is not None
        with self._lock:
            now = self._now()
            begin = max(now, self._free_at)
            self._free_at = begin + count / self.rate
            return begin - now
