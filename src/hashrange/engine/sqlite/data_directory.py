"""The data directory of the SQLite engine: its files, its format version and its locks.

| file          | content                                                                          |
|---------------|----------------------------------------------------------------------------------|
| hashrange.db  | the database (with SQLite's own `-wal`, `-shm` and `-journal` beside it)         |
| LOCK          | held by every process of the server that owns the directory; its process id      |
| TURN, QUEUE   | empty; locked by the process whose turn to write it is, and by the next in line  |
| SHARED        | mapped by all processes: the newest change counter and more (see `shared_state`) |
| LEASE.*       | empty; each locked by the process that does this background work                 |

Only hashrange.db carries anything that must survive; the other files are made anew when missing.
docs/internals/storage.md describes the whole format.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from pathlib import Path
from time import monotonic, sleep
from typing import Final, final

import apsw

from hashrange.engine.sqlite.log_sync import open_file
from hashrange.engine.sqlite.shared_state import SHARED_STATE_NAME, SharedState

DATABASE_NAME: Final = "hashrange.db"
LOG_NAME: Final = DATABASE_NAME + "-wal"
APPLICATION_ID: Final = 0x48524E47
FORMAT_VERSION: Final = 3
PAGE_BYTES: Final = 8192

_LOCK_NAME: Final = "LOCK"
_LEASE_PREFIX: Final = "LEASE."
_JOURNAL_NAME: Final = DATABASE_NAME + "-journal"
_OWN_NAMES: Final = frozenset(
    {DATABASE_NAME, LOG_NAME, _JOURNAL_NAME, DATABASE_NAME + "-shm"}
    | {_LOCK_NAME, "TURN", "QUEUE", SHARED_STATE_NAME}
)
# What a freshly made file system holds.
_IGNORED_NAMES: Final = frozenset({"lost+found"})
_SQLITE_MAGIC: Final = b"SQLite format 3\0"
_BUSY_MILLISECONDS: Final = 5000
# Workers outlive their parent until what they were asked for is done and on disk.
_ENDING_SECONDS_MAX: Final = 10.0
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
        descriptor = os.open(directory / _LOCK_NAME, os.O_RDWR | os.O_CLOEXEC)
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


def acquire_directory(path: str | os.PathLike[str], *, vfs: str | None = None) -> DirectoryLock:
    """Make or check the data directory and lock it for this server.

    Called once by the parent process, before any worker opens the engine. Nothing is created in
    a directory that is refused.
    """
    directory = Path(path).absolute()
    try:
        _make_directory(directory)
        if not (directory / _LOCK_NAME).exists():
            # No server can be running here, so reading the file disturbs no lock of SQLite's.
            _check_ownership(directory)
        descriptor = _open_file(directory / _LOCK_NAME)
    except OSError as error:
        raise DataDirectoryError(_not_usable(directory, error)) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _check_ownership(directory)
        _note_process(directory, descriptor)
        with SharedState(directory) as shared:
            if shared.is_damaged():
                _mend_log(directory, vfs)
            shared.reset(_prepare_database(directory, vfs))
        # From here on workers may join; a second server still finds the lock taken.
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(descriptor)
        raise DataDirectoryError(_taken(directory)) from error
    except OSError as error:
        os.close(descriptor)
        raise DataDirectoryError(_not_usable(directory, error)) from error
    except apsw.Error as error:
        os.close(descriptor)
        raise DataDirectoryError(f"Cannot use data directory {directory}: {error}.") from error
    except DataDirectoryError:
        os.close(descriptor)
        raise
    return DirectoryLock(directory, descriptor)


def join_directory(path: str | os.PathLike[str]) -> DirectoryLock:
    """Enter a directory that `acquire_directory` prepared, as one more process of its server."""
    directory = Path(path).absolute()
    try:
        if not (directory / DATABASE_NAME).exists():
            raise DataDirectoryError(f"Data directory {directory} has not been prepared.")
        descriptor = _open_file(directory / _LOCK_NAME)
    except OSError as error:
        raise DataDirectoryError(_not_usable(directory, error)) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        raise DataDirectoryError(_taken(directory)) from error
    return DirectoryLock(directory, descriptor)


@final
class WriteTurn:
    """Lets the processes of one server write in turns, waiting without polling.

    Two file locks make it fair: a process that wants the turn takes the QUEUE lock and keeps it
    while waiting for TURN. A process that has just written finds QUEUE taken when another one
    waits, so it cannot push in front.
    """

    def __init__(self, directory: Path) -> None:
        self._queue = _open_file(directory / "QUEUE")
        self._turn = _open_file(directory / "TURN")

    def try_take(self) -> bool:
        """Take the turn if no process has it or waits for it."""
        try:
            fcntl.flock(self._queue, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        try:
            fcntl.flock(self._turn, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        finally:
            fcntl.flock(self._queue, fcntl.LOCK_UN)
        return True

    def take(self) -> None:
        """Wait for the turn; blocks the calling thread."""
        fcntl.flock(self._queue, fcntl.LOCK_EX)
        try:
            fcntl.flock(self._turn, fcntl.LOCK_EX)
        finally:
            fcntl.flock(self._queue, fcntl.LOCK_UN)

    def give(self) -> None:
        """Give the turn back."""
        fcntl.flock(self._turn, fcntl.LOCK_UN)

    def close(self) -> None:
        os.close(self._queue)
        os.close(self._turn)


@final
class FileLease:
    """A lease: a file lock, which ends with the process that holds it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.is_held = True

    async def release(self) -> None:
        if self.is_held:
            self.is_held = False
            os.close(self._descriptor)


