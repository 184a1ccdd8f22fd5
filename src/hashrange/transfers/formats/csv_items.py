"""Items of CSV files, as ImportTable reads them. Pure.

The first record names the columns, unless the request does. Columns that are keys of the table or
of an index have the type of that key; all others are strings. Empty cells of keys are left out, so
that a table's key is missed and an index does not hold the item; others are empty strings.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from typing import Any, Final, final

from hashrange.model.values import Item

_QUOTE: Final = b'"'


class CsvError(Exception):
    """A record cannot be read."""


@final
class RecordSplitter:
    """Joins lines to records: a cell in quotes may hold the ends of lines."""

    __slots__ = ("_is_open", "_lines")

    def __init__(self) -> None:
        self._lines: list[bytes] = []
        self._is_open = False

    def add(self, line: bytes) -> bytes | None:
        """Return a record that is complete with this line."""
        if line.count(_QUOTE) % 2:
            self._is_open = not self._is_open
        self._lines.append(line)
        if self._is_open:
            return None
        record = b"\n".join(self._lines)
        self._lines.clear()
        return record


@final
class CsvItems:
    """Turns records into items."""

    __slots__ = ("_delimiter", "_header", "_types")

    def __init__(
        self, key_types: dict[str, str], delimiter: str, header: Sequence[str] | None
    ) -> None:
        self._types = key_types
        self._delimiter = delimiter
        self._header = None if header is None else list(header)

    def read(self, record: bytes) -> Item | None:
        """Return the item of a record; None for the record that names the columns."""
        try:
            (cells,) = csv.reader([record.decode()], delimiter=self._delimiter, strict=True)
        except (csv.Error, ValueError) as error:
            raise CsvError(f"The record is not CSV: {error}") from error
        if self._header is None:
            self._header = cells
            return None
        if len(cells) != len(self._header):
            raise CsvError(
                f"The record has {len(cells)} columns, but there are {len(self._header)} names"
            )
        item: dict[str, Any] = {}
        for name, cell in zip(self._header, cells, strict=True):
            kind = self._types.get(name)
            if kind is None:
                item[name] = {"S": cell}
            elif cell:
                item[name] = {kind: cell.strip() if kind == "N" else cell}
        return item
