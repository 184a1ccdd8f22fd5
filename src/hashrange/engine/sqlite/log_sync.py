"""Syncs of the write-ahead log outside SQLite, without holding the turn to write.

If SQLite synced each commit, processes that write in turns would sync one after another, each
holding the turn. So where several processes write together, SQLite does not sync commits. The
process that wrote a commit passes the turn on, and syncs the log while the next process writes.

1. A commit is reported only once it is on disk, to its callers and to readers of its rows, in any
   process. The shared state tells which rows it may have changed (see `shared_state`).
2. A sync covers all that was written to the log before it began. So a process that synced its
   own commit has synced all before it, including those of a process that died.
3. After a sync that failed, the disk may lack any part of the log, and the kernel takes it for
   written. So all of it is written once more, with the turn held, before anything else counts as
   synced; until that succeeds, the log is not moved into the database.

A `File` is opened beside SQLite's. It releases the interpreter while the disk is at work, which a
sync through APSW does not (3.54): the event loop would stand still for it.
"""

from __future__ import annotations

import fcntl
import logging
import os
from typing import Final, Protocol, final

import apsw

from hashrange.engine.sqlite.shared_state import SharedState

_SYSTEM_NAMES: Final = frozenset({"unix", "multipleciphers-unix"})
# SQLite itself takes no more than 128 KB at once, and nothing at all of some larger sizes.
_REWRITTEN_BYTES: Final = 1 << 16
# macOS: its fsync does not wait for the disk.
_FULL_SYNC: Final[int | None] = getattr(fcntl, "F_FULLFSYNC", None)
_log = logging.getLogger(__name__)


class File(Protocol):
    """A file of the database, with the operations that this module needs."""

    def sync(self) -> None:
        """Wait until the disk has what was written; raises OSError or apsw.Error."""

    def rewrite(self) -> None:
        """Write what is there once more."""

    def close(self) -> None: ...


def open_file(path: str, vfs: str, flags: int) -> File:
    """Open a file that SQLite has made, through its virtual file system if that is not plain."""
    return _SystemFile(path) if vfs in _SYSTEM_NAMES else _VirtualFile(path, vfs, flags)


@final
class _SystemFile:
    """A file of the operating system's.

    To close any descriptor of the database would end the locks that SQLite has on it in this
    process. So all engines of a process use one, and the last of them closes it.
    """

    _shared: Final[dict[str, tuple[int, int]]] = {}

    def __init__(self, path: str) -> None:
        self._path = path
        descriptor, users = self._shared.get(path, (-1, 0))
        if not users:
            descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        self._descriptor = descriptor
        self._shared[path] = (descriptor, users + 1)

    def sync(self) -> None:
        if _FULL_SYNC is not None:
            fcntl.fcntl(self._descriptor, _FULL_SYNC)
        else:
            os.fdatasync(self._descriptor)

    def rewrite(self) -> None:
        offset = 0
        while content := os.pread(self._descriptor, _REWRITTEN_BYTES, offset):
            offset += os.pwrite(self._descriptor, content, offset)

    def close(self) -> None:
        descriptor, users = self._shared.pop(self._path)
        if users > 1:
            self._shared[self._path] = (descriptor, users - 1)
        else:
            os.close(descriptor)


@final
class _VirtualFile:
    """A file of a virtual file system's."""

    def __init__(self, path: str, vfs: str, flags: int) -> None:
        self._file = apsw.VFSFile(vfs, path, [flags | apsw.SQLITE_OPEN_READWRITE, 0])

    def sync(self) -> None:
        self._file.xSync(apsw.SQLITE_SYNC_FULL)

    def rewrite(self) -> None:
        size = self._file.xFileSize()
        for offset in range(0, size, _REWRITTEN_BYTES):
            content = self._file.xRead(min(_REWRITTEN_BYTES, size - offset), offset)
            self._file.xWrite(content, offset)

    def close(self) -> None:
        self._file.xClose()


@final
class LogSync:
    """Syncs the log; one per process that writes together with others."""

    def __init__(self, file: File, shared: SharedState) -> None:
        self._file = file
        self._shared = shared

    def try_sync(self, number: int) -> bool:
        """Have the disk write a commit and all before it, if it can; needs no turn."""
        if self._shared.synced() >= number:
            return True
        if self._shared.is_damaged():
            return False
        try:
            self._file.sync()
        except (OSError, apsw.Error) as error:
            self._shared.set_damaged(True)
            _log.error("the write-ahead log could not be synced", exc_info=error)
            return False
        self._shared.note_synced(number)
        return True

    def settle(self) -> None:
        """Have the disk write all commits, or raise; the turn is held."""
        number = self._shared.commit()
        if self.try_sync(number):
            return
        try:
            self._write_again()
        except (OSError, apsw.Error):
            # That may have been the failure before, of which every open file hears once.
            self._write_again()
        self._shared.set_damaged(False)
        self._shared.note_synced(number)

    def _write_again(self) -> None:
        self._file.rewrite()
        self._file.sync()

    def close(self) -> None:
        self._file.close()
