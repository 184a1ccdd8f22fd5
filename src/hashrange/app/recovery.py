"""Composes recovery and backups: where backups are kept, and the jobs that serve them."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from hashrange.config import Settings
from hashrange.engine.base import Engine
from hashrange.objects.backups import BackupFiles
from hashrange.objects.base import ObjectStore
from hashrange.objects.folder import FolderStore
from hashrange.services.background import Service
from hashrange.services.backup_adoption import ROUND_SECONDS, BackupAdoption

if TYPE_CHECKING:
    from hashrange.objects.remote import RemoteSettings

TABLES_BUCKET: Final = "tables"
"""The folder of backups of single tables within the folder of backups."""

_DEFAULT_FOLDER: Final = "backups"


def backup_store(
    place: Path | str, remote: RemoteSettings | None, *, is_inline: bool = False
) -> ObjectStore:
    """Return the store of backups in a folder, or in a place such as s3://bucket/prefix."""
    if isinstance(place, Path):
        return FolderStore(place, is_inline=is_inline)
    from hashrange.objects.nested import NestedStore
    from hashrange.objects.remote import RemoteStore, make_client

    assert remote is not None
    bucket, _, prefix = place.removeprefix("s3://").partition("/")
    return NestedStore(RemoteStore(partial(make_client, remote)), bucket, prefix)


def backup_files(settings: Settings, key: bytes | None) -> BackupFiles:
    """Return where a server keeps backups of tables; with a key, their items are encrypted."""
    place = settings.backup_dir
    if place is None and settings.in_memory:
        return BackupFiles(FolderStore(_passing_folder), TABLES_BUCKET, key=key)
    remote = None
    if settings.s3_endpoint is not None:
        from hashrange.objects.remote import RemoteSettings

        remote = RemoteSettings(settings.s3_endpoint, settings.s3_region, settings.s3_credentials)
    store = backup_store(place or settings.data_dir / _DEFAULT_FOLDER, remote)
    return BackupFiles(store, TABLES_BUCKET, key=key)


def adoption_services(settings: Settings, engine: Engine, files: BackupFiles) -> list[Service]:
    """Return the work that lists backups of other servers; backups in memory have no others."""
    if settings.backup_dir is None and settings.in_memory:
        return []
    adoption = BackupAdoption(engine, files)
    return [Service("finding backups", adoption.step, idle_seconds=ROUND_SECONDS)]


def passing_files() -> BackupFiles:
    """Return a place for backups that goes with the process, used without an event loop."""
    store = FolderStore(_passing_folder, is_inline=True)
    return BackupFiles(store, TABLES_BUCKET, is_inline=True)


def _passing_folder() -> Path:
    path = tempfile.mkdtemp(prefix="hashrange-backups-")
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return Path(path)
