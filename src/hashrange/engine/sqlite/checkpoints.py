"""Checkpoints: copying the write-ahead log into the database.

The log can restart from its beginning only when all of it is in the database and no process is
writing. Copying and syncing it takes a dozen milliseconds, so there are two steps: most of the log
is copied while others write. The next process that has the turn to write copies the rest, which
takes one or two milliseconds. This shortens the slowest writes: with 16 connections the time of the
slowest percent is halved, with 64 it is a third less.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable
from typing import Final, final

import apsw

from hashrange.engine.sqlite.log_sync import File
from hashrange.engine.sqlite.shared_state import SharedState

CHECKPOINT_BYTES: Final = 32 << 20
"""How much this process writes to the log, by its own estimate, between checkpoints.

Against half of it: 1.05 times the lone puts, 1.0 to 1.1 times the puts and updates with 16
connections, and a tenth less time for the slowest percent.
"""

LOG_FRAMES_MAX: Final = 32768
"""Beyond this the checkpoint waits for readers, so that the log starts again from its beginning."""

_ROW_OVERHEAD_BYTES: Final = 8192
_log = logging.getLogger(__name__)


@final
class Checkpoints:
    """Decides when to copy the log, and tracks the progress; one per writing process.

    A disk that failed may have lost any part of what was copied, and says so only once; but SQLite
    does not copy it again, since it copied it before. So the log is then kept by all processes.
    The next server that opens the directory copies all of it.
    """

    __slots__ = (
        "_bytes_max",
        "_connect",
        "_database",
        "_is_copying",
        "_logged_bytes",
        "_shared",
        "is_copied",
    )

    def __init__(
        self,
        connect: Callable[[], apsw.Connection],
        database: File,
        shared: SharedState,
        bytes_max: int,
    ) -> None:
        self._connect = connect
        self._database = database
        self._shared = shared
        self._bytes_max = bytes_max
        self._logged_bytes = 0
        self._is_copying = False
        # Whether the next one to commit is to finish the checkpoint.
        self.is_copied = False

    def note_batch(self, put_bytes: int, decisions: int) -> None:
        """Note how much was added to the log."""
        self._logged_bytes += put_bytes + _ROW_OVERHEAD_BYTES * decisions

    def begin(self) -> bool:
        """Tell whether the log is to be copied now, which the caller then has to do."""
        if self._logged_bytes < self._bytes_max or self._is_copying or self.is_copied:
            return False
        self._logged_bytes = 0
        self._is_copying = not self._shared.keeps_log()
        return self._is_copying

    def copy(self) -> None:
        """Copy the log into the database, in a thread, while others write."""
        try:
            with contextlib.closing(self._connect()) as connection:
                connection.wal_checkpoint(None, apsw.SQLITE_CHECKPOINT_PASSIVE)
            # SQLite leaves this to the end of the checkpoint.
            self._database.sync()
            self.is_copied = True
        except (OSError, apsw.Error) as error:
            self._note_failure(error)
        finally:
            self._is_copying = False

    def finish(self, connection: apsw.Connection) -> None:
        """Copy the rest, so that the next commit starts the log afresh; the turn is held.

        Readers are never waited for unless the log has grown long: each of their transactions is
        one short call.
        """
        self.is_copied = False
        self._logged_bytes = 0
        if self._shared.keeps_log():
            return
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
            fate = "is kept, and grows, until the server is started again"
        _log.error("the write-ahead log could not be moved, and %s", fate, exc_info=error)


def close_connection(connection: apsw.Connection, shared: SharedState) -> None:
    """Close a connection; the last one takes the log with it, unless that is to be kept."""
    if shared.keeps_log():
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    with contextlib.suppress(apsw.Error):
        connection.close()
