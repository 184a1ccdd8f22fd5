"""Dropped stores: detached at once, freed in small pieces later.

To free the pages of a large table takes seconds per gigabyte, in which nobody else could write. So
the table of a dropped store is only renamed in the transaction that drops it, to a name that no
store has. A background service then frees it piece by piece, each piece in a short transaction:
first the index, then the rows in the order of the file, then the empty table. After a crash the
names tell what is left to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Final, final

import apsw

from hashrange.engine.base import Changes, Fence, RowKey

_PREFIX: Final = "dropped_"
# A table of at most so many rows is dropped at once.
_SMALL_ROWS: Final = 64
_CHUNK_ROWS: Final = 32
_PIECE_SECONDS: Final = 0.005
_FIND: Final = (
    "SELECT name FROM sqlite_schema WHERE type = 'table' "
    "AND name >= 'dropped_' AND name < 'dropped`' LIMIT 1"
)
_FIND_INDEX: Final = "SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name = ?"


def detach(cursor: apsw.Cursor, store: str, number: int) -> None:
    """Take the table of a store out of the way; the number makes its new name unique."""
    table = f'"store_{store}"'
    if cursor.execute(f"SELECT 1 FROM {table} LIMIT 1 OFFSET {_SMALL_ROWS}").get is None:
        cursor.execute(f"DROP TABLE {table}")
    else:
        cursor.execute(f'ALTER TABLE {table} RENAME TO "{_PREFIX}{number}_{store}"')


def has_dropped_stores(connection: apsw.Connection) -> bool:
    """Tell whether anything is left to be freed."""
    return connection.execute(_FIND).get is not None


@final
class FreePiece:
    """A decision to free a piece of a dropped store; its outcome tells whether there was one."""

    fences: Sequence[Fence] = ()
    keys: Sequence[RowKey] = ()

    def decide(self, _rows: Sequence[bytes | None]) -> Changes:
        raise AssertionError("it changes pages, not rows")

    def free(self, cursor: apsw.Cursor) -> tuple[bool, str]:
        """Free a piece, as part of a transaction.

        Return whether there was one, and a statement that is left to the thread that commits: to
        drop an index of millions of rows takes longer than the event loop may wait.
        """
        table = cursor.execute(_FIND).get
        if table is None:
            return False, ""
        index = cursor.execute(_FIND_INDEX, (table,)).get
        if index is not None:
            return True, f'DROP INDEX "{index}"'
        if not _delete_rows(cursor, f'"{table}"'):
            cursor.execute(f'DROP TABLE "{table}"')
        return True, ""


def _delete_rows(cursor: apsw.Cursor, table: str) -> bool:
    """Delete rows for a few milliseconds; return whether some may be left."""
    ends_at = perf_counter() + _PIECE_SECONDS
    last = f"SELECT max(rowid) FROM (SELECT rowid FROM {table} ORDER BY rowid LIMIT {_CHUNK_ROWS})"
    while perf_counter() < ends_at:
        rowid = cursor.execute(last).get
        if rowid is None:
            return False
        cursor.execute(f"DELETE FROM {table} WHERE rowid <= ?", (rowid,))
    return True
