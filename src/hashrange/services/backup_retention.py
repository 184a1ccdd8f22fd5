"""Forgets backups that have expired: those that protected tables leave when they are deleted."""

from __future__ import annotations

from typing import final

from hashrange.clock import Clock
from hashrange.engine.base import Engine
from hashrange.storage.backups import BackupStore

_FOREVER = float("inf")


@final
class BackupRetention:
    """Keeps the list of backups; one process runs it."""

    def __init__(self, engine: Engine, clock: Clock) -> None:
        self._engine = engine
        self._clock = clock
        self._backups = BackupStore(engine)
        self._counter = -1
        self._due_at = 0.0

    async def run_to_end(self) -> None:
        """Do all that is due now."""
        await self.step()

    async def step(self) -> int:
        """Forget what has expired; costs a comparison or two when nothing has."""
        counter, now = self._engine.counter(), self._clock.now()
        if counter == self._counter and now < self._due_at:
            return 0
        due_at = _FOREVER
        expired = []
        async for backup in self._backups.walk():
            if not backup.is_kept(now):
                expired.append(backup)
            elif backup.expires_at is not None:
                due_at = min(due_at, backup.expires_at)
        for backup in expired:
            await self._backups.change(backup, lambda _: None)
        self._counter, self._due_at = counter, due_at
        return len(expired)
