"""The way in: a listening socket that all processes of a server wait on, each taking its share.

The kernel would deal connections out at random: of sixteen, eleven to one of two processes and five
to the other is nothing unusual, and who shares a process with ten others waits longer. So a process
takes connections only while no other has fewer, and leaves that one a moment to come first.
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
# How often a process that stepped back looks whether the other has come, and how many times. That
# is long enough for one that waits for the disk: of 4 connections that came at once and began to
# write, one process often had 3 when it waited only a millisecond.
_YIELD_SECONDS: Final = 0.001
_LOOKS_MAX: Final = 5
# In one turn of the event loop; then those who are in are answered first. When each turn took one,
# the last of 64 that came at once waited for as many turns, with all before it answered in each.
_TAKEN_MAX: Final = 64
# When there is no descriptor or no memory for another connection.
_REST_SECONDS: Final = 1.0
_STEP_PART: Final = 16


@final
class SharedListener:
    """A bound socket, and how many connections each process has that waits on it.

    Made before the processes are forked; each then says which one it is.
    """

    def __init__(self, listening: socket.socket, processes: int = 1) -> None:
        self.listening = listening
        self._counts = memoryview(mmap.mmap(-1, processes * _COUNT_BYTES)).cast("q")
        self._index = 0

    def enter(self, index: int) -> None:
        """Be one of the processes, with no connections yet."""
        self._index = index
        self._counts[index] = 0

    def count(self, change: int) -> None:
        """Say how many connections more, or fewer, this process has."""
        self._counts[self._index] += change

    @property
    def is_ahead(self) -> bool:
        """Whether another process has clearly fewer connections than this one."""
        return self._counts[self._index] >= min(self._counts) + self.step

    @property
    def step(self) -> int:
        """How many connections to take at once: of many, one in sixteen more is no matter."""
        return 1 + self._counts[self._index] // _STEP_PART


@final
class Acceptor:
    """Takes connections in, on the event loop of one process."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        listener: SharedListener,
        welcome: Callable[[socket.socket], None],
    ) -> None:
        self._loop = loop
        self._listener = listener
        self._listening = listener.listening
        self._welcome = welcome
        self._return: asyncio.TimerHandle | None = None
        self._looks = 0

    def start(self) -> None:
        """Take connections in from now on."""
        self._listening.setblocking(False)
        self._listening.listen(_BACKLOG)
        self._loop.add_reader(self._listening, self._offer)

    def stop(self) -> None:
        """Take no more, and let go of the socket."""
        if self._return is not None:
            self._return.cancel()
            self._return = None
        self._loop.remove_reader(self._listening)
        self._listening.close()

    def note_departure(self) -> None:
        """Take note that a connection is closed."""
        self._listener.count(-1)

    def _offer(self) -> None:
        for _ in range(_TAKEN_MAX):
            if self._listener.is_ahead:
                self._step_back(_YIELD_SECONDS, _LOOKS_MAX)
                return
            if not self._take():
                return

    def _take(self) -> bool:
        """Take a connection in if there is one; tell whether there may be another."""
        try:
            accepted, _ = self._listening.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return False  # another process was quicker, or the client is gone
        except OSError as error:
            _LOGGER.error("no connection can be accepted for a moment: %s", error)
            self._step_back(_REST_SECONDS)
            return False
        # At once, not when it has been welcomed: the next one may be there before that.
        self._listener.count(+1)
        self._welcome(accepted)
        return True

    def _step_back(self, seconds: float, looks: int = 1) -> None:
        self._loop.remove_reader(self._listening)
        self._looks = looks
        self._return = self._loop.call_later(seconds, self._look)

    def _look(self) -> None:
        self._looks -= 1
        if self._looks > 0 and self._listener.is_ahead:
            self._return = self._loop.call_later(_YIELD_SECONDS, self._look)
        else:
            self._come_back()

    def _come_back(self) -> None:
        self._return = None
        self._loop.add_reader(self._listening, self._offer)
        for _ in range(self._listener.step):  # what nobody else took meanwhile
            if not self._take():
                return
