"""Backups of tables: the job that makes one without stopping writes, and the one that removes it.

1. The table begins a history of its own for the backup, in the step that fences older writes. From
   then on every change leaves there what it replaces.
2. The items are read, merged with that history: together they are the table as it was at 1.
3. Parts are written one by one; after each the job keeps how far it has come.
4. The manifest is written, the history ends, and the backup is AVAILABLE.

On an engine that changes one shard at a time each shard has a moment of its own, within the time
that step 1 takes.
"""

from __future__ import annotations

from dataclasses import asdict, astuple
from typing import Any, Final, final

from hashrange.engine.base import Engine
from hashrange.errors import AccessDeniedException, ResourceNotFoundException
from hashrange.keyring.table_keys import TableKeys
from hashrange.model.backups import BackupRecord
from hashrange.model.jobs import COMPLETED
from hashrange.model.records import DataKey, TableRecord
from hashrange.objects.backups import PACKED_BYTES, BackupFiles, PartFile
from hashrange.objects.base import ObjectStoreError
from hashrange.services.job_pace import Pace
from hashrange.services.jobs import Job, JobFailedError
from hashrange.services.restores import CHUNK_ROWS, Progress, StoreSource
from hashrange.storage.backups import BackupStore
from hashrange.storage.catalog import Catalog, Edit
from hashrange.storage.layout import row_size
from hashrange.storage.past import BeginningCut, PastView

_PART_BYTES: Final = 4 << 20
_PARTS_PER_SAVE_SHARE: Final = 64
# What a thread packs at once while requests want the processors.
_BUSY_PACKED_BYTES: Final = 1 << 16


@final
class TableBackups:
    """The kind of job that makes a backup."""

    def __init__(
        self, engine: Engine, catalog: Catalog, keys: TableKeys, files: BackupFiles
    ) -> None:
        self._engine = engine
        self._catalog = catalog
        self._backups = BackupStore(engine)
        self._keys = keys
        self._files = files

    async def run(self, job: Job) -> str:
        """Take a backup to its end."""
        try:
            backup = await self._find(job)
            record = await self._begin_snapshot(backup)
            data_key = _data_key_of(job, record)
            parts, size = await self._write_parts(job, backup, record, data_key)
            if backup.id not in (await self._table(backup)).snapshots:
                raise ResourceNotFoundException(f"Table {record.name} is gone")
            backup.items, backup.size = sum(part["items"] for part in parts), size
            backup.is_available = True
            document = {name: getattr(backup, name) for name in BackupRecord.__slots__}
            sealed_key = None if data_key is None else asdict(data_key)
            await self._files.complete(backup.id, document, parts, sealed_key)
            await self._backups.change(backup, lambda _: backup)
            await self._end_snapshot(backup)
        except ResourceNotFoundException as error:
            raise JobFailedError("TableNotFound", error.message) from error
        except AccessDeniedException as error:
            raise JobFailedError("KeyNotUsable", error.message) from error
        except ObjectStoreError as error:
            raise JobFailedError(error.code, error.message) from error
        return COMPLETED

    async def undo(self, job: Job) -> None:
        """Forget a backup that could not be made."""
        wanted = job.record.request
        where = (job.record.account, job.record.region)
        backup = await self._backups.find(*where, wanted["backup"], wanted["table"])
        if backup is None:
            return
        await self._end_snapshot(backup)
        await self._files.delete(backup.id)
        await self._backups.change(backup, lambda _: None)

    async def _find(self, job: Job) -> BackupRecord:
        id = job.record.request["backup"]
        where = (job.record.account, job.record.region)
        backup = await self._backups.find(*where, id, job.record.request["table"])
        if backup is None:
            raise ResourceNotFoundException(f"Backup {id} is gone")
        return backup

    async def _table(self, backup: BackupRecord) -> TableRecord:
        """Return the record of the table, which must be the one that the backup is of."""
        found = await self._catalog.find(backup.account, backup.region, backup.table["name"])
        if found is None or found.gone_at is not None or found.id != backup.table["id"]:
            raise ResourceNotFoundException(f"Table {backup.table['name']} is gone")
        return found

    async def _begin_snapshot(self, backup: BackupRecord) -> TableRecord:
        """Have the table keep what changes replace, from one moment on; may be repeated."""
        await self._files.prepare()
        await self._table(backup)

        def begin(record: TableRecord | None) -> Edit:
            if record is None or record.id != backup.table["id"] or record.gone_at is not None:
                raise ResourceNotFoundException(f"Table {backup.table['name']} is gone")
            if backup.id in record.snapshots:
                return Edit(record, is_seen_by_requests=False, outcome=record)
            store = f"{record.store}.b{backup.id.replace('-', '_')}"
            record.snapshots[backup.id] = store
            return Edit(record, creates=[store], outcome=record)

        where = (backup.account, backup.region, backup.table["name"])
        record = await self._catalog.change(*where, begin)
        assert isinstance(record, TableRecord)
        # After a crash it is not known whether all shards have heard of it.
        await self._catalog.fence(record)
        return record

    async def _end_snapshot(self, backup: BackupRecord) -> None:
        def end(record: TableRecord | None) -> Edit:
            store = None
            if record is not None and record.id == backup.table["id"]:
                store = record.snapshots.pop(backup.id, None)
            if store is None:
                return Edit(record, is_seen_by_requests=False)
            return Edit(record, drops=[store])

        await self._catalog.change(backup.account, backup.region, backup.table["name"], end)

    async def _write_parts(
        self, job: Job, backup: BackupRecord, record: TableRecord, data_key: DataKey | None
    ) -> tuple[list[dict[str, Any]], int]:
        """Write the parts that are missing; return what the manifest says of all, and the size."""
        cipher = None
        if data_key is not None:
            cipher = await self._keys.open(astuple(data_key), record.account, record.name)
        view = PastView(self._engine, record.snapshots[backup.id], BeginningCut())
        source = StoreSource(view, record.store, record.shards)
        kept = job.record.progress
        parts: list[dict[str, Any]] = list(kept.get("parts", []))
        size: int = kept.get("size", 0)
        position: dict[str, Any] | None = kept.get("position", {})
        saved = len(parts)
        while position is not None:
            part = await self._files.begin_part(backup.id, len(parts), cipher)
            try:
                position, part_size = await _fill(job.pace, source, position, part)
                if part_size:
                    parts.append(await job.pace.apart(part.complete()))
                    size += part_size
            finally:
                await part.abort()  # unless it is complete
            # Progress tells all parts, so of many it is kept less often.
            if len(parts) - saved > len(parts) // _PARTS_PER_SAVE_SHARE or position is None:
                saved = len(parts)
                progress = {"parts": list(parts), "size": size, "position": position}
                if data_key is not None:
                    progress["data_key"] = asdict(data_key)
                await job.save(progress)
        return parts, size


