"""Lists the backups that lie in the folder of backups and that this server does not know.

So a backup that another server made, or one from before the data directory was lost, is restored
like any other: its manifest says which account, region and table it belongs to. A backup that is
being deleted is not taken back. Backups of which the files are gone stay listed.
"""

from __future__ import annotations

import logging
from typing import Final, final

from hashrange.engine.base import Engine
from hashrange.model.backups import REMOVAL_KIND, BackupRecord
from hashrange.objects.backup_parts import BackupDamagedError
from hashrange.objects.backups import BackupFiles
from hashrange.objects.base import NoSuchBucketError, ObjectStoreError
from hashrange.storage.backups import BackupStore
from hashrange.storage.jobs import JobStore

ROUND_SECONDS: Final = 3600.0
_log: Final = logging.getLogger(__name__)


@final
class BackupAdoption:
    """Looks through the folder of backups, at the start and every hour; one process runs it."""

    def __init__(self, engine: Engine, files: BackupFiles) -> None:
        self._backups = BackupStore(engine)
        self._jobs = JobStore(engine)
        self._files = files

    async def step(self) -> int:
        """Look through the folder once."""
        try:
            found = [id async for id in self._files.ids()]
        except NoSuchBucketError:
            return 0
        except ObjectStoreError as error:
            _log.warning("the backups cannot be listed: %s", error.message)
            return 0
        known = {backup.id async for backup in self._backups.walk()}
        for id in found:
            if id not in known:
                await self._adopt(id)
        return 0

    async def _adopt(self, id: str) -> None:
        try:
            backup = BackupRecord(**(await self._files.manifest(id))["backup"])
            if not backup.is_available or backup.id != id:
                raise BackupDamagedError(f"the manifest of backup {id} is of another backup")
        except (BackupDamagedError, ObjectStoreError, KeyError, TypeError) as error:
            _log.warning("backup %s is not listed: %s", id, error)
            return
        active = await self._jobs.active()
        if not any(job.kind == REMOVAL_KIND and job.request["backup"] == id for job in active):
            await self._backups.add(backup)
