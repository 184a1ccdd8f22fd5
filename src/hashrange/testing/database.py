"""A database in this process, called without sockets and without an event loop.

The in-memory engine never waits, so a request runs to its end in the thread that made it. One
request runs at a time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar, final

from hashrange.api.scope import Caller
from hashrange.app.database import Database
from hashrange.app.engines import open_engine
from hashrange.app.faults import FaultInjection
from hashrange.clock import VirtualClock
from hashrange.config import Settings
from hashrange.injection.rules import FaultRule
from hashrange.pauses import inline
from hashrange.storage.meters import Meters, Mode
from hashrange.wire.auth.accounts import account_of, root_caller
from hashrange.wire.http.messages import JSON_1_0, Head, HttpRequest
from hashrange.wire.stages import Stages

Outcome = TypeVar("Outcome")


@final
class _NamedCaller:
    """The authenticator for clients in this process: their requests are not signed."""

    def __init__(self) -> None:
        self._caller: Caller | None = None

    def name(self, access_key: str, region: str) -> None:
        """Set the caller of the next request."""
        self._caller = root_caller(access_key, account_of(access_key), region, "dynamodb")

    def authenticate(self, request: HttpRequest, signing_name: str) -> Caller:
        assert self._caller is not None
        return self._caller


@final
class LocalDatabase:
    """Tables of its own, and a clock that stands still until it is moved."""

    def __init__(self, capacity: Mode = "off", *, has_faults: bool = False) -> None:
        self.clock = VirtualClock(time.time())
        self._caller = _NamedCaller()
        engine = open_engine(Settings(in_memory=True))
        stages = Stages(self._caller)
        self._injection: FaultInjection | None = None
        if has_faults:
            self._injection = FaultInjection(engine, self.clock, self._delay)
            engine = self._injection.engine
            stages = self._injection.admitting(stages)
        meters = Meters(capacity, self.clock)
        self._database = Database(engine, self.clock, stages=stages, is_inline=True, meters=meters)
        self._lock = threading.Lock()

    async def _delay(self, seconds: float) -> None:
        """Let a request take its time, by the clock that the test moves."""
        self.clock.advance(seconds)

    def replace_faults(self, rules: Sequence[FaultRule], seed: int) -> None:
        """Replace the faults that requests meet."""
        if self._injection is None:
            raise RuntimeError("this database was made without faults: local(faults=True)")
        with self._lock:
            run(self._injection.store.replace(rules, seed))

    def answer(self, target: str, body: bytes, access_key: str, region: str) -> tuple[int, bytes]:
        """Carry out a request; return HTTP status and JSON document."""
        headers = {b"x-amz-target": target.encode(), b"content-type": JSON_1_0}
        request = HttpRequest(Head(b"POST", b"/", headers), body, keep_alive=True)
        with self._lock:
            # Background work that is due, also because the clock was moved, comes first.
            run(self._database.do_due_work())
            self._caller.name(access_key, region)
            answer = run(self._database.answer(request))
            return answer.status, answer.body


def run(call: Coroutine[Any, Any, Outcome]) -> Outcome:
    """Run a coroutine that waits for nothing, and return its outcome."""
    try:
        # The caller may run on an event loop of its own, which must not be waited for.
        with inline():
            # Work in pieces yields None between them; anything else waits for an event loop.
            while call.send(None) is None:
                pass
    except StopIteration as end:
        outcome: Outcome = end.value
        return outcome
    call.close()
    raise RuntimeError("a request waited, which the in-memory engine never does")
