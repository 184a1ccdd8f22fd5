"""Restores: the job that fills a new table from the past of another, or from a backup.

The table is CREATING and cannot be used until all its items are there. The job keeps how far it has
come after every few chunks; what it loads twice after a crash does no harm. If its source is gone
before it is done, the job fails and the table disappears.

A restore to a time reads the source while it is in use. At the end it looks whether the history is
still that of the same window: then nothing that it needed was dropped meanwhile.
"""

from __future__ import annotations

from dataclasses import astuple
from typing import Any, Final, Protocol, final

from hashrange.clock import Clock
from hashrange.engine.base import STRONG, Engine, Row
from hashrange.errors import (
    AccessDeniedException,
    ResourceInUseException,
    ResourceNotFoundException,
)
from hashrange.keyring.table_keys import TableKeys
from hashrange.model.jobs import COMPLETED
from hashrange.model.records import DataKey, TableRecord, record_of
from hashrange.objects.backup_parts import BackupDamagedError, Cipher
from hashrange.objects.backups import BackupFiles
from hashrange.objects.base import ObjectStoreError
from hashrange.services.bulk_load import BulkLoad
from hashrange.services.job_pace import Pace
from hashrange.services.jobs import Job, JobFailedError
from hashrange.storage.catalog import Catalog
from hashrange.storage.layout import END_OF_KEYS
from hashrange.storage.past import PastView, TimeCut, settle
from hashrange.storage.reads import Ranges

KIND: Final = "restore"
# What is read or loaded in one go keeps requests waiting, a millisecond or two.
CHUNK_ROWS: Final = 100
CHUNK_BYTES: Final = 1 << 18
_ROWS_PER_SAVE: Final = 6400
# A write may be committed this long after its time was taken.
_IN_FLIGHT_SECONDS: Final = 60.0
_END: Final = END_OF_KEYS * 2

Progress = dict[str, Any]


class Source(Protocol):
    """What a table is restored from."""

    async def read(self, progress: Progress, rows_max: int) -> tuple[list[Row], Progress | None]:
        """Return items from a position on, and the position behind them; None at the end.

        A source that has all of them at hand may return more than `rows_max`.
        """

    async def check(self) -> None:
        """Raise JobFailedError if what was read is not all that it should be."""


@final
class Restores:
    """The kind of job that restores a table."""

    def __init__(
        self,
        engine: Engine,
        catalog: Catalog,
        clock: Clock,
        keys: TableKeys,
        files: BackupFiles | None,
    ) -> None:
        self._engine = engine
        self._catalog = catalog
        self._clock = clock
        self._keys = keys
        self._files = files

    async def run(self, job: Job) -> str:
        """Take a restore to its end."""
        record = record_of(job.record.request["table"])
        load = BulkLoad(self._engine, self._catalog, record)
        try:
            await load.begin()
            await self._fill(job, load)
            await load.finish()
        except ResourceInUseException as error:
            raise JobFailedError("TableAlreadyExists", error.message) from error
        except ResourceNotFoundException as error:
            raise JobFailedError("TableNotFound", error.message) from error
        except AccessDeniedException as error:
            raise JobFailedError("KeyNotUsable", error.message) from error
        except (BackupDamagedError, ObjectStoreError) as error:
            raise JobFailedError("BackupDamaged", str(error)) from error
        return COMPLETED

    async def undo(self, job: Job) -> None:
        """Drop what a failed restore has loaded."""
        record = record_of(job.record.request["table"])
        await BulkLoad(self._engine, self._catalog, record).abandon()

    async def _fill(self, job: Job, load: BulkLoad) -> None:
        source = await self._source(job)
        pace = job.pace
        reading, loading = pace.pieces(), pace.pieces()
        progress: Progress | None = job.record.progress or {}
        unsaved = 0
        while progress is not None:
            rows, progress = await source.read(progress, reading.rows(CHUNK_ROWS))
            await reading.rest(len(rows))
            first = 0
            while first < len(rows):
                chunk = rows[first : first + loading.rows(CHUNK_ROWS)]
                await load.load(chunk)
                first += len(chunk)
                await loading.rest(len(chunk))
            unsaved += len(rows)
            if progress is not None and unsaved >= _ROWS_PER_SAVE:
                await job.save(progress)
                unsaved = 0
        await source.check()

    async def _source(self, job: Job) -> Source:
        wanted = job.record.request["source"]
        if "time" in wanted:
            record = await self._catalog.find(wanted["account"], wanted["region"], wanted["name"])
            past = _Past(self._engine, self._catalog, self._clock, record, wanted)
            await past.check()
            if record is not None and self._clock.now() - wanted["time"] < _IN_FLIGHT_SECONDS:
                await settle(self._catalog, record)
            return past
        if wanted.get("store"):
            return StoreSource(self._engine, wanted["store"], wanted["shards"])
        if self._files is None:
            raise JobFailedError("BackupNotFound", "This server has no place for backups")
        manifest = await self._files.manifest(wanted["backup"])
        cipher = None
        if manifest.get("data_key") is not None:
            table = manifest["backup"]["table"]
            sealed = astuple(DataKey(**manifest["data_key"]))
            cipher = await self._keys.open(sealed, table["account"], table["name"])
        return _Files(self._files, wanted["backup"], manifest, cipher, job.pace)


