"""Progress of long commands on standard error: a bar by rich, a counter without it.

Nothing is shown unless standard error is a terminal. Threads may share a meter.
"""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType
from typing import Any, Final, Protocol, final

_COUNTER_SECONDS: Final = 0.5


class Meter(Protocol):
    """Counts what a command has done so far."""

    def advance(self, count: int) -> None:
        """Count further things."""

    def __enter__(self) -> Meter: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


def meter(title: str, total: int = 0, done: int = 0) -> Meter:
    """Return a meter for the terminal; a total of 0 is unknown."""
    if not sys.stderr.isatty():
        return Silence()
    try:
        return _Bar(title, total, done)
    except ImportError:
        return _Counter(title, total, done)


class Silence:
    """A meter that shows nothing."""

    def advance(self, count: int) -> None:
        pass

    def __enter__(self) -> Meter:
        return self

    def __exit__(self, *_: object) -> None:
        pass


@final
class _Bar(Silence):
    def __init__(self, title: str, total: int, done: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        self._progress: Any = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.completed:,.0f} items"),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._progress.add_task(title, total=total or None, completed=done, rate="")
        self._begin, self._count = time.monotonic(), 0
        self._lock = threading.Lock()

    def advance(self, count: int) -> None:
        with self._lock:
            self._count += count
            seconds = time.monotonic() - self._begin
            rate = f"{self._count / seconds:,.0f}/s" if seconds > _COUNTER_SECONDS else ""
        self._progress.update(self._task, advance=count, rate=rate)

    def __enter__(self) -> Meter:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()


@final
class _Counter(Silence):
    def __init__(self, title: str, total: int, done: int) -> None:
        self._title = title
        self._of_all = f" of about {total:,}" if total else ""
        self._count = done
        self._shown_at = time.monotonic()
        self._lock = threading.Lock()

    def advance(self, count: int) -> None:
        with self._lock:
            self._count += count
            if time.monotonic() - self._shown_at > _COUNTER_SECONDS:
                sys.stderr.write(f"\r{self._title} {self._count:,}{self._of_all} items")
                self._shown_at = time.monotonic()

    def __exit__(self, *_: object) -> None:
        sys.stderr.write("\r\x1b[K")
