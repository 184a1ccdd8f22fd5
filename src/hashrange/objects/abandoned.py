"""Removes uploads that nobody goes on with: no byte was written to them for seven days.

They are left by clients that never complete an upload in parts, and by servers that were killed
while an object was on its way.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path

from hashrange.limits import UPLOAD_SECONDS_MAX


def remove_abandoned(folder: Path, now: float) -> None:
    """Remove what lies in a folder of uploads for too long; other processes may do it, too."""
    for name in os.listdir(folder):
        path = folder / name
        with contextlib.suppress(FileNotFoundError):
            if now - _written_at(path) <= UPLOAD_SECONDS_MAX:
                continue
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink()


def _written_at(path: Path) -> float:
    """Return when something was last written to a file, or to a folder and the files in it."""
    files = [path, *path.iterdir()] if path.is_dir() else [path]
    return max(file.stat().st_mtime for file in files)
