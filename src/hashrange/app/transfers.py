"""Wires exports, imports and bulk puts: the object store, and the kinds of jobs."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from functools import partial
from pathlib import Path
from typing import Final

from hashrange.api.transfers.jobs import BULK, EXPORT, IMPORT
from hashrange.config import Settings
from hashrange.engine.base import Engine
from hashrange.neighbours.s3 import s3_service
from hashrange.neighbours.service import Service
from hashrange.objects.base import ObjectStore
from hashrange.objects.folder import FolderStore
from hashrange.objects.remote import RemoteSettings, RemoteStore, make_client
from hashrange.services.jobs import Kind
from hashrange.storage.catalog import Catalog
from hashrange.transfers.bulk_puts import BulkPuts
from hashrange.transfers.data_files import Blocking
from hashrange.transfers.exports import Exports
from hashrange.transfers.imports import Imports

_BUCKETS: Final = "buckets"


def make_folder_store(settings: Settings, *, is_inline: bool = False) -> FolderStore:
    """Return the buckets in a folder; of a server in memory, they last as long as it does."""
    if settings.bucket_dir is not None:
        return FolderStore(settings.bucket_dir, is_inline=is_inline)
    if settings.in_memory:
        return FolderStore(_TemporaryFolder(), is_inline=is_inline)
    return FolderStore(settings.data_dir / _BUCKETS, is_inline=is_inline)


def make_object_store(settings: Settings, folder: FolderStore) -> ObjectStore:
    """Return where exports and imports keep their files."""
    if settings.s3_endpoint is None:
        return folder
    remote = RemoteSettings(settings.s3_endpoint, settings.s3_region, settings.s3_credentials)
    return RemoteStore(partial(make_client, remote))


def bucket_services(settings: Settings, folder: FolderStore) -> tuple[Service, ...]:
    """Return the S3 front, unless files live in another S3 service."""
    return (s3_service(folder),) if settings.s3_endpoint is None else ()


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


class _TemporaryFolder:
    """A folder that is made when it is needed and deleted with this object."""

    def __init__(self) -> None:
        self._folder: Path | None = None

    def __call__(self) -> Path:
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="hashrange-"))
            weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        return self._folder
