"""The stores and spaces of a database, as one process knows them, and how they are changed.

A process reads all of them once and then follows its own changes one by one; it reads them again
when the layout number in `meta` says that another process has changed them. All of this runs in the
transaction of a batch, with the turn to write held.
"""

from __future__ import annotations

from typing import Final, final

import apsw

from hashrange.engine.base import Changes, Fence, space_of
from hashrange.engine.sqlite.connection import StoreStatements
from hashrange.engine.sqlite.dropped_stores import detach
from hashrange.engine.sqlite.row_sums import checked_columns, columns_sum
from hashrange.errors import EngineError

# Newer than every version, so that a space that is gone refuses what was built on it.
NO_SPACE: Final = 1 << 63

INSERT_TALLY: Final = "INSERT INTO tallies(store, rows, bytes, sum) VALUES(?, 0, 0, ?)"
UPDATE_TALLY: Final = "UPDATE tallies SET rows = ?, bytes = ?, sum = ? WHERE store = ?"
SELECT_TALLY: Final = "SELECT store, rows, bytes, sum FROM tallies WHERE store = ?"
_SELECT_SPACES: Final = "SELECT space, version, sequence, sum FROM spaces"
SELECT_SPACE: Final = _SELECT_SPACES + " WHERE space = ?"
_UPDATE_SPACE: Final = "UPDATE spaces SET version = ?, sequence = ?, sum = ? WHERE space = ?"


class _Stores(dict[str, StoreStatements]):
    """The stores there are; using another one is refused."""

    def __missing__(self, store: str) -> StoreStatements:
        raise EngineError(f"no store {store}")


@final
class Layout:
    """The stores, and the version, sequence and number of stores of each space."""

    __slots__ = ("_counts", "_sequences", "number", "stores", "versions")

    def __init__(self) -> None:
        self.stores = _Stores()
        self.versions: dict[str, int] = {}
        # The number in `meta` that all this is from; -1 when nothing is known.
        self.number = -1
        self._counts: dict[str, int] = {}
        # Known only of some spaces, and only while no other process writes.
        self._sequences: dict[str, int] = {}

    def read(self, cursor: apsw.Cursor, number: int) -> None:
        """Read all of it again, unless this is what is known already."""
        if number == self.number:
            return
        known = self.stores
        self.stores = _Stores()
        self._counts = {}
        for row in cursor.execute("SELECT store FROM tallies").fetchall():
            store = str(row[0])
            statements = self.stores[store] = known.get(store) or StoreStatements(store)
            self._counts[statements.space] = self._counts.get(statements.space, 0) + 1
        self.versions = {}
        for row in cursor.execute(_SELECT_SPACES).fetchall():
            self.versions[str(row[0])] = checked_columns("spaces", row, 2)[0]
        self._sequences.clear()
        self.number = number

    def forget(self) -> None:
        """Know nothing any more, as after a transaction that was rolled back."""
        self.number = -1
        self._sequences.clear()

    def forget_sequences(self) -> None:
        """Read sequences again, since another process may have written."""
        self._sequences.clear()

    def sequence(self, cursor: apsw.Cursor, space: str) -> int:
        """Return the newest number of a space."""
        sequence = self._sequences.get(space)
        if sequence is None:
            row = cursor.execute(SELECT_SPACE, (space,)).get
            _, sequence = checked_columns("spaces", row, 2)
            self._sequences[space] = sequence
        return sequence

    def set_sequence(self, cursor: apsw.Cursor, space: str, sequence: int) -> None:
        """Write the newest number of a space."""
        self._sequences[space] = sequence
        self._write_space(cursor, space, sequence)

    def raise_versions(self, cursor: apsw.Cursor, fences: list[Fence]) -> None:
        """Raise the versions of spaces that have an older one."""
        for space, version in fences:
            if self.versions.get(space, NO_SPACE) < version:
                self.versions[space] = version
                self._write_space(cursor, space, self.sequence(cursor, space))
        self.number += 1

    def change(self, cursor: apsw.Cursor, changes: Changes) -> set[str]:
        """Drop and create stores; return those that were dropped."""
        self.number += 1
        dropped = {store for store in changes.drops if store in self.stores}
        for store in dropped:
            self._drop(cursor, store)
        for store in changes.creates:
            if store not in self.stores:
                self._create(cursor, store)
        for space in {space_of(store) for store in dropped}:
            if not self._counts.get(space):
                self._forget_space(cursor, space)
        return dropped

    def _drop(self, cursor: apsw.Cursor, store: str) -> None:
        statements = self.stores.pop(store)
        self._counts[statements.space] -= 1
        detach(cursor, store, self.number)
        cursor.execute("DELETE FROM tallies WHERE store = ?", (store,))

    def _create(self, cursor: apsw.Cursor, store: str) -> None:
        statements = StoreStatements(store)
        space = statements.space
        cursor.execute(statements.create)
        cursor.execute(statements.index(f"{self.number}_{len(self.stores)}"))
        cursor.execute(INSERT_TALLY, (store, columns_sum(store, 0, 0)))
        self.stores[store] = statements
        self._counts[space] = self._counts.get(space, 0) + 1
        if space not in self.versions:
            self.versions[space] = 0
            self._sequences[space] = 0
            cursor.execute(
                "INSERT INTO spaces(space, version, sequence, sum) VALUES(?, 0, 0, ?)",
                (space, columns_sum(space, 0, 0)),
            )

    def _forget_space(self, cursor: apsw.Cursor, space: str) -> None:
        self._counts.pop(space, None)
        self._sequences.pop(space, None)
        self.versions.pop(space, None)
        cursor.execute("DELETE FROM spaces WHERE space = ?", (space,))

    def _write_space(self, cursor: apsw.Cursor, space: str, sequence: int) -> None:
        version = self.versions[space]
        check = columns_sum(space, version, sequence)
        cursor.execute(_UPDATE_SPACE, (version, sequence, check, space))