async def _fill(
    pace: Pace, source: StoreSource, position: Progress, part: PartFile
) -> tuple[Progress | None, int]:
    """Read items into a part; return the position behind them, and their size."""
    reading = pace.pieces()
    room = _PART_BYTES
    size = 0
    here: Progress | None = position
    while here is not None and room > 0:
        rows, here = await source.read(here, reading.rows(CHUNK_ROWS))
        row_bytes = sum([len(row) for _, row in rows])
        room -= row_bytes
        size += sum([row_size(row) for _, row in rows])
        packed_bytes = _BUSY_PACKED_BYTES if pace.is_busy else PACKED_BYTES
        await pace.apart(part.add(rows, row_bytes, packed_bytes))
        await reading.rest(len(rows))
    return here, size


def _data_key_of(job: Job, record: TableRecord) -> DataKey | None:
    """Return the key that all parts are sealed with; a job that goes on keeps the one it had."""
    kept = job.record.progress.get("data_key")
    if kept is not None:
        return DataKey(**kept)
    if job.record.progress.get("parts") or not record.data_keys:
        return None
    return record.data_keys[0]


@final
class BackupRemovals:
    """The kind of job that deletes the files of a backup that was taken from the list."""

    def __init__(self, files: BackupFiles) -> None:
        self._files = files

    async def run(self, job: Job) -> str:
        """Delete the files."""
        try:
            await self._files.delete(job.record.request["backup"])
        except ObjectStoreError as error:
            raise JobFailedError(error.code, error.message) from error
        return COMPLETED

    async def undo(self, job: Job) -> None:
        """What could not be deleted stays, and harms nobody."""
