"""Inspects and mends the database of a stopped server below the engine: rows, indexes, checksums.

A damaged row is set aside: it goes to the table `damaged` as it was found, and leaves its store.
Indexes are built again from the rows. Tallies, versions and sequences whose checksum is wrong get
values that are safe: tallies are for the layer above to count again, a version of 0 is raised by
the next decision, and a sequence goes on above every number that can have been given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from time import time
from typing import Final, final

import apsw

from hashrange.engine.base import space_of
from hashrange.engine.sqlite.connection import StoreStatements, open_connection
from hashrange.engine.sqlite.data_directory import SELECT_META
from hashrange.engine.sqlite.encryption import PageKey
from hashrange.engine.sqlite.layout import SELECT_SPACE, SELECT_TALLY, UPDATE_TALLY
from hashrange.engine.sqlite.row_sums import columns_sum, is_right_row

_PROGRESS_ROWS: Final = 1000
_INTEGRITY_MESSAGES_MAX: Final = 10
# More numbers than can be given in a second, so that sequences which follow the clock only grow.
_SEQUENCE_SHIFT: Final = 24
_DAMAGED: Final = """
    CREATE TABLE IF NOT EXISTS damaged(
        store TEXT NOT NULL, found_at REAL NOT NULL, key, sum, value)
"""

Progress = Callable[[int], None]


@final
class Inspection:
    """A stopped server's database, opened below the engine."""

    def __init__(self, directory: Path, progress: Progress, page_key: PageKey | None) -> None:
        self._connection = open_connection(
            directory, syncs_commits=True, read_only=False, page_key=page_key
        )
        self._progress = progress
        # Stores that could not be mended, since their pages cannot be read.
        self.unreadable: list[str] = []

    def close(self) -> None:
        self._connection.close()

    def problems(self) -> Iterator[str]:
        """Yield what is wrong, in words."""
        for store in self._stores():
            yield from self._structure_problems(store)
            try:
                for rowid in self._damaged_rows(StoreStatements(store)):
                    yield f"row {rowid} of store {store} is damaged"
            except apsw.Error as error:
                yield f"store {store} cannot be read to its end: {error}"
        for table, name, _ in self._wrong_sums():
            yield f"the row {name} of {table} is damaged"

    def mend(self) -> Iterator[str]:
        """Mend what can be mended; yield what was done, in words."""
        self._connection.execute(_DAMAGED)
        for store in self._stores():
            try:
                with self._connection:
                    yield from self._mend_store(StoreStatements(store))
            except apsw.Error as error:
                self.unreadable.append(store)
                yield f"store {store} cannot be mended: {error}"
        with self._connection:
            for table, name, columns in list(self._wrong_sums()):
                self._rewrite(table, name, columns)
                yield f"the row {name} of {table} was damaged and has safe values now"

    def _mend_store(self, statements: StoreStatements) -> Iterator[str]:
        damaged = list(self._damaged_rows(statements))
        if not damaged and not list(self._structure_problems(statements.name)):
            return
        find = "SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND tbl_name = ?"
        index, create = self._connection.execute(find, (f"store_{statements.name}",)).get
        # Without the index rows can be deleted also where the index is damaged.
        self._connection.execute(f'DROP INDEX "{index}"')
        for rowid in damaged:
            self._set_aside(statements, rowid)
            yield f"row {rowid} of store {statements.name} was damaged and is set aside"
        self._connection.execute(create)
        yield f"the index of store {statements.name} was built again"

    def _stores(self) -> list[str]:
        rows = self._connection.execute("SELECT store FROM tallies ORDER BY store").fetchall()
        return [str(row[0]) for row in rows]

    def _structure_problems(self, store: str) -> Iterator[str]:
        check = f"PRAGMA integrity_check('store_{store}')"
        try:
            rows = self._connection.execute(check).fetchall()
        except apsw.Error as error:
            rows = [(str(error),)]
        for (message,) in rows[:_INTEGRITY_MESSAGES_MAX]:
            if message != "ok":
                yield f"store {store}: {message}"

    def _damaged_rows(self, statements: StoreStatements) -> Iterator[int]:
        """Yield the row ids of damaged rows, in the order of the file."""
        # Cast, since damage can turn bytes into text that is none.
        select = (
            "SELECT rowid, typeof(key) = 'blob' AND typeof(value) = 'blob', "
            f"CAST(key AS BLOB), CAST(value AS BLOB), sum FROM {statements.table} NOT INDEXED "
        )
        count = 0
        for rowid, is_typed, key, value, stored_sum in self._connection.execute(select):
            count += 1
            if count % _PROGRESS_ROWS == 0:
                self._progress(_PROGRESS_ROWS)
            if not is_typed or not is_right_row(statements.seed, key, value, stored_sum):
                yield int(rowid)
        self._progress(count % _PROGRESS_ROWS)

    def _set_aside(self, statements: StoreStatements, rowid: int) -> None:
        table = statements.table
        self._connection.execute(
            f"INSERT INTO damaged SELECT ?, ?, key, sum, value FROM {table} WHERE rowid = ?",
            (statements.name, time(), rowid),
        )
        self._connection.execute(f"DELETE FROM {table} WHERE rowid = ?", (rowid,))

    def _wrong_sums(self) -> Iterator[tuple[str, str, list[int]]]:
        """Yield the table, the name and the numbers of rows outside of stores that are damaged."""
        execute = self._connection.execute
        rows = [("meta", execute(SELECT_META).get)]
        rows += [("tallies", execute(SELECT_TALLY, (store,)).get) for store in self._stores()]
        for space in {space_of(store) for store in self._stores()}:
            row = execute(SELECT_SPACE, (space,)).get
            rows.append(("spaces", row or (space, 0, 0, -1)))
        for table, row in rows:
            name, *numbers, stored_sum = row
            if columns_sum(name, *numbers) != stored_sum:
                yield table, str(name), numbers

    def _rewrite(self, table: str, name: str, numbers: list[int]) -> None:
        execute = self._connection.execute
        first, second = (number if isinstance(number, int) else 0 for number in numbers)
        if table == "meta":
            counter, layout = first + 1, second + 1
            statement = "UPDATE meta SET counter = ?, layout = ?, sum = ?"
            execute(statement, (counter, layout, columns_sum(0, counter, layout)))
        elif table == "tallies":
            execute(UPDATE_TALLY, (first, second, columns_sum(name, first, second), name))
        else:
            sequence = int(time()) << _SEQUENCE_SHIFT
            columns = (name, 0, sequence, columns_sum(name, 0, sequence))
            execute("INSERT OR REPLACE INTO spaces VALUES(?, ?, ?, ?)", columns)
