"""The embedded engine: SQLite, one table per store, one file for everything.

Writes go through group commit (group_commit). Reads run on the event loop, on a connection of
their own that sees committed rows only; every call is one short read transaction, so no reader
keeps the write-ahead log from being moved into the database. An engine belongs to one event loop
of one process and is opened after any fork; several processes may open the same directory.
Engines that know of each other write together (log_sync): then rows can be seen a moment before
the disk has them, and whoever read them waits for that.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Sequence
from functools import partial
from typing import Final, final

import apsw

from hashrange.engine.base import (
    STRONG,
    Capabilities,
    Changes,
    Decision,
    Fence,
    Lease,
    Row,
    RowKey,
)
from hashrange.engine.sqlite.checkpoints import CHECKPOINT_BYTES, Checkpoints, close_connection
from hashrange.engine.sqlite.commit_policy import QUICK_SECONDS, CommitPolicy
from hashrange.engine.sqlite.connection import (
    Durability,
    open_connection,
    translated,
)
from hashrange.engine.sqlite.data_directory import (
    DATABASE_NAME,
    LOG_NAME,
    SELECT_META,
    DataDirectoryError,
    DirectoryLock,
    acquire_directory,
    join_directory,
    wait_for_workers,
)
from hashrange.engine.sqlite.dropped_stores import FreePiece, has_dropped_stores
from hashrange.engine.sqlite.encryption import EncryptionError, open_encryption
from hashrange.engine.sqlite.file_locks import (
    CHECKPOINT_LOCK_NAME,
    WriteTurn,
    open_private,
    take_lease,
)
from hashrange.engine.sqlite.group_commit import GroupCommit
from hashrange.engine.sqlite.layout import SELECT_TALLY
from hashrange.engine.sqlite.log_check import LogMark
from hashrange.engine.sqlite.log_sync import LogSync, open_file
from hashrange.engine.sqlite.reserve import Reserve
from hashrange.engine.sqlite.row_reads import RangeRead, RowReader
from hashrange.engine.sqlite.row_sums import checked_columns
from hashrange.engine.sqlite.shared_state import SharedState
from hashrange.engine.sqlite.watchers import Watchers
from hashrange.errors import ConflictError, CorruptionError, EngineError, UnknownOutcomeError

__all__ = [
    "DataDirectoryError",
    "DirectoryLock",
    "Durability",
    "SqliteEngine",
    "acquire_directory",
    "wait_for_workers",
]

# SQLite gives up when another process makes or drops stores twice while it prepares a statement.
_SCHEMA_ATTEMPTS_MAX: Final = 100
# For so many turns of the event loop a reader looks whether a quick disk has what it read, before
# it sees to that itself.
_LOOKS_MAX: Final = 300


@final
class _Nothing:
    """A decision to change nothing, which is answered once the disk has all commits before it."""

    fences: Sequence[Fence] = ()
    keys: Sequence[RowKey] = ()

    def decide(self, _rows: Sequence[bytes | None]) -> Changes:
        return Changes()


@final
class SqliteEngine:
    """Stores in a data directory; make one with `open`. Every space has one shard."""

    capabilities = Capabilities(
        atomic_across_shards=True, indexes_in_step=True, snapshot_reads=True, local_files=True
    )

    def __init__(
        self,
        membership: DirectoryLock,
        durability: Durability,
        writes_together: bool,
        checkpoint_bytes: int,
        quick_seconds: float,
        vfs: str | None,
        server_key: bytes | None,
    ) -> None:
        directory = membership.path
        page_key = open_encryption(directory / DATABASE_NAME, server_key).page_key
        syncs_apart = writes_together and durability == "full"
        syncs_commits = durability == "full" and not syncs_apart
        connect = partial(
            open_connection, directory, syncs_commits=syncs_commits, vfs=vfs, page_key=page_key
        )
        self._membership = membership
        self._closed = False
        self._turn = WriteTurn(directory)
        self._shared = SharedState(directory)
        self._reader = connect(read_only=True)
        self._share_counter()
        self._rows = RowReader(self._reader)
        self._policy = CommitPolicy(quick_seconds)
        self._watchers = Watchers(self._shared)
        self._reserve = Reserve(directory)
        self._leases: dict[str, Lease] = {}
        vfs = self._reader.open_vfs
        database, log = str(directory / DATABASE_NAME), str(directory / LOG_NAME)
        self._database = open_file(database, vfs, apsw.SQLITE_OPEN_MAIN_DB)
        self._log_sync: LogSync | None = None
        if syncs_apart:
            self._log_sync = LogSync(open_file(log, vfs, apsw.SQLITE_OPEN_WAL), self._shared)
        connect_writer = partial(connect, read_only=False)
        self._checkpoints = Checkpoints(
            connect_writer,
            self._database,
            self._shared,
            checkpoint_bytes,
            open_private(directory / CHECKPOINT_LOCK_NAME),
        )
        self._writer = GroupCommit(
            connect_writer,
            self._turn,
            self._shared,
            policy=self._policy,
            checkpoints=self._checkpoints,
            log_sync=self._log_sync,
            log_mark=LogMark(directory / LOG_NAME, self._shared) if durability == "full" else None,
            reserve=self._reserve,
        )

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        durability: Durability = "full",
        writes_together: bool = False,
        checkpoint_bytes: int = CHECKPOINT_BYTES,
        quick_seconds: float = QUICK_SECONDS,
        vfs: str | None = None,
        server_key: bytes | None = None,
    ) -> SqliteEngine:
        """Open a data directory that `acquire_directory` prepared, in this or a parent process.

        Where several processes write at the same time, `writes_together` lets them share the time
        of the disk; then all engines of the directory must have it. An encrypted directory needs
        the key of the server.
        """
        membership = join_directory(path)
        try:
            return cls(
                membership,
                durability,
                writes_together,
                checkpoint_bytes,
                quick_seconds,
                vfs,
                server_key,
            )
        except (OSError, apsw.Error, CorruptionError, EncryptionError) as error:
            membership.release()
            raise DataDirectoryError(f"Cannot open {membership.path}: {error}.") from error

    def counter(self) -> int:
        return self._shared.counter()

    async def read(self, keys: Sequence[RowKey], consistency: int) -> list[bytes | None]:
        rows = self._read(keys)
        if self._log_sync is not None:
            newest = self._shared.newest_commit(keys)
            if newest > self._shared.synced():
                await self._until_synced(newest)
        return rows

    async def read_together(self, keys: Sequence[RowKey]) -> list[bytes | None]:
        return await self.read(keys, STRONG)

    async def read_versions(self, keys: Sequence[RowKey]) -> list[tuple[bytes | None, int]]:
        raise EngineError("an engine with snapshot_reads keeps no versions of rows")

    def _read(self, keys: Sequence[RowKey]) -> list[bytes | None]:
        for _ in range(_SCHEMA_ATTEMPTS_MAX):
            try:
                if len(keys) == 1:
                    store, _, key = keys[0]
                    return [self._rows.get(store, key)]
                self._reader.execute("BEGIN")
                try:
                    return [self._rows.get(store, key) for store, _, key in keys]
                finally:
                    self._reader.execute("COMMIT")
            except apsw.SchemaChangeError:
                continue
            except (apsw.Error, UnicodeDecodeError) as error:
                raise translated(error) from error
        raise _restless()

    async def range(
        self,
        store: str,
        shard: int,
        lower: bytes,
        upper: bytes,
        *,
        reverse: bool,
        rows_max: int,
        bytes_max: int,
        consistency: int,
    ) -> tuple[list[Row], bool]:
        page = self._range(store, RangeRead(lower, upper, reverse, rows_max, bytes_max))
        if self._log_sync is not None:
            newest = self._shared.newest_between(lower, upper)
            if newest > self._shared.synced():
                await self._until_synced(newest)
        return page

    def _range(self, store: str, request: RangeRead) -> tuple[list[Row], bool]:
        for _ in range(_SCHEMA_ATTEMPTS_MAX):
            try:
                return self._rows.range(store, request)
            except apsw.SchemaChangeError:
                continue
            except (apsw.Error, UnicodeDecodeError) as error:
                raise translated(error) from error
        raise _restless()

    async def write(self, decision: Decision) -> object:
        return await self._writer.submit(decision)

    async def merge(self, store: str, rows: Sequence[tuple[int, bytes, bytes | None, int]]) -> None:
        raise EngineError("an engine with indexes_in_step has no use for merged rows")

    async def fence(self, space: str, shards: int, version: int) -> None:
        """Do nothing: changes raise versions in their own step."""

    async def tally(self, space: str, shards: int, name: str) -> tuple[int, int]:
        try:
            row = self._reader.execute(SELECT_TALLY, (name,)).get
        except (apsw.Error, UnicodeDecodeError) as error:
            raise translated(error) from error
        rows, size = (0, 0) if row is None else checked_columns("tallies", row, 2)
        if self._log_sync is not None:
            await self._until_synced(self._shared.commit())
        return rows, size

    async def tidy(self) -> bool:
        try:
            if not has_dropped_stores(self._reader):
                self._reserve.take()
                return False
        except apsw.Error as error:
            raise translated(error) from error
        return bool(await self._writer.submit(_FREE_PIECE))

    def appended(self, space: str) -> int:
        return self._shared.appended(space)

    async def watch(self, space: str, seen: int, seconds: float) -> None:
        await self._watchers.wait(space, seen, seconds)

    async def lease(self, name: str, seconds: float) -> Lease | None:
        try:
            lease = take_lease(self._membership.path, name)
        except OSError as error:
            raise EngineError(f"the lease {name} could not be taken: {error}") from error
        if lease is not None:
            self._leases[name] = lease
        return lease

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        await self._watchers.close()
        for lease in self._leases.values():
            await lease.release()
        await self._writer.close()
        self._checkpoints.close()
        # The last process to close moves the log into the database and deletes it. Of two that
        # close at the same moment neither would be the last, so they take turns.
        with contextlib.suppress(OSError):
            await asyncio.get_running_loop().run_in_executor(None, self._turn.take)
        self._shared.forget_log()
        close_connection(self._reader, self._shared)
        if self._log_sync is not None:
            self._log_sync.close()
        self._database.close()
        self._turn.close()
        self._shared.close()
        self._membership.release()

    async def _until_synced(self, number: int) -> None:
        """Wait until the disk has a commit, of this process or another, that a read has seen."""
        looks = _LOOKS_MAX if self._policy.is_quick else 0
        while self._shared.synced() < number:
            if looks <= 0:
                await self._settle()
                return
            looks -= 1
            await asyncio.sleep(0)

    async def _settle(self) -> None:
        try:
            await self._writer.submit(_NOTHING)
        except UnknownOutcomeError as error:
            raise EngineError(f"the disk may not have what was read: {error}") from error

    def _share_counter(self) -> None:
        """Repair what is shared, in case a process died between its commit and sharing it."""
        self._turn.take()
        try:
            row = self._reader.execute(SELECT_META).get
            self._shared.set_counter(checked_columns("meta", row, 2)[0])
        finally:
            self._turn.give()


_NOTHING: Final = _Nothing()
_FREE_PIECE: Final = FreePiece()


def _restless() -> ConflictError:
    return ConflictError("the stores kept changing while they were to be read")
