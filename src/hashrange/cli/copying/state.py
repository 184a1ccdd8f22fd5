"""The state file of a copy: how far each segment of the scan and each shard of the stream is.

The file is replaced as a whole, so a killed copy leaves the last state or the one before, never a
half. Repeating what was done since is harmless. Threads may share the state.
"""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Any, Final, final

import orjson

from hashrange.cli.copying.definitions import CopyError

_VERSION: Final = 1
_SAVE_SECONDS: Final = 0.5


@final
class CopyState:
    """What a copy has done so far."""

    def __init__(self, path: Path, content: dict[str, Any]) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._saved_at = 0.0
        self._content = content

    @classmethod
    def begin(cls, path: Path, ends: dict[str, str], segments: int) -> CopyState:
        """Return the state of a copy that has done nothing."""
        content = {
            "version": _VERSION,
            **ends,
            "segments": [{"after": None, "is_done": False, "items": 0} for _ in range(segments)],
            "stream": "",
            "started_at": 0.0,
            "read_at": 0.0,
            "positions": {},
        }
        return cls(path, content)

    @classmethod
    def load(cls, path: Path, ends: dict[str, str]) -> CopyState | None:
        """Return the state in a file, which must be of a copy between the same tables."""
        try:
            content = orjson.loads(path.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, orjson.JSONDecodeError) as error:
            raise CopyError(f"cannot read {path}: {error}") from error
        if not isinstance(content, dict) or content.get("version") != _VERSION:
            raise CopyError(f"{path} is no state file of this version")
        for name, value in ends.items():
            if content.get(name) != value:
                raise CopyError(
                    f"{path} is of another copy: its {name.replace('_', ' ')} is "
                    f"{content.get(name)}, not {value}; --restart begins again"
                )
        return cls(path, content)

    @property
    def segments(self) -> list[dict[str, Any]]:
        """For each segment: the last key that was copied, whether it is done, its items."""
        segments: list[dict[str, Any]] = self._content["segments"]
        return segments

    @property
    def positions(self) -> dict[str, str]:
        """For each shard of the stream, the last record that was applied."""
        positions: dict[str, str] = self._content["positions"]
        return positions

    @property
    def stream(self) -> str:
        """The ARN of the stream that is followed; empty if there is none."""
        return str(self._content["stream"])

    @property
    def started_at(self) -> float:
        """When the copy began, by the clock of the source."""
        return float(self._content["started_at"])

    @property
    def read_at(self) -> float:
        """When the stream was last read as far as it went, by the clock of the source."""
        return float(self._content["read_at"])

    @property
    def items(self) -> int:
        """How many items were copied by the scan."""
        return sum(segment["items"] for segment in self.segments)

    def note(self, **facts: Any) -> None:
        """Keep facts, and write the file."""
        with self._lock:
            self._content |= facts
            self._save()

    def move_segment(self, number: int, after: dict[str, Any] | None, items: int) -> None:
        """Note that a segment was copied up to a key, or to its end."""
        with self._lock:
            segment = self.segments[number]
            segment["after"], segment["is_done"] = after, after is None
            segment["items"] += items
            self._save_sometimes()

    def move_shard(self, shard: str, position: str) -> None:
        """Note that a shard was applied up to a record."""
        with self._lock:
            self.positions[shard] = position
            self._save_sometimes()

    def save(self) -> None:
        """Write the file."""
        with self._lock:
            self._save()

    def remove(self) -> None:
        """Remove the file: the copy is complete."""
        self._path.unlink(missing_ok=True)

    def _save_sometimes(self) -> None:
        if time.monotonic() - self._saved_at > _SAVE_SECONDS:
            self._save()

    def _save(self) -> None:
        temporary = self._path.with_name(f"{self._path.name}.new")
        try:
            with temporary.open("wb") as file:
                file.write(orjson.dumps(self._content, option=orjson.OPT_INDENT_2))
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(self._path)
        except OSError as error:
            raise CopyError(f"cannot write {self._path}: {error.strerror}") from error
        self._saved_at = time.monotonic()
