"""A database in this process: everything below the wire, called without an event loop.

The in-memory engine never waits, so a request runs to its end in the thread that made it. One
request runs at a time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Coroutine
from typing import Any, TypeVar, final

from hashrange.app import Database, open_engine
from hashrange.clock import VirtualClock
from hashrange.config import Settings
from hashrange.wire.auth.identity import Identity, account_of

Outcome = TypeVar("Outcome")


@final
class LocalDatabase:
    """Tables of its own, and a clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.clock = VirtualClock(time.time())
        self._database = Database(open_engine(Settings(in_memory=True)), self.clock)
        self._lock = threading.Lock()

    def answer(self, target: str, body: bytes, access_key: str, region: str) -> tuple[int, bytes]:
        """Carry out a request; return HTTP status and JSON document."""
        identity = Identity(access_key, account_of(access_key), region)
        with self._lock:
            # What is due, also because the clock was moved, is done before anybody can look.
            run(self._database.do_due_work())
            return run(self._database.dispatcher.answer(target.encode(), body, identity))


def run(call: Coroutine[Any, Any, Outcome]) -> Outcome:
    """Run a coroutine that waits for nothing, and return its outcome."""
    try:
        # Work in pieces yields None between them; anything else waits for an event loop.
        while call.send(None) is None:
            pass
    except StopIteration as end:
        outcome: Outcome = end.value
        return outcome
    call.close()
    raise RuntimeError("a request waited, which the in-memory engine never does")
