"""Forgets backups that have expired: those that protected tables leave when they are deleted.

Also those of which only the first of two steps was taken when a server was killed: a backup that is
being made, and no job that makes it.
"""

from __future__ import annotations

from typing import final

from hashrange.clock import Clock
from hashrange.engine.base import Engine
from hashrange.model.backups import BackupRecord
from hashrange.storage.backups import BackupStore
from hashrange.storage.jobs import JobStore

_FOREVER = float("inf")
# A request needs no longer to write down the job of the backup that it has listed.
_BEGINNING_SECONDS = 60.0


@final
class BackupRetention:
    """Keeps the list of backups; one process runs it."""

    def __init__(self, engine: Engine, clock: Clock) -> None:
        self._engine = engine
        self._clock = clock
        self._backups = BackupStore(engine)
        self._jobs = JobStore(engine)
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
            elif not backup.is_available:
                if now < backup.created_at + _BEGINNING_SECONDS:
                    due_at = min(due_at, backup.created_at + _BEGINNING_SECONDS)
                elif not await self._is_being_made(backup):
                    expired.append(backup)
        for backup in expired:
            await self._backups.change(backup, lambda _: None)
        self._counter, self._due_at = counter, due_at
        return len(expired)

    async def _is_being_made(self, backup: BackupRecord) -> bool:
        active = await self._jobs.active()
        return any(job.request.get("backup") == backup.id for job in active)
