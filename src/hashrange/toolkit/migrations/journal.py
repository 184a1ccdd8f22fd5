"""The journal of a back-fill: for each item the attributes before and after, a JSON line each.

A line is on disk before its item is written, so that whatever was written can be undone. A line
whose write never happened is harmless: undoing it fails its condition.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, final

from hashrange.toolkit.values import Item, Wire

_BINARY: Final = "$binary"
_VOID: Final = "null"


@final
class Journal:
    """Notes of changes in a file, appended to."""

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)

    def note(self, key: Item, before: Mapping[str, Wire], after: Mapping[str, Wire]) -> None:
        """Append a change and wait until it is on disk."""
        with self._path.open("a") as file:
            file.write(encode_key([key, before, after]) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def void(self) -> None:
        """Note that the last change was not made after all."""
        with self._path.open("a") as file:
            file.write(_VOID + "\n")
            file.flush()
            os.fsync(file.fileno())

    def backwards(self) -> Iterator[tuple[Item, dict[str, Wire], dict[str, Wire]]]:
        """Yield the changes that were made, newest first."""
        if not self._path.exists():
            return
        lines = self._path.read_text().splitlines()
        is_void = False
        for line in reversed(lines):
            if line == _VOID or is_void:
                is_void = line == _VOID
                continue
            key, before, after = decode_key(line)
            yield key, before, after

    def clear(self) -> None:
        """Forget all changes."""
        self._path.unlink(missing_ok=True)


def encode_key(content: Any) -> str:
    """Return keys or items as JSON, binaries included."""
    return json.dumps(content, default=lambda b: {_BINARY: base64.b64encode(bytes(b)).decode()})


def decode_key(text: str) -> Any:
    """Return what `encode_key` was given."""
    return json.loads(text, object_hook=_unbinary)


def _unbinary(document: dict[str, Any]) -> Any:
    return base64.b64decode(document[_BINARY]) if document.keys() == {_BINARY} else document
