"""The listening socket, shared by all processes of a server, and an even share of connections.

A process accepts connections only while no other process has fewer; otherwise it waits a moment for
that process to accept them. Measured: see docs/decisions/0012-distribution-of-connections.md.
"""

from __future__ import annotations

import asyncio
import logging
import mmap
import socket
from collections.abc import Callable
from typing import Final, final

_LOGGER = logging.getLogger("hashrange.wire")

_BACKLOG: Final = 1024
_COUNT_BYTES: Final = 8
# How long a process waits for another one to accept a connection, and how often. Together this is
# longer than a commit, for which the other process may be waiting.
_YIELD_SECONDS: Final = 0.001
_LOOKS_MAX: Final = 5
# Connections accepted in one turn of the event loop, before requests are answered.
_TAKEN_MAX: Final = 64
# The pause when there is no descriptor or no memory for another connection.
_REST_SECONDS: Final = 1.0
_STEP_PART: Final = 16


@final
class SharedListener:
    """A bound socket and, in shared memory, the number of connections of each process.

    Made before the processes are forked; each then calls `enter` with its index.
    """

    def __init__(self, listening: socket.socket, processes: int = 1) -> None:
        self.listening = listening
        self._counts = memoryview(mmap.mmap(-1, processes * _COUNT_BYTES)).cast("q")
        self._index = 0

    def enter(self, index: int) -> None:
        """Become the process with this index, which has no connections yet."""
        self._index = index
        self._counts[index] = 0

    def count(self, change: int) -> None:
        """Add to the number of connections of this process."""
        self._counts[self._index] += change

    @property
    def is_ahead(self) -> bool:
        """Whether another process has clearly fewer connections than this one."""
        return self._counts[self._index] >= min(self._counts) + self.step

    @property
    def step(self) -> int:
        """The difference in connections that is tolerated: one, and one in sixteen of many."""
        return 1 + self._counts[self._index] // _STEP_PART


@final
class Acceptor:
    """Accepts connections on the event loop of one process."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        listener: SharedListener,
        begin_connection: Callable[[socket.socket], None],
    ) -> None:
        self._loop = loop
        self._listener = listener
        self._listening = listener.listening
        self._begin_connection = begin_connection
        self._return: asyncio.TimerHandle | None = None
        self._looks = 0

    def start(self) -> None:
        """Accept connections from now on."""
        self._listening.setblocking(False)
        self._listening.listen(_BACKLOG)
        self._loop.add_reader(self._listening, self._accept_all)

    def stop(self) -> None:
        """Accept no more connections and close the socket."""
        if self._return is not None:
            self._return.cancel()
            self._return = None
        self._loop.remove_reader(self._listening)
        self._listening.close()

    def note_departure(self) -> None:
        """Count a connection that was closed."""
        self._listener.count(-1)

    def _accept_all(self) -> None:
        for _ in range(_TAKEN_MAX):
            if self._listener.is_ahead:
                self._pause(_YIELD_SECONDS, _LOOKS_MAX)
                return
            if not self._accept_one():
                return

    def _accept_one(self) -> bool:
        """Accept a connection if there is one; tell whether there may be another."""
        try:
            accepted, _ = self._listening.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return False  # another process accepted it, or the client is gone
        except OSError as error:
            _LOGGER.error("no connection can be accepted for a moment: %s", error)
            self._pause(_REST_SECONDS)
            return False
        # Counted at once, since the next connection may arrive before this one is set up.
        self._listener.count(+1)
        self._begin_connection(accepted)
        return True

    def _pause(self, seconds: float, looks: int = 1) -> None:
        self._loop.remove_reader(self._listening)
        self._looks = looks
        self._return = self._loop.call_later(seconds, self._look_again)

    def _look_again(self) -> None:
        self._looks -= 1
        if self._looks > 0 and self._listener.is_ahead:
            self._return = self._loop.call_later(_YIELD_SECONDS, self._look_again)
        else:
            self._resume()

    def _resume(self) -> None:
        self._return = None
        self._loop.add_reader(self._listening, self._accept_all)
        for _ in range(self._listener.step):  # connections that no other process accepted meanwhile
            if not self._accept_one():
                return
