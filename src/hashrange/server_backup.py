"""Backups of a whole server, made while it runs, and the data directory made from one.

A backup is there when its manifest is, so one that was interrupted is none; what it left is deleted
by a later one. A restored directory takes its name in one step when all of it is on the disk.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, final

from hashrange import __version__
from hashrange.engine.sqlite.data_directory import DATABASE_NAME, LOG_NAME, DataDirectoryError
from hashrange.engine.sqlite.encryption import MARK_NAME, sync_directory
from hashrange.engine.sqlite.file_locks import open_private
from hashrange.engine.sqlite.online_copy import OnlineCopy
from hashrange.objects.backup_parts import BackupDamagedError
from hashrange.objects.server_backups import ServerBackups

SERVERS_BUCKET: Final = "servers"
"""The folder of backups of whole servers within the folder of backups."""

_ID_FORM: Final = "%Y%m%dT%H%M%S"
_RESTORING: Final = ".restoring"
_PROGRESS_SECONDS: Final = 2.0
# What an interrupted backup left is kept for this long: another server may be making it.
_UNFINISHED_SECONDS: Final = 86_400.0
_FILES: Final = (DATABASE_NAME, LOG_NAME)

Say = Callable[[str], None]


class ServerBackupError(Exception):
    """A backup cannot be made or restored; the message says why, for people."""


@final
class Meter:
    """Says how far a copy is, and slows it down to a rate; 0 for as fast as it goes."""

    def __init__(self, say: Say, total: int, bytes_per_second: float = 0.0) -> None:
        self._say = say
        self._total = total
        self._rate = bytes_per_second
        self._began = self._said = time.monotonic()
        self._done = 0

    def note(self, size: int) -> None:
        """Take note of bytes that were copied."""
        self._done += size
        if self._rate:
            ahead = self._done / self._rate - (time.monotonic() - self._began)
            if ahead > 0:
                time.sleep(ahead)
        if time.monotonic() - self._said >= _PROGRESS_SECONDS:
            self._said = time.monotonic()
            self._say(f"{self._done >> 20} MB of about {self._total >> 20} MB")

    def through(self, chunks: Iterator[bytes | None]) -> Iterator[bytes | None]:
        """Yield chunks, and take note of them."""
        for chunk in chunks:
            self.note(0 if chunk is None else len(chunk))
            yield chunk


async def create(
    directory: Path, backups: ServerBackups, say: Say, bytes_per_second: float = 0.0
) -> str:
    """Back up a data directory, whether its server runs or not; return the id of the backup.

    No engine may be open on it in this process: the locks of a copy would take its locks along.
    """
    try:
        return await _create(directory, backups, say, bytes_per_second)
    except DataDirectoryError as error:
        raise ServerBackupError(str(error)) from error


async def _create(
    directory: Path, backups: ServerBackups, say: Say, bytes_per_second: float
) -> str:
    with OnlineCopy(directory) as copy:
        await backups.prepare()
        now = time.time()
        await backups.forget_unfinished(_id(now - _UNFINISHED_SECONDS))
        id = f"{_id(now)}-{os.urandom(4).hex()}"
        meter = Meter(say, copy.database_bytes() + copy.log_bytes(), bytes_per_second)
        mark = copy.mark()
        database = await backups.write_file(id, DATABASE_NAME, meter.through(copy.read_database()))
        log = await backups.write_file(id, LOG_NAME, meter.through(copy.read_log()))
        if copy.mark() != mark:
            raise ServerBackupError(f"The key of {directory} was changed meanwhile.")
    await backups.complete(
        id,
        {
            "made_at": time.time(),
            "version": __version__,
            "encryption": None if mark is None else mark.decode(),
            "files": [database, log],
        },
    )
    return id


async def restore(backups: ServerBackups, id: str, directory: Path, say: Say) -> None:
    """Make a data directory from a backup; the directory is empty, or not there."""
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise ServerBackupError(f"{directory} is not empty. Name an empty or new directory.")
    manifest = await backups.manifest(id)
    meter = Meter(say, sum(file["bytes"] for file in manifest["files"]))
    directory.parent.mkdir(parents=True, exist_ok=True)
    new = directory.with_name(directory.name + _RESTORING)
    if new.exists():
        shutil.rmtree(new)
    new.mkdir(mode=0o700)
    try:
        for file in manifest["files"]:
            if file["name"] not in _FILES:
                raise BackupDamagedError(f"backup {id} holds a foreign file {file['name']}")
            if file["bytes"]:
                await _restore_file(backups, id, file, new, meter)
        if manifest["encryption"] is not None:
            _write(new / MARK_NAME, [manifest["encryption"].encode()])
        sync_directory(new)
        os.replace(new, directory)
        sync_directory(directory.parent)
    finally:
        shutil.rmtree(new, ignore_errors=True)


async def _restore_file(
    backups: ServerBackups, id: str, file: dict[str, Any], directory: Path, meter: Meter
) -> None:
    with os.fdopen(open_private(directory / file["name"]), "wb") as target:
        async for chunk in backups.read_file(id, file):
            target.write(chunk)
            meter.note(len(chunk))
        target.flush()
        os.fsync(target.fileno())


async def verify(backups: ServerBackups, id: str, say: Say) -> int:
    """Read a backup from end to end and check all of it; return its size."""
    manifest = await backups.manifest(id)
    total = sum(file["bytes"] for file in manifest["files"])
    meter = Meter(say, total)
    for file in manifest["files"]:
        size = 0
        async for chunk in backups.read_file(id, file):
            size += len(chunk)
            meter.note(len(chunk))
        if size != file["bytes"]:
            raise BackupDamagedError(f"{id}/{file['name']} has {size} bytes, not {file['bytes']}")
    return int(total)


def _id(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime(_ID_FORM)


def _write(path: Path, chunks: list[bytes]) -> None:
    with os.fdopen(open_private(path), "wb") as file:
        file.writelines(chunks)
        file.flush()
        os.fsync(file.fileno())
