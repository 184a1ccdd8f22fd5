"""Composes recovery and backups: where backups are kept, and the jobs that serve them."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from hashrange.clock import Clock
from hashrange.config import Settings
from hashrange.engine.base import Engine
from hashrange.keyring.table_keys import TableKeys
from hashrange.objects.backups import BackupFiles
from hashrange.objects.folder import FolderStore
from hashrange.services.jobs import Kind
from hashrange.services.restores import KIND as RESTORE_KIND
from hashrange.services.restores import Restores
from hashrange.services.table_backups import (
    BACKUP_KIND,
    REMOVAL_KIND,
    BackupRemovals,
    TableBackups,
)
from hashrange.storage.catalog import Catalog

TABLES_BUCKET: Final = "tables"
"""The folder of backups of single tables within the folder of backups."""

_DEFAULT_FOLDER: Final = "backups"


def backup_folder(settings: Settings) -> Path | None:
    """Return the folder of backups; None for one that goes with the process."""
    if settings.backup_dir is not None:
        return settings.backup_dir
    return None if settings.in_memory else settings.data_dir / _DEFAULT_FOLDER


def backup_files(settings: Settings, key: bytes | None) -> BackupFiles:
    """Return where a server keeps backups of tables; with a key, their items are encrypted."""
    store = FolderStore(backup_folder(settings) or _passing_folder)
    return BackupFiles(store, TABLES_BUCKET, key=key)


def passing_files() -> BackupFiles:
    """Return a place for backups that goes with the process, used without an event loop."""
    store = FolderStore(_passing_folder, is_inline=True)
    return BackupFiles(store, TABLES_BUCKET, is_inline=True)


def _passing_folder() -> Path:
    path = tempfile.mkdtemp(prefix="hashrange-backups-")
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return Path(path)


def recovery_kinds(
    engine: Engine, catalog: Catalog, clock: Clock, keys: TableKeys, files: BackupFiles
) -> Mapping[str, Kind]:
    """Return the kinds of jobs of recovery."""
    return {
        RESTORE_KIND: Restores(engine, catalog, clock, keys, files),
        BACKUP_KIND: TableBackups(engine, catalog, keys, files),
        REMOVAL_KIND: BackupRemovals(files),
    }
