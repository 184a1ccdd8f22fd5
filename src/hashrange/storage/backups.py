"""The list of backups, shared by all processes.

backup row := BackupRecord as JSON          under "k" account 0 region 0 id 0 table, in the catalog

Ids begin with a time, so a page of ListBackups is a range. The backup that a table leaves is added
in the step that deletes the table. The list is what this server knows of
its backups; a backup in files can be restored without it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Final, final

from hashrange.engine.base import STRONG, Changes, Engine, Fence, RowKey
from hashrange.model.backups import BackupRecord, unpack_backup
from hashrange.model.keys import successor
from hashrange.storage.catalog import STORE
from hashrange.storage.settled_writes import write_surely

_PAGE_ROWS: Final = 100
_PAGE_BYTES: Final = 4 << 20

Editor = Callable[[BackupRecord], BackupRecord | None]
"""A pure function from a record to what shall be in its place; None forgets it."""


@final
class BackupStore:
    """The backups of all accounts and regions."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def add(self, backup: BackupRecord) -> None:
        """Add a backup to the list."""
        await write_surely(self._engine, _Addition(backup))

    async def find(self, account: str, region: str, id: str, table: str) -> BackupRecord | None:
        """Return a backup."""
        key = _key(account, region, id, table)
        (row,) = await self._engine.read([(STORE, 0, key)], STRONG)
        return None if row is None else unpack_backup(row)

    async def change(self, backup: BackupRecord, edit: Editor) -> bool:
        """Change a backup, or forget it; tell whether it was there."""
        changed = await write_surely(self._engine, _Change(backup, edit))
        return bool(changed)

    async def walk(self, *world: str, after: str = "") -> AsyncIterator[BackupRecord]:
        """Yield the backups of an account and region behind an id and table, or all."""
        prefix = b"k" + "".join(f"{name}\x00" for name in world).encode()
        upper = successor(prefix)
        lower = prefix + after.encode() + b"\x00" if after else prefix
        while True:
            rows, ended = await self._engine.range(
                STORE,
                0,
                lower,
                upper,
                reverse=False,
                rows_max=_PAGE_ROWS,
                bytes_max=_PAGE_BYTES,
                consistency=STRONG,
            )
            for _, row in rows:
                yield unpack_backup(row)
            if ended:
                return
            lower = rows[-1][0] + b"\x00"


def _key(account: str, region: str, id: str, table: str) -> bytes:
    return b"k" + f"{account}\x00{region}\x00{id}\x00{table}".encode()


def backup_key(backup: BackupRecord) -> bytes:
    """Return where a backup's row is."""
    return _key(backup.account, backup.region, backup.id, backup.table["name"])


@final
class _Addition:
    """The decision that adds a backup."""

    def __init__(self, backup: BackupRecord) -> None:
        self._backup = backup
        self.fences: Sequence[Fence] = ()
        self.keys: Sequence[RowKey] = ((STORE, 0, backup_key(backup)),)

    def decide(self, rows: Sequence[bytes | None]) -> Changes:
        changes = Changes()
        changes.creates.append(STORE)  # a server may know of backups before it has a table
        changes.puts.append((*self.keys[0], self._backup.pack()))
        return changes


@final
class _Change:
    """The decision that changes a backup or forgets it, with the store it kept."""

    def __init__(self, backup: BackupRecord, edit: Editor) -> None:
        self._edit = edit
        self.fences: Sequence[Fence] = ()
        self.keys: Sequence[RowKey] = ((STORE, 0, backup_key(backup)),)

    def decide(self, rows: Sequence[bytes | None]) -> Changes:
        if rows[0] is None:
            return Changes(False)
        backup = unpack_backup(rows[0])
        changes = Changes(True)
        edited = self._edit(backup)
        if edited is not None:
            changes.puts.append((*self.keys[0], edited.pack()))
            return changes
        changes.deletes.append(self.keys[0])
        if backup.store:
            changes.drops.append(backup.store)
        return changes