@final
class StoreSource:
    """The items of a store, as they are or as they were."""

    def __init__(self, ranges: Ranges, store: str, shards: int) -> None:
        self._ranges = ranges
        self._store = store
        self._shards = shards

    async def read(self, progress: Progress, rows_max: int) -> tuple[list[Row], Progress | None]:
        shard = progress.get("shard", 0)
        rows, ended = await self._ranges.range(
            self._store,
            shard,
            bytes.fromhex(progress.get("key", "")),
            _END,
            reverse=False,
            rows_max=rows_max,
            bytes_max=CHUNK_BYTES,
            consistency=STRONG,
        )
        if not ended:
            return rows, {"shard": shard, "key": (rows[-1][0] + b"\x00").hex()}
        return rows, {"shard": shard + 1} if shard + 1 < self._shards else None

    async def check(self) -> None:
        """Nothing can happen to a store that the backup keeps."""


@final
class _Past:
    """A table at a time."""

    def __init__(
        self,
        engine: Engine,
        catalog: Catalog,
        clock: Clock,
        record: TableRecord | None,
        wanted: dict[str, Any],
    ) -> None:
        self._catalog = catalog
        self._clock = clock
        self._wanted = wanted
        view = PastView(engine, wanted["history"], TimeCut(wanted["time"]))
        shards = 1 if record is None else record.shards
        self._items = StoreSource(view, wanted["history"].partition(".")[0], shards)

    async def read(self, progress: Progress, rows_max: int) -> tuple[list[Row], Progress | None]:
        return await self._items.read(progress, rows_max)

    async def check(self) -> None:
        wanted = self._wanted
        record = await self._catalog.find(wanted["account"], wanted["region"], wanted["name"])
        recovery = None if record is None or record.gone_at is not None else record.recovery
        if recovery is None or recovery.store != wanted["history"] or not recovery.is_enabled:
            text = "The source table, or its recovery, was ended before the restore was complete"
            raise JobFailedError("SourceGone", text)
        if wanted["time"] < recovery.earliest(self._clock.now()):
            text = "The time left the recovery window before the restore was complete"
            raise JobFailedError("SourceGone", text)


@final
class _Files:
    """A backup in files."""

    def __init__(
        self,
        files: BackupFiles,
        id: str,
        manifest: dict[str, Any],
        cipher: Cipher | None,
        pace: Pace,
    ) -> None:
        self._files = files
        self._id = id
        self._manifest = manifest
        self._cipher = cipher
        self._pace = pace

    async def read(self, progress: Progress, rows_max: int) -> tuple[list[Row], Progress | None]:
        number = progress.get("part", 0)
        count = len(self._manifest["parts"])
        if number >= count:
            return [], None
        pieces = self._files.read_part(self._id, self._manifest, number, self._cipher)
        rows: list[Row] = []
        while (piece := await self._pace.apart(anext(pieces, None))) is not None:
            rows += piece
            await self._pace.rest()
        return rows, {"part": number + 1} if number + 1 < count else None

    async def check(self) -> None:
        """The parts were checked one by one."""
