"""A disk that takes its time, and counts how often it was waited for.

`python -m tests.engine.slow_disk serve ...` is `hashrange` on such a disk.
"""

from __future__ import annotations

import sys
import time

import apsw

from hashrange.cli.main import main


class SlowDisk(apsw.VFS):
    """SQLite's files, on which every sync takes long."""

    def __init__(self, name: str, seconds: float, *, is_default: bool = False) -> None:
        self.name = name
        self.seconds = seconds
        self.syncs = 0
        super().__init__(name, "unix", makedefault=is_default)

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802 - SQLite's name
        return _SlowFile(self, name, flags)


class _SlowFile(apsw.VFSFile):
    def __init__(
        self, disk: SlowDisk, name: str | apsw.URIFilename | None, flags: list[int]
    ) -> None:
        self.disk = disk
        super().__init__("unix", name, flags)

    def xSync(self, flags: int) -> None:  # noqa: N802 - SQLite's name
        self.disk.syncs += 1
        time.sleep(self.disk.seconds)
        super().xSync(flags)


if __name__ == "__main__":
    disk = SlowDisk("slow", seconds=0.004, is_default=True)
    main(sys.argv[1:])
