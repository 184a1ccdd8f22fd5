"""Shows rows at a terminal: as a table, as JSON, or as one JSON object a line.

Tables are drawn by rich if it is installed and the output is a terminal, else in plain columns.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any, Final

from hashrange.cli.data.plain_json import json_text

FORMATS: Final = ("table", "json", "lines")
_CELL_CHARACTERS_MAX: Final = 60


def show_items(items: Iterable[dict[str, Any]], form: str, first: Sequence[str] = ()) -> int:
    """Show items, key attributes first; return how many there were."""
    if form == "lines":
        count = 0
        for item in items:
            sys.stdout.write(json_text(item) + "\n")
            count += 1
        return count
    found = list(items)
    if form == "json":
        sys.stdout.write(json_text(found, indent=2) + "\n")
    elif found:
        names = list(dict.fromkeys([*first, *(name for item in found for name in item)]))
        rows = [[_cell(item[name]) if name in item else "" for name in names] for item in found]
        show_table(names, rows)
    return len(found)


def show_table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Draw a table."""
    if sys.stdout.isatty():
        try:
            from rich.console import Console
            from rich.table import Table
            from rich.text import Text
        except ImportError:
            pass
        else:
            table = Table(header_style="bold", row_styles=("", "dim"))
            for name in names:
                table.add_column(name, overflow="fold")
            for row in rows:
                table.add_row(*(Text(cell) for cell in row))
            Console().print(table)
            return
    lines = [list(names), *(list(row) for row in rows)]
    widths = [max(len(line[place]) for line in lines) for place in range(len(names))]
    for line in lines:
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        sys.stdout.write("  ".join(cells).rstrip() + "\n")


def size_text(size: int) -> str:
    """Return a number of bytes for people."""
    number = float(size)
    for unit in ("B", "KB", "MB", "GB"):
        if number < 1000:
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:.1f} TB"


def _cell(value: object) -> str:
    """Return a value for one cell: one line, and no control character reaches the terminal."""
    text = value if isinstance(value, str) else json_text(value)
    text = "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)
    if len(text) > _CELL_CHARACTERS_MAX:
        text = text[: _CELL_CHARACTERS_MAX - 1] + "…"
    return text
