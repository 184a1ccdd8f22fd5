"""Writes items as a Parquet file, by pyarrow (the extra `parquet`).

A column's type follows from all values of its attribute:

    S     string           B    binary          BOOL  bool
    N     int64 if all are whole and fit; else decimal128(38, digits behind the point) if all fit;
          else string
    SS    list of string   BS   list of binary  NS    list of a type as for N
    L, M, and attributes of several types: string, with the value as plain JSON

NULL and an attribute that is not there are null. The types are known only at the end, so the items
wait in a temporary file until then; memory holds one row group.
"""

from __future__ import annotations

import base64
import json
import tempfile
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from itertools import islice
from typing import IO, Any, Final, final

from hashrange.cli.data.plain_json import PlainJsonError, json_text, typed_item_of
from hashrange.toolkit.values import Item, Wire, from_wire

_GROUP_ROWS: Final = 10_000
_DIGITS_MAX: Final = 38
_INTEGER_MAX: Final = 2**63 - 1
_SCALAR_KINDS: Final = ("S", "N", "B", "BOOL", "SS", "NS", "BS")


@final
class Column:
    """What the values of an attribute have in common."""

    def __init__(self) -> None:
        self.kinds: set[str] = set()
        self._is_integer = True
        self._whole_digits = 0
        self._scale = 0

    def learn(self, value: Wire) -> None:
        """Take a value into account."""
        ((kind, content),) = value.items()
        if kind == "NULL":
            return
        self.kinds.add(kind)
        for text in content if kind == "NS" else [content] if kind == "N" else ():
            self._learn_number(Decimal(text))

    def _learn_number(self, number: Decimal) -> None:
        exponent = number.normalize().as_tuple().exponent
        assert isinstance(exponent, int)
        self._scale = max(self._scale, -exponent)
        self._whole_digits = max(self._whole_digits, number.adjusted() + 1)
        if exponent < 0 or not -_INTEGER_MAX <= number <= _INTEGER_MAX:
            self._is_integer = False

    @property
    def kind(self) -> str:
        """The one type of all values; JSON if there are several, or one without columns."""
        if not self.kinds:
            return "S"
        kind = next(iter(self.kinds))
        return kind if len(self.kinds) == 1 and kind in _SCALAR_KINDS else "JSON"

    def number_form(self) -> tuple[str, int]:
        """Return the form of numbers, int, decimal or text, and the digits behind the point."""
        if self._is_integer:
            return "int", 0
        fits = self._whole_digits + self._scale <= _DIGITS_MAX
        return ("decimal", self._scale) if fits else ("text", 0)


def write_parquet(items: Iterable[Item], keys: list[str], path: str) -> None:
    """Write items to a file; the columns of the keys come first."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        text = "Parquet needs pyarrow: pip install pyarrow"
        raise PlainJsonError(text) from error

    columns: dict[str, Column] = {name: Column() for name in keys}
    with tempfile.TemporaryFile("w+", encoding="utf-8") as waiting:
        for item in items:
            for name, value in item.items():
                columns.setdefault(name, Column()).learn(value)
            waiting.write(json.dumps(item, default=_base64, ensure_ascii=False) + "\n")
        waiting.seek(0)
        fields = [(name, _arrow_type(pyarrow, column)) for name, column in columns.items()]
        schema = pyarrow.schema(fields)
        with parquet.ParquetWriter(path, schema) as writer:
            for group in _groups(waiting):
                arrays = [
                    pyarrow.array([_cell(item.get(name), column) for item in group], type)
                    for (name, column), (_, type) in zip(columns.items(), fields, strict=True)
                ]
                writer.write_table(pyarrow.Table.from_arrays(arrays, schema=schema))


def _base64(value: object) -> str:
    assert isinstance(value, bytes)
    return base64.b64encode(value).decode()


def _groups(file: IO[str]) -> Iterator[list[Item]]:
    while group := [typed_item_of(line) for line in islice(file, _GROUP_ROWS)]:
        yield group


def _arrow_type(pyarrow: Any, column: Column) -> Any:
    kind = column.kind
    form, scale = column.number_form()
    numbers = {
        "int": pyarrow.int64(),
        "decimal": pyarrow.decimal128(_DIGITS_MAX, scale),
        "text": pyarrow.string(),
    }
    types = {
        "N": numbers[form],
        "B": pyarrow.binary(),
        "BOOL": pyarrow.bool_(),
        "SS": pyarrow.list_(pyarrow.string()),
        "BS": pyarrow.list_(pyarrow.binary()),
        "NS": pyarrow.list_(numbers[form]),
    }
    return types.get(kind, pyarrow.string())


_READERS: Final[dict[str, Callable[[str], Any]]] = {
    "int": lambda text: int(Decimal(text)),
    "decimal": Decimal,
    "text": str,
}


def _cell(value: Wire | None, column: Column) -> object:
    if value is None or "NULL" in value:
        return None
    kind = column.kind
    if kind == "JSON":
        return json_text(from_wire(value))
    ((_, content),) = value.items()
    if kind in ("N", "NS"):
        read = _READERS[column.number_form()[0]]
        return read(content) if kind == "N" else sorted(map(read, content))
    return sorted(content) if kind in ("SS", "BS") else content
