"""The embedded engine: SQLite, one table per store, one file for everything.

Writes go through group commit (sqlite_writer). Reads run on the event loop, on a connection of
their own that sees committed rows only; every call is one short read transaction, so no reader
keeps the write-ahead log from being moved into the database. An engine belongs to one event loop
of one process and is opened after any fork; several processes may open the same directory.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Sequence
from typing import Final, final

import apsw

from hashrange.engine.base import Decision, Row, StoreKey
from hashrange.engine.sqlite_connection import (
    Durability,
    StoreStatements,
    is_absent_table,
    open_connection,
    translated,
)
from hashrange.engine.sqlite_files import (
    DataDirectoryError,
    DirectoryLock,
    EpochCell,
    WriteTurn,
    acquire_directory,
    join_directory,
    wait_for_workers,
)
from hashrange.engine.sqlite_log import CHECKPOINT_BYTES, close_connection
from hashrange.engine.sqlite_patience import QUICK_SECONDS, Patience
from hashrange.engine.sqlite_writer import GroupCommit
from hashrange.errors import ConflictError

__all__ = [
    "DataDirectoryError",
    "DirectoryLock",
    "Durability",
    "SqliteEngine",
    "acquire_directory",
    "wait_for_workers",
]

_STORES_REMEMBERED_MAX: Final = 20_000
# SQLite gives up when another process makes or drops stores twice while it prepares a statement.
_SCHEMA_ATTEMPTS_MAX: Final = 100


@final
class SqliteEngine:
    """Stores in a data directory; make one with `open`."""

    def __init__(
        self,
        membership: DirectoryLock,
        durability: Durability,
        checkpoint_bytes: int,
        quick_seconds: float,
        vfs: str | None,
    ) -> None:
        directory = membership.path
        self._membership = membership
        self._closed = False
        self._statements: dict[str, StoreStatements] = {}
        self._turn = WriteTurn(directory)
        self._epoch_cell = EpochCell(directory)
        self._reader = open_connection(directory, durability, read_only=True, vfs=vfs)
        self._share_epoch()
        # One cursor for all point reads: `get` takes the whole result, so none is left half-way.
        self._point = self._reader.cursor()
        self._writer = GroupCommit(
            lambda: open_connection(directory, durability, read_only=False, vfs=vfs),
            self._turn,
            self._epoch_cell,
            patience=Patience(quick_seconds),
            checkpoint_bytes=checkpoint_bytes,
        )

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        durability: Durability = "full",
        checkpoint_bytes: int = CHECKPOINT_BYTES,
        quick_seconds: float = QUICK_SECONDS,
        vfs: str | None = None,
    ) -> SqliteEngine:
        """Open a data directory that `acquire_directory` prepared, in this or a parent process."""
        membership = join_directory(path)
        try:
            return cls(membership, durability, checkpoint_bytes, quick_seconds, vfs)
        except (OSError, apsw.Error) as error:
            membership.release()
            raise DataDirectoryError(f"Cannot open {membership.path}: {error}.") from error

    def epoch(self) -> int:
        return self._epoch_cell.get()

    def sequence(self) -> int:
        return self._epoch_cell.sequence()

    async def read(self, keys: Sequence[StoreKey]) -> list[bytes | None]:
        for _ in range(_SCHEMA_ATTEMPTS_MAX):
            try:
                if len(keys) == 1:
                    store, key = keys[0]
                    return [self._get(store, key)]
                self._reader.execute("BEGIN")
                try:
                    return [self._get(store, key) for store, key in keys]
                finally:
                    self._reader.execute("COMMIT")
            except apsw.SchemaChangeError:
                continue
            except apsw.Error as error:
                raise translated(error) from error
        raise _restless()

    async def range(
        self,
        store: str,
        lower: bytes,
        upper: bytes,
        *,
        reverse: bool,
        rows_max: int,
        bytes_max: int,
    ) -> tuple[list[Row], bool]:
        statements = self._statements.get(store) or self._remember(store)
        statement = statements.descend if reverse else statements.walk
        for _ in range(_SCHEMA_ATTEMPTS_MAX):
            try:
                return self._walk(statement, (lower, upper), rows_max, bytes_max)
            except apsw.SchemaChangeError:
                continue
            except apsw.Error as error:
                if isinstance(error, apsw.SQLError) and is_absent_table(error):
                    return [], True
                raise translated(error) from error
        raise _restless()

    def _walk(
        self, statement: str, bounds: tuple[bytes, bytes], rows_max: int, bytes_max: int
    ) -> tuple[list[Row], bool]:
        page: list[Row] = []
        # A statement left half-way would keep its snapshot, and the log, alive. It ends with its
        # cursor, which nobody else has; closing the cursor would leak 200 bytes (APSW 3.54).
        for row in self._reader.execute(statement, bounds):
            page.append(row)
            bytes_max -= len(row[1])
            if len(page) >= rows_max or bytes_max <= 0:
                return page, False
        return page, True

    async def write(self, decision: Decision) -> object:
        return await self._writer.submit(decision)

    async def tally(self, store: str) -> tuple[int, int]:
        try:
            row = self._reader.execute(
                "SELECT rows, bytes FROM tallies WHERE store = ?", (store,)
            ).get
        except apsw.Error as error:
            raise translated(error) from error
        return (0, 0) if row is None else (row[0], row[1])

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        await self._writer.close()
        # The last process to close moves the log into the database and deletes it. Of two that
        # close at the same moment neither would be the last, so they take turns.
        with contextlib.suppress(OSError):
            await asyncio.get_running_loop().run_in_executor(None, self._turn.take)
        close_connection(self._reader, self._epoch_cell)
        self._turn.close()
        self._epoch_cell.close()
        self._membership.release()

    def _share_epoch(self) -> None:
        """Repair what is shared, in case a process died between its commit and sharing it."""
        self._turn.take()
        try:
            epoch, sequence = self._reader.execute("SELECT epoch, sequence FROM meta").get
            self._epoch_cell.set(epoch)
            self._epoch_cell.set_sequence(sequence)
        finally:
            self._turn.give()

    def _get(self, store: str, key: bytes) -> bytes | None:
        statements = self._statements.get(store) or self._remember(store)
        try:
            value: bytes | None = self._point.execute(statements.get, (key,)).get
        except apsw.SQLError as error:
            if is_absent_table(error):
                return None
            raise
        return value

    def _remember(self, store: str) -> StoreStatements:
        if len(self._statements) >= _STORES_REMEMBERED_MAX:
            self._statements.clear()
        statements = self._statements[store] = StoreStatements(store)
        return statements


def _restless() -> ConflictError:
    return ConflictError("the stores kept changing while they were to be read")
