"""Private files and folders: what only the user of the server can read, written as a whole."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path
from typing import BinaryIO, Final

PRIVATE_FOLDER: Final = 0o700
_PRIVATE_FILE: Final = 0o600
_RENAMES_MAX: Final = 10


def open_private(path: Path) -> BinaryIO:
    """Make a file that only the user of the server can read."""
    return open(
        path, "xb", buffering=0, opener=lambda name, flags: os.open(name, flags, _PRIVATE_FILE)
    )


def write_all(file: BinaryIO, chunk: bytes) -> None:
    """Write a chunk to a file without a buffer."""
    view = memoryview(chunk)
    while view:
        view = view[file.write(view) :]


def write_small(path: Path, content: bytes) -> None:
    """Write a small file as a whole; it is not synced, so it must be one that can be missing."""
    temporary = path.with_name(f".{secrets.token_hex(8)}")
    with open_private(temporary) as file:
        write_all(file, content)
    temporary.replace(path)


def make_folder(path: Path) -> None:
    """Make a private folder in private folders."""
    try:
        path.mkdir(PRIVATE_FOLDER, exist_ok=True)
    except FileNotFoundError:
        make_folder(path.parent)
        path.mkdir(PRIVATE_FOLDER, exist_ok=True)


def move(content: Path, path: Path) -> None:
    """Rename a file, making its folders; another process may remove empty ones meanwhile."""
    for _ in range(_RENAMES_MAX):
        make_folder(path.parent)
        with contextlib.suppress(FileNotFoundError):
            content.replace(path)
            return
    content.replace(path)


def remove_empty(folder: Path, root: Path) -> None:
    """Remove a folder and those above it below a root, as long as they are empty."""
    with contextlib.suppress(OSError):
        while folder != root:
            folder.rmdir()
            folder = folder.parent


def sync_folder(folder: Path) -> None:
    """Wait until the disk has the names of a folder."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