def take_lease(directory: Path, name: str) -> FileLease | None:
    """Take a lease, unless it is taken."""
    descriptor = _open_file(directory / (_LEASE_PREFIX + name))
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        if isinstance(error, BlockingIOError):
            return None
        raise
    return FileLease(descriptor)


def _make_directory(directory: Path) -> None:
    if not directory.exists():
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        _sync_directory(directory.parent)


def _check_ownership(directory: Path) -> None:
    """Refuse a directory or database that some other program made, or a newer release."""
    database = directory / DATABASE_NAME
    if not database.exists():
        names = {name for name in os.listdir(directory) if not name.startswith(_LEASE_PREFIX)}
        foreign = sorted(names - _OWN_NAMES - _IGNORED_NAMES)
        if foreign:
            raise DataDirectoryError(
                f"Directory {directory} is not a Hashrange data directory and is not empty "
                f"(it holds {foreign[0]}). Name an empty or new directory."
            )
        return
    if not database.is_file() or (directory / _JOURNAL_NAME).exists():
        # A journal means that power was lost while the file was being made: SQLite will repair
        # it, and `_prepare_database` looks again.
        return
    with database.open("rb") as file:
        header = file.read(100)
    if not header:
        # Power was lost before the first transaction: nothing was ever stored here.
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
    """Write the log again before using it, since parts of it may be missing on disk."""
    with contextlib.suppress(FileNotFoundError):
        os.stat(directory / LOG_NAME)
        file = open_file(str(directory / LOG_NAME), vfs or "unix", apsw.SQLITE_OPEN_WAL)
        try:
            file.rewrite()
            file.sync()
        finally:
            file.close()


def _prepare_database(directory: Path, vfs: str | None) -> int:
    """Create the database if it is not there; return its change counter."""
    connection = apsw.Connection(str(directory / DATABASE_NAME), vfs=vfs)
    try:
        connection.set_busy_timeout(_BUSY_MILLISECONDS)
        # A rollback journal that came back after its deletion would undo what followed, so this
        # connection syncs the directory whenever it deletes one.
        connection.pragma("synchronous", "extra")
        if connection.pragma("application_id") != APPLICATION_ID:
            if connection.execute("SELECT count(*) FROM sqlite_schema").get:
                raise DataDirectoryError(_not_ours(directory / DATABASE_NAME))
            _create_database(connection)
            _sync_directory(directory)
        connection.pragma("journal_mode", "wal")
        _check_format(directory, connection.pragma("user_version"))
        match connection.execute("SELECT counter FROM meta").get:
            case int(counter):
                return counter
        # A disk that lost what it said was written can leave anything here.
        raise DataDirectoryError(f"The database in {directory} has lost its meta row.")
    finally:
        connection.close()


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
            fence INTEGER NOT NULL
        );
        INSERT INTO meta(id, counter, layout, fence) VALUES(0, 0, 0, 0);
        CREATE TABLE spaces(
            space TEXT PRIMARY KEY NOT NULL,
            version INTEGER NOT NULL,
            sequence INTEGER NOT NULL
        ) WITHOUT ROWID;
        CREATE TABLE tallies(
            store TEXT PRIMARY KEY NOT NULL,
            rows INTEGER NOT NULL,
            bytes INTEGER NOT NULL
        ) WITHOUT ROWID;
        PRAGMA application_id = {APPLICATION_ID};
        PRAGMA user_version = {FORMAT_VERSION};
        COMMIT;
        """
    )


def _note_process(directory: Path, descriptor: int) -> None:
    """Write down which process has the directory."""
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
    _sync_directory(directory)


def _open_file(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


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
        pass  # it belongs to another process
    return True


def _taken(directory: Path) -> str:
    process = _holder(directory)
    holder = f" (process {process})" if process else ""
    if process and not _is_running(process):
        holder = f" (process {process}, which has ended or runs on another machine)"
    return f"Data directory {directory} is in use by another Hashrange server{holder}."


def _not_usable(directory: Path, error: OSError) -> str:
    return f"Cannot use data directory {directory}: {error.strerror or error}."
