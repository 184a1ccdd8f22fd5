"""Checkpoints: how the write-ahead log gets into the database.

The log can only start again from its beginning when all of it is in the database and nobody writes.
To copy it and have the disk write that takes a dozen milliseconds. So there are two steps: most of
the log is copied while others write, and what they wrote meanwhile by the next one who has the turn
to write, which takes one or two milliseconds. With 16 connections that halves the time of the
slowest percent of writes, with 64 it takes a third off.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
from collections.abc import Callable, Iterator
from typing import Final, final

import apsw

from hashrange.engine.sqlite.data_directory import PAGE_BYTES
from hashrange.engine.sqlite.log_sync import File
from hashrange.engine.sqlite.shared_state import SharedState
from hashrange.log_pace import LogPace

CHECKPOINT_BYTES: Final = 32 << 20
"""By how much the log grows between two checkpoints.

Against half of it: 1.05 times the lone puts, 1.0 to 1.1 times the puts and updates with 16
connections, and a tenth less time for the slowest percent.
"""

LOG_FRAMES_MAX: Final = 32768
"""Beyond this the checkpoint waits for readers, so that the log starts again from its beginning."""

_FRAME_HEADER_BYTES: Final = 24
_log = logging.getLogger(__name__)


@final
class Checkpoints:
    """When the log is to be copied, and how far that is; one per writing process.

    A disk that failed may have lost any part of what was copied, and says so only once; but SQLite
    does not copy it again, since it copied it before. So the log is then kept by all processes.
    Whoever opens the directory afresh copies all of it.
    """

    __slots__ = (
        "_connect",
        "_database",
        "_frames_before",
        "_frames_max",
        "_is_copying",
        "_lock",
        "_pace",
        "_shared",
        "frames",
        "is_copied",
        "written_frames",
    )

    def __init__(
        self,
        connect: Callable[[], apsw.Connection],
        database: File,
        shared: SharedState,
        bytes_max: int,
        lock: int,
    ) -> None:
        self._connect = connect
        # A descriptor of a file that is locked by the one process that makes a checkpoint.
        self._lock = lock
        self._database = database
        self._shared = shared
        self._frames_max = bytes_max // (PAGE_BYTES + _FRAME_HEADER_BYTES)
        # In the log after the last commit of this process, and when the last checkpoint began.
        self.frames = 0
        self._frames_before = 0
        # The first, or 0 if the commit wrote nothing: then others may have started the log again.
        self.written_frames = 0
        self._is_copying = False
        self._pace = LogPace()
        # Whether the next one to commit is to finish the checkpoint.
        self.is_copied = False

    def follow(self, connection: apsw.Connection) -> None:
        """Have SQLite tell how long the log is after each commit of a connection."""
        connection.set_wal_hook(self._note_log)

    def expect_commit(self) -> None:
        """Forget what the last commit wrote, since the next one may turn out to write nothing."""
        self.written_frames = 0

    def _note_log(self, _connection: apsw.Connection, _name: str, frames: int) -> int:
        if frames < self.frames:
            self._frames_before = 0  # the log has started again from its beginning
        self.frames = self.written_frames = frames
        return apsw.SQLITE_OK

    def begin(self) -> bool:
        """Tell whether the log is to be copied now, which the caller then has to do."""
        if self.frames - self._frames_before < self._frames_max:
            return False
        if self._is_copying or self.is_copied:
            return False
        self._frames_before = self.frames
        self._is_copying = not self._shared.keeps_log()
        return self._is_copying

    def copy(self) -> None:
        """Copy the log into the database, in a thread, while others write."""
        try:
            with self._alone() as is_alone:
                if is_alone:
                    self._copy()
        finally:
            self._is_copying = False

    def _copy(self) -> None:
        try:
            with contextlib.closing(self._connect()) as connection:
                connection.wal_checkpoint(None, apsw.SQLITE_CHECKPOINT_PASSIVE)
            # SQLite leaves this to the end of the checkpoint.
            self._database.sync()
            self.is_copied = True
        except (OSError, apsw.Error) as error:
            self._note_failure(error)

    @contextlib.contextmanager
    def _alone(self) -> Iterator[bool]:
        """Tell whether no other process makes a checkpoint, and keep it so.

        Otherwise one could finish what another one has copied but failed to sync: a file that is
        opened after the failure does not hear of it.
        """
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
            return
        try:
            yield not self._shared.keeps_log()
        finally:
            fcntl.flock(self._lock, fcntl.LOCK_UN)

    def close(self) -> None:
        os.close(self._lock)

    def finish(self, connection: apsw.Connection) -> None:
        """Copy the rest, so that the next commit starts the log afresh; the turn is held.

        Readers are never waited for unless the log has grown long: each of their transactions is
        one short call.
        """
        self.is_copied = False
        self._frames_before = self.frames
        with self._alone() as is_alone:
            if is_alone:
                self._finish(connection)

    def _finish(self, connection: apsw.Connection) -> None:
        try:
            frames, _ = connection.wal_checkpoint(None, apsw.SQLITE_CHECKPOINT_PASSIVE)
            if frames > LOG_FRAMES_MAX:
                connection.wal_checkpoint(None, apsw.SQLITE_CHECKPOINT_RESTART)
        except apsw.Error as error:
            self._note_failure(error)

    def _note_failure(self, error: OSError | apsw.Error) -> None:
        if isinstance(error, apsw.BusyError):
            return  # another process is at it, or readers are in the way
        fate = "grows until that succeeds"
        if isinstance(error, OSError | apsw.IOError):
            self._shared.keep_log()
            # It may have been the sync of the log that failed: commits that were written but not
            # synced yet have to be written again before they are acknowledged.
            self._shared.set_damaged(True)
            fate = "is kept, and grows, until the server is started again"
        elif (remark := self._pace.remark()) is None:
            return
        else:
            fate += remark
        _log.error("the write-ahead log could not be moved, and %s", fate, exc_info=error)


def close_connection(connection: apsw.Connection, shared: SharedState) -> None:
    """Close a connection; the last one takes the log with it, unless that is to be kept."""
    if shared.keeps_log():
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    with contextlib.suppress(apsw.Error):
        connection.close()
