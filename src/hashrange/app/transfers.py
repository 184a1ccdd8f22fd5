"""Composes where exports and imports keep their files, and the S3 front to them."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

from hashrange.config import Settings
from hashrange.neighbours.s3 import s3_service
from hashrange.neighbours.service import Service
from hashrange.objects.base import ObjectStore
from hashrange.objects.folder import FolderStore
from hashrange.objects.seals import PLAIN, KeySeal, Seal

BUCKETS: Final = "buckets"
"""The folder of buckets in a data directory."""


def make_folder_store(
    settings: Settings, keys: Sequence[bytes] = (), *, is_inline: bool = False
) -> FolderStore:
    """Return the buckets in a folder, sealed if there are keys, with the first of them.

    Those of a server in memory last as long as it does.
    """
    seal: Seal = KeySeal(keys) if keys and not settings.plain_buckets else PLAIN
    root: Path | _TemporaryFolder = settings.data_dir / BUCKETS
    if settings.bucket_dir is not None:
        root = settings.bucket_dir
    elif settings.in_memory:
        root = _TemporaryFolder()
    return FolderStore(root, seal=seal, is_inline=is_inline)


def make_object_store(settings: Settings, folder: FolderStore) -> ObjectStore:
    """Return where exports and imports keep their files."""
    if settings.s3_endpoint is None:
        return folder
    from hashrange.objects.remote import RemoteSettings, RemoteStore, make_client

    remote = RemoteSettings(settings.s3_endpoint, settings.s3_region, settings.s3_credentials)
    return RemoteStore(partial(make_client, remote))


def bucket_services(settings: Settings, folder: FolderStore) -> tuple[Service, ...]:
    """Return the S3 front, unless files live in another S3 service."""
    return (s3_service(folder),) if settings.s3_endpoint is None else ()


class _TemporaryFolder:
    """A folder that is made when it is needed and deleted with this object."""

    def __init__(self) -> None:
        self._folder: Path | None = None

    def __call__(self) -> Path:
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="hashrange-"))
            weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        return self._folder
