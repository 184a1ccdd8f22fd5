"""`hashrange` on a disk that can be full: `python -m tests.faults.full_disk MARKER serve ...`.

While the file MARKER exists, nothing more can be written to the database or its log. Everything
else is the real command.
"""

from __future__ import annotations

import os
import sys

import apsw

from hashrange.cli.main import main


class Disk(apsw.VFS):
    """SQLite's files, with no room left while the marker exists."""

    def __init__(self, marker: str) -> None:
        self.marker = marker
        super().__init__("disk", "unix", makedefault=True)

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802 - SQLite's name
        return _DiskFile(self.marker, name, flags)

    def excepthook(self, *_: object) -> bool:
        """Keep quiet: the error reaches the caller anyhow."""
        return True


class _DiskFile(apsw.VFSFile):
    def __init__(self, marker: str, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        self.marker = marker
        super().__init__("unix", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802 - SQLite's name
        if os.path.exists(self.marker):
            raise apsw.FullError("no room, as planned")
        super().xWrite(data, offset)

    def excepthook(self, *_: object) -> bool:
        """Keep quiet: the error reaches the caller anyhow."""
        return True


if __name__ == "__main__":
    disk = Disk(sys.argv[1])
    main(sys.argv[2:])
