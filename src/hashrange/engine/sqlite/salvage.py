"""Saves what can still be read of a database with damaged pages, as a new database in its place.

A page that is damaged cannot be read at all where pages are encrypted, and may not be readable
where they are not. SQLite then refuses whatever needs that page, dropping its table included. So
everything else is copied to a new database, which takes the name of the old one in one step. The
old one is kept beside the directory. Row ids stay, checksums are copied and not looked at: that is
for the inspection that follows.

Rows are read from both ends of a range of row ids towards the damage; what lies between is halved
and tried again, until single row ids are left or the tries are used up.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections import deque
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from time import strftime
from typing import Any, Final, final

import apsw

from hashrange.engine.sqlite.data_directory import DATABASE_NAME, LOG_NAME, NEW_DATABASE_NAME
from hashrange.engine.sqlite.encryption import (
    EncryptionError,
    PageKey,
    database_uri,
    sync_directory,
)
from hashrange.engine.sqlite.row_sums import columns_sum

# Beyond these, what is left of a table's damaged ranges is given up.
_TRIES_MAX: Final = 10_000
# A range whose end is damaged has no known end. Pieces of it begin with this many row ids.
_PIECE: Final = 1 << 12
_GAPS_SAID_MAX: Final = 20
_STORE: Final = "store_"
_NUMBERS: Final = ("application_id", "user_version")
_LAST_ROWID: Final = (1 << 63) - 1

Say = Callable[[str], None]
Row = tuple[Any, ...]


def salvage(directory: Path, page_key: PageKey | None, say: Say) -> None:
    """Replace a database by what can be read of it; the lock of the directory is held."""
    database, new = directory / DATABASE_NAME, directory / NEW_DATABASE_NAME
    new.unlink(missing_ok=True)
    try:
        with (
            contextlib.closing(_connect(str(database), page_key)) as source,
            contextlib.closing(apsw.Connection(_address(new, page_key), flags=_FLAGS)) as target,
        ):
            # Nobody sees the new database before it is complete and synced. Its temporary files
            # would be plain, so there are none.
            target.execute("PRAGMA journal_mode = OFF").fetchall()
            target.execute("PRAGMA synchronous = OFF; PRAGMA temp_store = MEMORY")
            _Rescue(source, target, say).run()
        _check_log(database)
        _sync(new)
    except BaseException:
        new.unlink(missing_ok=True)
        raise
    kept = _keep(database)
    os.replace(new, database)
    sync_directory(directory)
    say(f"the database as it was is kept as {kept}")


_FLAGS: Final = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_URI


def _connect(address: str, key: PageKey | None) -> apsw.Connection:
    connection = apsw.Connection(address, flags=apsw.SQLITE_OPEN_READWRITE)
    if key is not None:
        key.apply(connection)
    return connection


def _address(path: Path, key: PageKey | None) -> str:
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    return database_uri(path, key)


def _check_log(database: Path) -> None:
    """Make sure that the old database has no log any more, which would spoil the new one."""
    log = database.with_name(LOG_NAME)
    if log.exists() and log.stat().st_size:
        raise EncryptionError(f"the log {log} is in use by another program")


def _keep(database: Path) -> Path:
    """Give the old database another name, outside of the directory."""
    directory = database.parent.absolute()
    kept = directory.parent / f"{directory.name}-damaged-{strftime('%Y%m%d-%H%M%S')}.db"
    try:
        os.link(database, kept)
    except OSError:
        # Another file system, or one without links.
        descriptor = os.open(kept, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with database.open("rb") as old, os.fdopen(descriptor, "wb") as copy:
            shutil.copyfileobj(old, copy)
    return kept


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@final
class _Rescue:
    """Copies a database, except what cannot be read of it."""

    def __init__(self, source: apsw.Connection, target: apsw.Connection, say: Say) -> None:
        self._source = source
        self._target = target
        self._say = say

    def run(self) -> None:
        read, write = self._source, self._target
        write.execute(f"PRAGMA page_size = {int(read.pragma('page_size'))}")
        write.execute(f"PRAGMA auto_vacuum = {int(read.pragma('auto_vacuum'))}")
        schema = read.execute("SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL")
        made = [(str(kind), str(name), str(sql)) for kind, name, sql in schema.fetchall()]
        with write:
            for kind, name, sql in made:
                if kind == "table":
                    write.execute(sql)
                    if name.startswith(_STORE):
                        self._copy_rows(name)
                    else:
                        self._copy_small(name)
            self._complete_tallies([name for kind, name, _ in made if kind == "table"])
            for kind, _, sql in made:
                if kind == "index":
                    write.execute(sql)
        for name in _NUMBERS:
            write.execute(f"PRAGMA {name} = {int(read.pragma(name))}")
        write.execute("PRAGMA journal_mode = WAL").fetchall()

    def _copy_small(self, table: str) -> None:
        """Copy a table of one page or a few, as far as it can be read."""
        try:
            rows = self._source.execute(f'SELECT * FROM "{table}"').fetchall()
        except apsw.Error:
            if table == "meta":
                raise
            self._say(f"{table} could not be read and is made again")
            return
        for row in rows:
            marks = ", ".join("?" * len(row))
            self._target.execute(f'INSERT INTO "{table}" VALUES({marks})', row)

    def _complete_tallies(self, tables: list[str]) -> None:
        """Add stores that are not among the tallies; their rows are counted later."""
        known = {row[0] for row in self._target.execute("SELECT store FROM tallies")}
        for table in tables:
            store = table.removeprefix(_STORE)
            if table.startswith(_STORE) and store not in known:
                values = (store, columns_sum(store, 0, 0))
                self._target.execute("INSERT INTO tallies VALUES(?, 0, 0, ?)", values)

    def _copy_rows(self, table: str) -> None:
        insert = f'INSERT OR IGNORE INTO "{table}"(rowid, key, sum, value) VALUES(?, ?, ?, ?)'
        rows = _Rows(self._source, table)
        for row in rows.all():
            self._target.execute(insert, row)
        if rows.gaps:
            gaps = _joined(rows.gaps)
            places = ", ".join(f"{first} to {last}" for first, last in gaps[:_GAPS_SAID_MAX])
            self._say(
                f"store {table.removeprefix(_STORE)}: rows with the ids {places} could not be read "
                "and are lost"
            )


@final
class _Rows:
    """The rows of one store that can be read, and ranges of row ids that cannot."""

    def __init__(self, source: apsw.Connection, table: str) -> None:
        self._source = source
        self._select = f'SELECT rowid, key, sum, value FROM "{table}" NOT INDEXED '
        self._tries = 0
        self.gaps: list[tuple[int, int]] = []

    def all(self) -> Iterator[Row]:
        waiting = deque([(0, _LAST_ROWID)])
        while waiting:
            first, last = waiting.popleft()
            above = yield from self._read(first, last, "ASC")
            if above is None:
                continue
            below = yield from self._read(above, last, "DESC")
            if below is None or below < above:
                continue
            if below == above or self._tries >= _TRIES_MAX:
                self.gaps.append((above, below))
                continue
            middle = min((above + below) // 2, above + max(above, _PIECE))
            waiting += [(above, middle), (middle + 1, below)]

    def _read(self, first: int, last: int, order: str) -> Generator[Row, None, int | None]:
        """Yield rows until one cannot be read; return the row id behind the last good one.

        That is None if all could be read.
        """
        edge = first if order == "ASC" else last
        where = f"WHERE rowid BETWEEN ? AND ? ORDER BY rowid {order}"
        self._tries += 1
        try:
            for row in self._source.execute(self._select + where, (first, last)):
                edge = row[0] + (1 if order == "ASC" else -1)
                yield row
        except apsw.Error:
            return edge
        return None


def _joined(gaps: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return ranges in order, those that touch as one."""
    joined: list[tuple[int, int]] = []
    for first, last in sorted(gaps):
        if joined and joined[-1][1] + 1 >= first:
            joined[-1] = (joined[-1][0], last)
        else:
            joined.append((first, last))
    return joined
