"""Writes the database of a stopped server anew, with another page key or with none.

The new database is written beside the old one, synced, and takes its name in one step; ENCRYPTION
has the keys of both meanwhile. So a process that is killed at any moment leaves one whole database
and the key to it; what it had written of the new one is removed by whoever comes next.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

import apsw

from hashrange.engine.sqlite.data_directory import (
    APPLICATION_ID,
    DATABASE_NAME,
    LOG_NAME,
    NEW_DATABASE_NAME,
    SELECT_META,
)
from hashrange.engine.sqlite.encryption import (
    EncryptionError,
    Mark,
    PageKey,
    database_uri,
    sync_directory,
    write_mark,
)

# Steps of SQLite's virtual machine between two looks at how far it is.
_STEPS: Final = 100_000
# Room beyond the size of the database, for what each page loses to encryption.
_ROOM_FACTOR: Final = 1.05

Progress = Callable[[int, int], None]
"""Told how many bytes of how many are written."""


def rewrite_database(
    directory: Path,
    server_key: bytes,
    mark: Mark,
    page_keys: tuple[PageKey | None, PageKey | None],
    progress: Progress,
) -> None:
    """Write a database anew, from one page key to another (None: plain).

    The lock of the directory is held, and no engine is open.
    """
    database, new = directory / DATABASE_NAME, directory / NEW_DATABASE_NAME
    old_key, new_key = page_keys
    size = database.stat().st_size
    free = shutil.disk_usage(directory).free
    if free < size * _ROOM_FACTOR:
        raise EncryptionError(
            f"there is no room for a second copy: it needs {size >> 20} MB, and {free >> 20} MB "
            "are free"
        )
    new.unlink(missing_ok=True)
    try:
        with contextlib.closing(_connect(database, old_key)) as connection:
            os.close(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
            with _watched(connection, lambda: progress(new.stat().st_size, size)):
                connection.execute("VACUUM INTO ?", (database_uri(new, new_key),))
            expected = connection.execute(SELECT_META).get
        _check(database, new, new_key, expected)
        _sync(new)
    except BaseException:
        new.unlink(missing_ok=True)
        raise
    # From here on either database can be opened.
    write_mark(directory, mark.with_pages(server_key, _present(page_keys)))
    os.replace(new, database)
    sync_directory(directory)
    write_mark(directory, mark.with_pages(server_key, _present([new_key])))


def _present(keys: Iterable[PageKey | None]) -> list[PageKey]:
    return [key for key in keys if key is not None]


def _connect(database: Path, key: PageKey | None) -> apsw.Connection:
    flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_URI
    connection = apsw.Connection(str(database), flags=flags)
    if key is not None:
        key.apply(connection)
    return connection


@contextlib.contextmanager
def _watched(connection: apsw.Connection, look: Callable[[], None]) -> Iterator[None]:
    def go_on() -> bool:
        look()
        return False

    connection.set_progress_handler(go_on, _STEPS)
    try:
        yield
    finally:
        connection.set_progress_handler(None)


def _check(database: Path, new: Path, key: PageKey | None, expected: object) -> None:
    """Make sure that the new database can be read, and that the old one has no log any more.

    A log of the old one that came back would spoil the new one.
    """
    with contextlib.closing(_connect(new, key)) as connection:
        found = connection.pragma("application_id"), connection.execute(SELECT_META).get
    if found != (APPLICATION_ID, expected):
        raise EncryptionError("the new database is not what was written")
    log = database.with_name(LOG_NAME)
    if log.exists() and log.stat().st_size:
        raise EncryptionError(f"the log {log} is in use by another program")
    sync_directory(database.parent)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
