"""What processes tell each other through Cassandra: appended rows, and announced changes.

The announcements of a shard are counted in its head, in the same step. The table `signals` says
which shards ever announce something; each process reads their heads once a second, and at once
when a hint says that something was announced. That something was appended to a space is a hint,
too. It is sent before the step and again after it, and a process that sees it looks a second time
a little later. So neither a hint that comes too early nor one that is lost with its process leaves
rows unseen. All hints are rows of one partition, so one statement looks for them.

Hints are looked for ten times a second while there are any, and on the common beat otherwise.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable
from time import monotonic
from typing import Final, final

from hashrange.beat import BEAT_SECONDS, seconds_to_beat
from hashrange.engine.cassandra.link import Link, NoAnswer, Rows
from hashrange.engine.cassandra.row_reads import RowReads, head_of
from hashrange.engine.cassandra.schema import Statements
from hashrange.engine.cassandra.session import ONE, QUORUM
from hashrange.engine.cassandra.shard_state import HEAD_KEY, META_STORE
from hashrange.engine.cassandra.steps import Place
from hashrange.errors import EngineError

POLL_SECONDS: Final = 0.1
"""How long an attentive process rests between two looks at the hints of others."""

_ATTENTIVE_SECONDS: Final = 3.0
_HEADS_SECONDS: Final = 1.0
_REGISTER_SECONDS: Final = 5.0
_EARLY_HINT_SECONDS: Final = 1.0
_LATE_HINT_SECONDS: Final = 0.05
_SECOND_LOOK_SECONDS: Final = 1.0
_HINT_TTL_SECONDS: Final = 60
# Kinds of rows in the table: shards that announce something, and hints.
_ANNOUNCER: Final = 0
_HINT: Final = 1
# Hints are about a space; in the place of a shard stands what is hinted at.
_APPENDED: Final = 0
_ANNOUNCED: Final = 1


@final
class Signals:
    """The change counter and the marks of spaces, as far as this process knows."""

    def __init__(
        self,
        link: Link,
        statements: Statements,
        reads: RowReads,
        prefix: str,
        on_announced: Callable[[], None],
    ) -> None:
        self._link = link
        self._statements = statements
        self._reads = reads
        self._prefix = prefix
        self._on_announced = on_announced
        self.counter = 0
        self._announced: dict[Place, int] = {}
        self._registered: set[Place] = set()
        self._marks: dict[str, int] = {}
        self._seen: dict[tuple[str, int], bytes] = {}
        self._told_at: dict[str, float] = {}
        self._watchers: dict[str, list[asyncio.Event]] = {}
        self._tasks: set[asyncio.Task[object]] = set()
        self._attentive_until = 0.0
        self._register_at = 0.0
        self._heads_at = 0.0
        self._answered_at = monotonic()

    def mark(self, space: str) -> int:
        """Return a mark that differs whenever something was appended to a space."""
        return self._marks.get(space, 0)

    async def wait(self, space: str, seen: int, seconds: float) -> None:
        """Wait until the mark of a space may have moved."""
        if self.mark(space) != seen:
            return
        event = asyncio.Event()
        waiting = self._watchers.setdefault(space, [])
        waiting.append(event)
        try:
            await asyncio.wait_for(event.wait(), seconds)
        except TimeoutError:
            pass
        finally:
            waiting.remove(event)

    def move_counter(self) -> None:
        """Have caches look again."""
        self.counter += 1
        self._on_announced()

    def note(self, place: Place, appended: int, announced: int) -> None:
        """Take note of an own step that was applied."""
        if announced:
            self.move_counter()
            self._spawn((place[0], _ANNOUNCED), 0.0)
        if appended:
            self._move_mark(place[0])
            self._send_hint(place[0], _LATE_HINT_SECONDS)

    def tell_appended(self, space: str) -> None:
        """Hint that a step with appended rows is about to be made."""
        self._send_hint(space, _EARLY_HINT_SECONDS)

    async def register(self, place: Place) -> None:
        """Have all processes look at a shard for announcements."""
        if place not in self._registered:
            bound = self._statements.signal.bind((_ANNOUNCER, *place, b"", 0))
            await self._link.read(bound, QUORUM)
            self._registered.add(place)

    async def poll(self) -> None:
        """Look what other processes have told."""
        now = monotonic()
        if now >= self._register_at:
            self._register_at = now + _REGISTER_SECONDS
            for space, shard, _ in await self._read(_ANNOUNCER):
                self._announced.setdefault((space, shard), -1)
        for space, topic, mark in await self._read(_HINT):
            if self._seen.get((space, topic)) != mark:
                self._seen[space, topic] = mark
                self._take_hint(space, topic)
        if now >= self._heads_at:
            self._heads_at = now + _HEADS_SECONDS
            await self._look_at_heads()

    def _take_hint(self, space: str, topic: int) -> None:
        self._pay_attention()
        if topic == _ANNOUNCED:
            self._register_at = self._heads_at = 0.0
        else:
            self._move_mark(space)
            asyncio.get_running_loop().call_later(_SECOND_LOOK_SECONDS, self._move_mark, space)

    async def _look_at_heads(self) -> None:
        for place, before in list(self._announced.items()):
            now = head_of(await self._reads.view(place, {(META_STORE, HEAD_KEY)}, QUORUM)).announced
            if now > before:
                self._announced[place] = now
                self._pay_attention()
                self.move_counter()

    def _pay_attention(self) -> None:
        self._attentive_until = monotonic() + _ATTENTIVE_SECONDS

    async def run(self) -> None:
        """Poll until cancelled."""
        while True:
            # If it fails, requests tell about the trouble, and the next one may succeed.
            with contextlib.suppress(EngineError):
                await self.poll()
                self._answered_at = monotonic()
            is_attentive = monotonic() < self._attentive_until
            await asyncio.sleep(POLL_SECONDS if is_attentive else seconds_to_beat(BEAT_SECONDS))

    def silent_seconds(self) -> float:
        """Return how long ago Cassandra has last answered a poll."""
        return monotonic() - self._answered_at

    def stop(self) -> None:
        """Send no more hints."""
        for task in list(self._tasks):
            task.cancel()

    async def _read(self, kind: int) -> Rows:
        rows = await self._link.read(self._statements.read_signals.bind((kind,)), ONE)
        return [row for row in rows if row[0].startswith(self._prefix)]

    def _move_mark(self, space: str) -> None:
        self._marks[space] = self._marks.get(space, 0) + 1
        for event in self._watchers.get(space, ()):
            event.set()

    def _send_hint(self, space: str, pause: float) -> None:
        """Send a hint unless one was sent just now; then later, if it comes after a step."""
        now = monotonic()
        told_at = self._told_at.get(space, 0.0)
        if now - told_at < pause:
            if pause == _LATE_HINT_SECONDS and told_at <= now:
                # One more covers all steps until then.
                self._told_at[space] = told_at + pause
                self._spawn((space, _APPENDED), told_at + pause - now)
            return
        self._told_at[space] = max(now, told_at)
        self._spawn((space, _APPENDED), 0.0)

    def _spawn(self, subject: tuple[str, int], delay: float) -> None:
        task = asyncio.create_task(self._hint(subject, delay))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _hint(self, subject: tuple[str, int], delay: float) -> None:
        if delay > 0:
            await asyncio.sleep(delay)
        mark = os.urandom(8)
        self._seen[subject] = mark  # others look at it, this process knows
        bound = self._statements.signal.bind((_HINT, *subject, mark, _HINT_TTL_SECONDS))
        with contextlib.suppress(NoAnswer, EngineError):
            await self._link.ask(bound, ONE)
