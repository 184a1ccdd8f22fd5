"""Reads of rows that are held against their checksums: a wrong one is refused, never returned.

A row that is damaged fails its own checksum. A key that is damaged in the index makes a row look
absent, or ends a range too early. The search for an absent key, or for the end of a range, then
stops beside the damaged entry, so the entries on both sides of a gap are checked as well.
"""

from __future__ import annotations

from typing import Final, final

import apsw

from hashrange.engine.base import Row
from hashrange.engine.sqlite.connection import (
    STATEMENTS_CACHED_MAX,
    StoreStatements,
    is_absent_table,
)
from hashrange.engine.sqlite.row_sums import (
    VALUE_MASK,
    damage,
    damaged_row,
    is_right_key,
    is_right_row,
)
from hashrange.quick_zlib import crc32

_IS_STORE: Final = "SELECT 1 FROM tallies WHERE store = ?"


def read_row(cursor: apsw.Cursor, statements: StoreStatements, key: bytes) -> bytes | None:
    """Return the value at a key of a store that exists."""
    row = cursor.execute(statements.get, (key,)).get
    if row is None:
        check_before(cursor, statements, key)
        check_after(cursor, statements, key)
        return None
    try:
        value: bytes
        value, stored_sum = row
        if crc32(value, crc32(key, statements.seed)) == stored_sum & VALUE_MASK:
            return value
    except (TypeError, ValueError):
        pass  # damage can change the type of a column
    raise damaged_row(statements.name, key)


def read_row_to_change(
    cursor: apsw.Cursor, statements: StoreStatements, key: bytes
) -> bytes | None:
    """Return the same to a decision, which often asks for a row that is not there yet.

    One search finds the row or its follower, which is quicker then.
    """
    row = cursor.execute(statements.get_or_follower, (key,)).get
    if row is None or row[0] != key:
        _check_neighbour(None if row is None else row[:2], statements)
        check_before(cursor, statements, key)
        return None
    _, stored_sum, value = row
    if is_right_row(statements.seed, key, value, stored_sum):
        found: bytes = value
        return found
    raise damaged_row(statements.name, key)


def check_before(cursor: apsw.Cursor, statements: StoreStatements, key: bytes) -> None:
    """Check the entry before a gap."""
    _check_neighbour(cursor.execute(statements.predecessor, (key,)).get, statements)


def check_after(cursor: apsw.Cursor, statements: StoreStatements, key: bytes) -> None:
    """Check the entry after a gap."""
    _check_neighbour(cursor.execute(statements.follower, (key,)).get, statements)


def _check_neighbour(row: tuple[object, object] | None, statements: StoreStatements) -> None:
    if row is not None and not is_right_key(statements.seed, *row):
        found = row[0] if isinstance(row[0], bytes) else b""
        raise damaged_row(statements.name, found)


@final
class RangeRead:
    """One page of a range: what is asked for, and how far the page may go."""

    __slots__ = ("_damaged", "bytes_max", "lower", "reverse", "rows_max", "upper")

    def __init__(
        self, lower: bytes, upper: bytes, reverse: bool, rows_max: int, bytes_max: int
    ) -> None:
        self.lower = lower
        self.upper = upper
        self.reverse = reverse
        self.rows_max = rows_max
        self.bytes_max = bytes_max
        self._damaged = b""

    def run(
        self, connection: apsw.Connection, statements: StoreStatements
    ) -> tuple[list[Row], bool]:
        """Return the rows and whether the range ended there."""
        if self.lower >= self.upper:
            return [], True
        page: list[Row] = []
        try:
            # The cursor of the walk ends with this call, also when a row is refused: one that is
            # left half-way would keep its snapshot, and the log, alive.
            state = self._walk(connection, statements, page)
        except (TypeError, ValueError):
            state = None  # damage can change the type of a column
        if state is None:
            raise damaged_row(statements.name, self._damaged)
        return page, state

    def _walk(
        self, connection: apsw.Connection, statements: StoreStatements, page: list[Row]
    ) -> bool | None:
        """Fill the page; return whether the range ended, or None at a damaged row."""
        seed, reverse, upper = statements.seed, self.reverse, self.upper
        rows_left, bytes_left = self.rows_max, self.bytes_max
        statement = statements.descend if reverse else statements.walk
        previous = upper if reverse else self.lower
        # Closing a cursor would leak 200 bytes (APSW 3.54); it ends when it is let go of.
        for key, value, stored_sum in connection.execute(statement, (self.lower, upper)):
            if value is None:
                # An entry beside the range.
                is_after = key >= upper
                if not is_right_key(seed, key, stored_sum) or not (is_after or key < self.lower):
                    self._damaged = key
                    return None
                if is_after is not reverse:
                    return True
                continue
            if crc32(value, crc32(key, seed)) != stored_sum & VALUE_MASK or (
                key > previous if reverse else key < previous
            ):
                self._damaged = key
                return None
            previous = key
            page.append((key, value))
            rows_left -= 1
            bytes_left -= len(value)
            if rows_left <= 0 or bytes_left <= 0:
                return False
        return True


@final
class RowReader:
    """Reads rows of stores that may not exist; of one connection."""

    __slots__ = ("_connection", "_cursor", "_statements")

    # As many as the statements that SQLite keeps prepared; stores that were dropped go with them.
    _STORES_REMEMBERED_MAX: Final = STATEMENTS_CACHED_MAX

    def __init__(self, connection: apsw.Connection) -> None:
        # One cursor for all point reads: `get` takes the whole result, so none is left half-way.
        self._connection = connection
        self._cursor = connection.cursor()
        self._statements: dict[str, StoreStatements] = {}

    def get(self, store: str, key: bytes) -> bytes | None:
        """Return the value at a key."""
        statements = self._statements.get(store) or self._remember(store)
        try:
            return read_row(self._cursor, statements, key)
        except apsw.SQLError as error:
            if not is_absent_table(error):
                raise
        self._check_absent_store(statements)
        return None

    def range(self, store: str, request: RangeRead) -> tuple[list[Row], bool]:
        """Return a page of a range, and whether the range ended there."""
        statements = self._statements.get(store) or self._remember(store)
        try:
            return request.run(self._connection, statements)
        except apsw.SQLError as error:
            if not is_absent_table(error):
                raise
        self._check_absent_store(statements)
        return [], True

    def _check_absent_store(self, statements: StoreStatements) -> None:
        """Raise if a store is listed although its table is missing."""
        for _ in range(2):
            if self._cursor.execute(_IS_STORE, (statements.name,)).get is None:
                return
            try:
                # Another process may have made it just now.
                self._cursor.execute(statements.follower, (b"",)).get  # noqa: B018 - runs it
                return
            except apsw.SQLError as error:
                if not is_absent_table(error):
                    raise
        raise damage(f"the table of store {statements.name}")

    def _remember(self, store: str) -> StoreStatements:
        if len(self._statements) >= self._STORES_REMEMBERED_MAX:
            self._statements.clear()
        statements = self._statements[store] = StoreStatements(store)
        return statements
