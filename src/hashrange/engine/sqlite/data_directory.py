"""The data directory of the SQLite engine: its files, its format version and its locks.

| file          | content                                                                          |
|---------------|----------------------------------------------------------------------------------|
| hashrange.db  | the database (with SQLite's own `-wal`, `-shm` and `-journal` beside it)         |
| LOCK          | the process id of the server; the directory itself is what its processes lock    |
| TURN, QUEUE   | empty; locked by the process whose turn to write it is, and by the next in line  |
| SHARED        | mapped by all processes: the newest change counter and more (see `shared_state`) |
| RESERVE       | room on the disk that is given back when a store is dropped on a full one        |
| LEASE.*       | empty; each locked by the process that does this background work                 |
| ENCRYPTION    | in an encrypted directory: which key opens it (see `encryption`)                 |

Only hashrange.db and ENCRYPTION carry anything that must survive; the others are made anew.
docs/internals/storage.md describes the whole format.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
from pathlib import Path
from time import monotonic, sleep
from typing import Final, final

import apsw

from hashrange.engine.sqlite.encryption import (
    MARK_NAME,
    NEW_MARK_NAME,
    EncryptionError,
    Opened,
    PageKey,
    open_encryption,
    sync_directory,
    write_mark,
)
from hashrange.engine.sqlite.file_locks import LEASE_PREFIX, PRIVATE_MODE, open_private
from hashrange.engine.sqlite.log_check import find_damage, find_missing_database
from hashrange.engine.sqlite.log_sync import open_file
from hashrange.engine.sqlite.reserve import RESERVE_NAME, Reserve
from hashrange.engine.sqlite.row_sums import checked_columns, columns_sum
from hashrange.engine.sqlite.shared_state import SHARED_STATE_NAME, SharedState
from hashrange.errors import CorruptionError

DATABASE_NAME: Final = "hashrange.db"
LOG_NAME: Final = DATABASE_NAME + "-wal"
NEW_DATABASE_NAME: Final = DATABASE_NAME + "-new"
APPLICATION_ID: Final = 0x48524E47
FORMAT_VERSION: Final = 3
PAGE_BYTES: Final = 8192
SELECT_META: Final = "SELECT id, counter, layout, sum FROM meta"

_LOCK_NAME: Final = "LOCK"
_JOURNAL_NAME: Final = DATABASE_NAME + "-journal"
_OWN_NAMES: Final = frozenset(
    {DATABASE_NAME, LOG_NAME, _JOURNAL_NAME, DATABASE_NAME + "-shm"}
    | {_LOCK_NAME, "TURN", "QUEUE", SHARED_STATE_NAME, RESERVE_NAME}
    | {MARK_NAME, NEW_MARK_NAME, NEW_DATABASE_NAME}
)
# What a freshly made file system holds.
_IGNORED_NAMES: Final = frozenset({"lost+found"})
_SQLITE_MAGIC: Final = b"SQLite format 3\0"
_BUSY_MILLISECONDS: Final = 5000
# Workers outlive their parent until what they were asked for is done and on disk.
# Longer than a worker takes by default: it has 20 seconds for requests that are under way.
_ENDING_SECONDS_MAX: Final = 30.0
_ENDING_PAUSE_SECONDS: Final = 0.01


class DataDirectoryError(Exception):
    """The data directory cannot be used; the message says why, for people."""


@final
class DirectoryLock:
    """The right to run a server on a directory; held until released or the process ends."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor

    def release(self) -> None:
        """Let go; workers that joined keep the directory until they are closed too."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def wait_for_workers(path: str | os.PathLike[str]) -> None:
    """Wait a little for the workers of a server that was killed, if they are still ending.

    Until they have, they keep its directory, and its port as well.
    """
    directory = Path(path)
    deadline = monotonic() + _ENDING_SECONDS_MAX
    try:
        descriptor = _open_directory(directory)
    except OSError:
        return  # nobody was here, or `acquire_directory` says what is wrong
    try:
        while monotonic() < deadline and not _is_running(_holder(directory)):
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            sleep(_ENDING_PAUSE_SECONDS)
    finally:
        os.close(descriptor)


def acquire_directory(
    path: str | os.PathLike[str],
    *,
    vfs: str | None = None,
    accepts_damaged_log: bool = False,
    accepts_interrupted: bool = False,
    server_key: bytes | None = None,
) -> DirectoryLock:
    """Make or check the data directory and lock it for this server.

    Called once by the parent process, before any worker opens the engine. Nothing is created in
    a directory that is refused. The directory itself is locked, not a file in it, since a file
    could be deleted and made again. `accepts_interrupted` is about encryption (see there).
    """
    directory = Path(path).absolute()
    try:
        _make_directory(directory)
        descriptor = _open_directory(directory)
    except OSError as error:
        raise DataDirectoryError(_not_usable(directory, error)) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        opened = open_encryption(
            directory / DATABASE_NAME, server_key, accepts_interrupted=accepts_interrupted
        )
        _check_ownership(directory, opened)
        _make_private(directory, descriptor)
        _note_process(directory)
        _begin_encryption(directory, opened)
        with SharedState(directory) as shared:
            if shared.is_damaged():
                _mend_log(directory, vfs)
            known = None if accepts_damaged_log else shared
            counter = _prepare_database(directory, vfs, known, opened.page_key)
            shared.reset(counter)
        Reserve(directory).take()
        # From here on workers may join; a second server still finds the lock taken.
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BaseException as error:
        os.close(descriptor)
        raise _refusal(directory, error) from error
    return DirectoryLock(directory, descriptor)


def _refusal(directory: Path, error: BaseException) -> BaseException:
    """Return the error to raise when a directory cannot be used."""
    if isinstance(error, BlockingIOError):
        return DataDirectoryError(_taken(directory))
    if isinstance(error, OSError):
        return DataDirectoryError(_not_usable(directory, error))
    if isinstance(error, apsw.Error | CorruptionError | EncryptionError):
        return DataDirectoryError(f"Cannot use data directory {directory}: {error}.")
    return error


def join_directory(path: str | os.PathLike[str]) -> DirectoryLock:
    """Enter a directory that `acquire_directory` prepared, as one more process of its server."""
    directory = Path(path).absolute()
    try:
        if not (directory / DATABASE_NAME).exists():
            raise DataDirectoryError(f"Data directory {directory} has not been prepared.")
        descriptor = _open_directory(directory)
    except OSError as error:
        raise DataDirectoryError(_not_usable(directory, error)) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        raise DataDirectoryError(_taken(directory)) from error
    return DirectoryLock(directory, descriptor)


def _make_directory(directory: Path) -> None:
    if not directory.exists():
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        sync_directory(directory.parent)


def _open_directory(directory: Path) -> int:
    return os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


def _own_files(directory: Path) -> list[Path]:
    names = os.listdir(directory)
    own = [name for name in names if name in _OWN_NAMES or name.startswith(LEASE_PREFIX)]
    return [directory / name for name in own]


def _make_private(directory: Path, descriptor: int) -> None:
    """Let nobody but the owner read the directory and our files; make an empty database.

    SQLite gives its other files the mode of the database.
    """
    if os.fstat(descriptor).st_uid == os.geteuid():
        os.fchmod(descriptor, 0o700)
    for file in [*_own_files(directory), directory / DATABASE_NAME]:
        # Opening and closing disturbs no lock of SQLite's: nobody has the directory but us.
        file_descriptor = open_private(file)
        try:
            if os.fstat(file_descriptor).st_uid == os.geteuid():
                os.fchmod(file_descriptor, PRIVATE_MODE)
        finally:
            os.close(file_descriptor)


def _begin_encryption(directory: Path, opened: Opened) -> None:
    """Mark a directory that is to be encrypted; remove what an interrupted conversion left."""
    if opened.new_mark is not None:
        write_mark(directory, opened.new_mark)
    for name in (NEW_DATABASE_NAME, NEW_MARK_NAME):
        (directory / name).unlink(missing_ok=True)


def _check_ownership(directory: Path, opened: Opened) -> None:
    """Refuse a directory or database that some other program made, or a newer release."""
    database = directory / DATABASE_NAME
    for file in _own_files(directory):
        if not stat.S_ISREG(file.lstat().st_mode):
            raise DataDirectoryError(
                f"{file} is not a plain file. Links are not followed in a data directory."
            )
    missing = find_missing_database(database, directory / LOG_NAME)
    if missing is not None:
        raise DataDirectoryError(missing)
    if not database.exists():
        names = {name for name in os.listdir(directory) if not name.startswith(LEASE_PREFIX)}
        foreign = sorted(names - _OWN_NAMES - _IGNORED_NAMES)
        if foreign:
            raise DataDirectoryError(
                f"Directory {directory} is not a Hashrange data directory and is not empty "
                f"(it holds {foreign[0]}). Name an empty or new directory."
            )
        return
    if (directory / _JOURNAL_NAME).exists():
        # A journal means that power was lost while the file was being made: SQLite will repair
        # it, and `_prepare_database` looks again.
        return
    with database.open("rb") as content:
        header = content.read(100)
    if not header or opened.page_key is not None:
        # Encrypted pages are looked at by `_prepare_database`. With none at all, power was lost
        # before the first transaction: nothing was ever stored here.
        return
    if header[:16] != _SQLITE_MAGIC or int.from_bytes(header[68:72], "big") != APPLICATION_ID:
        raise DataDirectoryError(_not_ours(database))
    _check_format(directory, int.from_bytes(header[60:64], "big"))


def _check_format(directory: Path, version: int) -> None:
    if version < FORMAT_VERSION:
        raise DataDirectoryError(
            f"Data directory {directory} has format version {version}, written by an older "
            f"release of Hashrange; this one reads version {FORMAT_VERSION} only. Run that "
            "release and copy the tables to a new directory."
        )
    if version > FORMAT_VERSION:
        raise DataDirectoryError(
            f"Data directory {directory} has format version {version}, written by a newer "
            f"release of Hashrange; this one reads up to {FORMAT_VERSION}. Upgrade Hashrange."
        )


def _mend_log(directory: Path, vfs: str | None) -> None:
    """Write the log once more, of which parts may be missing on disk, before it is relied upon."""
    with contextlib.suppress(FileNotFoundError):
        os.stat(directory / LOG_NAME)
        file = open_file(str(directory / LOG_NAME), vfs or "unix", apsw.SQLITE_OPEN_WAL)
        try:
            file.rewrite()
            file.sync()
        finally:
            file.close()


def _prepare_database(
    directory: Path, vfs: str | None, shared: SharedState | None, page_key: PageKey | None
) -> int:
    """Create the database if it is not there; return its change counter.

    What is shared tells how much of the log there should be; None accepts any.
    """
    log = directory / LOG_NAME
    has_log = log.exists() and log.stat().st_size > 0
    connection = apsw.Connection(str(directory / DATABASE_NAME), vfs=vfs)
    try:
        if page_key is not None:
            page_key.apply(connection)
        connection.set_busy_timeout(_BUSY_MILLISECONDS)
        # A rollback journal that came back after its deletion would undo what followed, so this
        # connection syncs the directory whenever it deletes one.
        connection.pragma("synchronous", "extra")
        if connection.pragma("application_id") != APPLICATION_ID:
            if connection.execute("SELECT count(*) FROM sqlite_schema").get:
                raise DataDirectoryError(_not_ours(directory / DATABASE_NAME))
            _create_database(connection)
            sync_directory(directory)
        elif shared is not None:
            _check_log(connection, log, has_log, shared)
        connection.pragma("journal_mode", "wal")
        _check_format(directory, connection.pragma("user_version"))
        row = connection.execute(SELECT_META).get
        if row is None:
            # A disk that lost what it said was written can leave anything here.
            raise DataDirectoryError(f"The database in {directory} has lost its meta row.")
        if shared is None:
            return 0  # for a repair, which has yet to look at this row; workers read it themselves
        counter, _ = checked_columns("meta", row, 2)
        return counter
    finally:
        connection.close()


def _check_log(connection: apsw.Connection, log: Path, has_log: bool, shared: SharedState) -> None:
    """Refuse a log that has lost commits, and leave it as it is."""
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    if shared.expects_log() and not has_log:
        # Unless another program of SQLite's moved it into the database; nothing tells.
        damage: str | None = "it is missing"
    else:
        damage = find_damage(connection, log, shared)
    if damage is not None:
        raise DataDirectoryError(
            f"The write-ahead log {log} has lost commits: {damage}. Bring it back from a copy. "
            f"`hashrange repair {log.parent}` goes on without what is lost; it keeps a copy."
        )
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)


def _create_database(connection: apsw.Connection) -> None:
    connection.pragma("page_size", PAGE_BYTES)
    connection.pragma("auto_vacuum", 0)
    # One transaction with a rollback journal, so that a crash leaves either nothing or all of it.
    connection.execute(
        f"""
        BEGIN EXCLUSIVE;
        CREATE TABLE meta(
            id INTEGER PRIMARY KEY CHECK(id = 0),
            counter INTEGER NOT NULL,
            layout INTEGER NOT NULL,
            sum INTEGER NOT NULL,
            fence INTEGER NOT NULL
        );
        INSERT INTO meta(id, counter, layout, sum, fence)
            VALUES(0, 0, 0, {columns_sum(0, 0, 0)}, 0);
        CREATE TABLE spaces(
            space TEXT PRIMARY KEY NOT NULL,
            version INTEGER NOT NULL,
            sequence INTEGER NOT NULL,
            sum INTEGER NOT NULL
        ) WITHOUT ROWID;
        CREATE TABLE tallies(
            store TEXT PRIMARY KEY NOT NULL,
            rows INTEGER NOT NULL,
            bytes INTEGER NOT NULL,
            sum INTEGER NOT NULL
        ) WITHOUT ROWID;
        PRAGMA application_id = {APPLICATION_ID};
        PRAGMA user_version = {FORMAT_VERSION};
        COMMIT;
        """
    )


def _note_process(directory: Path) -> None:
    """Write down which process has the directory."""
    descriptor = open_private(directory / _LOCK_NAME)
    try:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
    finally:
        os.close(descriptor)
    sync_directory(directory)


def _not_ours(database: Path) -> str:
    return f"{database} is not a Hashrange database. It was left untouched."


def _holder(directory: Path) -> int:
    """Return the process that locked the directory last, or 0 while it has not said so."""
    try:
        return int((directory / _LOCK_NAME).read_text())
    except (OSError, ValueError):
        return 0


def _is_running(process: int) -> bool:
    if process <= 0:
        return False
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass  # it is somebody else's
    return True


def _taken(directory: Path) -> str:
    process = _holder(directory)
    holder = f" (process {process})" if process else ""
    if process and not _is_running(process):
        holder = f" (process {process}, which has ended or runs on another machine)"
    return f"Data directory {directory} is in use by another Hashrange server{holder}."


def _not_usable(directory: Path, error: OSError) -> str:
    return f"Cannot use data directory {directory}: {error.strerror or error}."
