"""Connections to the SQLite file, the SQL of a store, and the translation of SQLite's errors."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, Literal, final

import apsw

from hashrange.engine.base import space_of
from hashrange.engine.sqlite.data_directory import DATABASE_NAME
from hashrange.engine.sqlite.encryption import PageKey
from hashrange.engine.sqlite.row_sums import seed_of
from hashrange.errors import ConflictError, CorruptionError, EngineError, StorageFullError

Durability = Literal["full", "relaxed"]
"""What an acknowledged write survives.

full: loss of power; every commit waits for the disk. relaxed: the end of the process by any means,
kill -9 included; loss of power may take the newest commits, whole ones and newest first, and never
damages the file.
"""

STATEMENTS_CACHED_MAX: Final = 1000
# Processes take turns, so only a foreign program on the same file can make us wait.
_BUSY_MILLISECONDS: Final = 2000
_CACHE_KIBIBYTES: Final = 8 * 1024
# Reads are a third faster where the file is mapped; writes are not.
_MAPPED_BYTES_MAX: Final = 64 << 20
_DECRYPTED_KIBIBYTES: Final = 32 * 1024
_JOURNAL_BYTES_KEPT: Final = 256 << 20
_STORE_NAME: Final = re.compile(r"[a-z0-9_]{1,200}(\.[a-z0-9_]{1,200})?")


def open_connection(
    directory: Path,
    *,
    syncs_commits: bool,
    read_only: bool,
    vfs: str | None = None,
    page_key: PageKey | None = None,
) -> apsw.Connection:
    """Open the database of a prepared data directory.

    With `syncs_commits` COMMIT waits for the disk. In any case the log is synced before it is moved
    into the database.
    """
    connection = apsw.Connection(
        str(directory / DATABASE_NAME),
        flags=apsw.SQLITE_OPEN_READWRITE,
        vfs=vfs,
        statementcachesize=STATEMENTS_CACHED_MAX,
    )
    cache_kibibytes, mapped_bytes = _CACHE_KIBIBYTES, _MAPPED_BYTES_MAX if read_only else 0
    if page_key is not None:
        page_key.apply(connection)
        # Encrypted pages cannot be mapped; those that were decrypted are kept instead.
        mapped_bytes = 0
        if read_only:
            cache_kibibytes = _DECRYPTED_KIBIBYTES
    connection.set_busy_timeout(_BUSY_MILLISECONDS)
    # Checkpoints are made by the writer when it suits (see GroupCommit), never inside COMMIT.
    connection.execute(
        f"""
        PRAGMA synchronous = {"FULL" if syncs_commits else "NORMAL"};
        PRAGMA fullfsync = ON;
        PRAGMA wal_autocheckpoint = 0;
        PRAGMA journal_size_limit = {_JOURNAL_BYTES_KEPT};
        PRAGMA cache_size = -{cache_kibibytes};
        PRAGMA mmap_size = {mapped_bytes};
        PRAGMA secure_delete = OFF;
        PRAGMA query_only = {"ON" if read_only else "OFF"};
        """
    ).fetchall()  # some of them answer with a row, and what follows a row left unread is not run
    return connection


@final
class StoreStatements:
    """The SQL of one store: constant texts, so that SQLite's statement cache knows them."""

    __slots__ = (
        "append",
        "create",
        "delete",
        "descend",
        "follower",
        "get",
        "get_or_follower",
        "name",
        "predecessor",
        "put",
        "seed",
        "space",
        "table",
        "walk",
    )

    def __init__(self, store: str) -> None:
        if _STORE_NAME.fullmatch(store) is None:
            raise EngineError(f"not a store name: {store!r}")
        self.name = store
        self.seed = seed_of(store)
        self.space = space_of(store)
        table = self.table = f'"store_{store}"'
        # The sum stands before the value, so that it is read without what follows of a large one.
        self.create = (
            f"CREATE TABLE {table}(key BLOB NOT NULL, sum INTEGER NOT NULL, value BLOB NOT NULL)"
        )
        self.get = f"SELECT value, sum FROM {table} WHERE key = ?"
        self.append = f"INSERT INTO {table}(key, sum, value) VALUES(?, ?, ?)"
        update = "DO UPDATE SET sum = excluded.sum, value = excluded.value"
        self.put = f"{self.append} ON CONFLICT(key) {update}"
        self.delete = f"DELETE FROM {table} WHERE key = ?"
        head = f"SELECT key, sum FROM {table} WHERE key"
        self.predecessor = f"{head} < ? ORDER BY key DESC LIMIT 1"
        self.follower = f"{head} >= ? ORDER BY key LIMIT 1"
        # A range and, without their values, the entries beside it.
        before = f"SELECT key FROM {table} WHERE key < ?1 ORDER BY key DESC LIMIT 1"
        after = f"SELECT key FROM {table} WHERE key >= ?2 ORDER BY key LIMIT 1"
        columns = "key, CASE WHEN key >= ?1 AND key < ?2 THEN value END, sum"
        self.walk = (
            f"SELECT {columns} FROM {table} WHERE key >= ifnull(({before}), x'') ORDER BY key"
        )
        self.descend = (
            f"SELECT {columns} FROM {table} WHERE key <= ifnull(({after}), ?2) ORDER BY key DESC"
        )
        # The value of a follower is not wanted, and may be large.
        self.get_or_follower = (
            f"SELECT key, sum, CASE WHEN key = ?1 THEN value END FROM {table} "
            "WHERE key >= ?1 ORDER BY key LIMIT 1"
        )

    def index(self, name: str) -> str:
        """Return the SQL that makes the index; its name is in use once in the database.

        It can be dropped without the table, which one of a UNIQUE constraint cannot.
        """
        return f'CREATE UNIQUE INDEX "key_{name}" ON {self.table}(key)'


def is_absent_table(error: apsw.SQLError) -> bool:
    """Tell whether a statement failed because its store does not exist."""
    return "no such table" in str(error)


def translated(error: Exception) -> Exception:
    """Return the error of the engine contract for one that SQLite raised."""
    if isinstance(error, CorruptionError):
        return error
    text = f"{type(error).__name__}: {error}"
    if isinstance(error, apsw.FullError):
        return StorageFullError(text)
    if isinstance(error, apsw.CorruptError | apsw.NotADBError | UnicodeDecodeError):
        return CorruptionError(text)
    if isinstance(error, apsw.BusyError | apsw.LockedError):
        return ConflictError(text)
    return EngineError(text)


def spares_other_decisions(error: Exception) -> bool:
    """Tell whether an error came from one decision's own rows rather than from the storage."""
    if isinstance(error, apsw.TooBigError | apsw.ConstraintError | apsw.MismatchError):
        return True
    return not isinstance(error, apsw.Error | MemoryError)
