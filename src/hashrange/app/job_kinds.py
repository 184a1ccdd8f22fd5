"""The kinds of jobs: backups, restores, exports, imports, bulk puts; loaded with the first job."""

from __future__ import annotations

from collections.abc import Mapping

from hashrange.api.transfers.jobs import BULK, EXPORT, IMPORT
from hashrange.clock import Clock
from hashrange.engine.base import Engine
from hashrange.keyring.table_keys import TableKeys
from hashrange.model.backups import BACKUP_KIND, REMOVAL_KIND
from hashrange.objects.backups import BackupFiles
from hashrange.objects.base import ObjectStore
from hashrange.services.jobs import Kind
from hashrange.services.restores import KIND as RESTORE_KIND
from hashrange.services.restores import Restores
from hashrange.services.table_backups import (
    BackupRemovals,
    TableBackups,
)
from hashrange.storage.catalog import Catalog
from hashrange.transfers.bulk_puts import BulkPuts
from hashrange.transfers.data_files import Blocking
from hashrange.transfers.exports import Exports
from hashrange.transfers.imports import Imports


def recovery_kinds(
    engine: Engine, catalog: Catalog, clock: Clock, keys: TableKeys, files: BackupFiles
) -> Mapping[str, Kind]:
    """Return the kinds of jobs of recovery."""
    return {
        RESTORE_KIND: Restores(engine, catalog, clock, keys, files),
        BACKUP_KIND: TableBackups(engine, catalog, keys, files),
        REMOVAL_KIND: BackupRemovals(files),
    }


def transfer_kinds(
    engine: Engine, catalog: Catalog, objects: ObjectStore, *, is_inline: bool = False
) -> dict[str, Kind]:
    """Return the kinds of jobs that move items between tables and objects."""
    blocking = Blocking(is_inline=is_inline)
    return {
        EXPORT: Exports(engine, catalog, objects, blocking),
        IMPORT: Imports(engine, catalog, objects, blocking),
        BULK: BulkPuts(engine, catalog, objects, blocking),
    }
