"""One turn of the event loop: its requests are answered together, its responses sent together.

The event loop first reads all sockets that are ready, then answers all complete requests, then
writes all responses. The only connection of a process is answered at once. Measured: see
docs/decisions/0011-answering-a-turn-together.md.
"""

from __future__ import annotations

import asyncio
from typing import Final, Protocol, final

# Enough for many small responses; larger ones need not wait for each other.
_HELD_BYTES_MAX: Final = 64 * 1024
# How long requests are answered before responses are sent and sockets read.
_TURN_SECONDS_MAX: Final = 0.01


class Answering(Protocol):
    """A connection, as `LoopTurn` sees it."""

    def answer_waiting(self) -> None: ...

    def abort(self) -> None: ...


@final
class LoopTurn:
    """The connections to answer and the responses to send in this turn; one per process."""

    __slots__ = ("_held_bytes", "_is_due", "_loop", "_ready", "_responses", "is_shared")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._ready: list[Answering] = []
        self._responses: list[tuple[asyncio.Transport, bytes]] = []
        self._held_bytes = 0
        self._is_due = False
        # Whether there is more than one connection.
        self.is_shared = True

    def answer(self, connection: Answering) -> None:
        """Have the waiting requests of a connection answered in this turn."""
        self._ready.append(connection)
        if not self._is_due:
            self._begin()

    def send(self, transport: asyncio.Transport, response: bytes) -> None:
        """Send a response at the end of the turn."""
        self._responses.append((transport, response))
        self._held_bytes += len(response)
        if self._held_bytes > _HELD_BYTES_MAX:
            self.flush()
        elif not self._is_due:
            self._begin()

    def flush(self) -> None:
        """Send held responses now; needed before anything else is written or a transport closed."""
        responses = self._responses
        if responses:
            self._responses = []
            self._held_bytes = 0
            for transport, response in responses:
                if not transport.is_closing():
                    transport.write(response)

    def _begin(self) -> None:
        self._is_due = True
        if self.is_shared:
            self._loop.call_soon(self._end)
        else:
            self._end()

    def _end(self) -> None:
        ready = self._ready
        self._ready = []
        try:
            ends_at = self._loop.time() + _TURN_SECONDS_MAX
            for position, connection in enumerate(ready):
                if self._loop.time() > ends_at:
                    # The rest is answered after the sockets were read.
                    self._ready = ready[position:] + self._ready
                    break
                try:
                    connection.answer_waiting()
                except Exception as error:  # noqa: BLE001  # others wait for their answers
                    connection.abort()
                    context = {"message": "A request was not answered", "exception": error}
                    self._loop.call_exception_handler(context)
        finally:
            # Not earlier: until here, `send` must not schedule another turn.
            self._is_due = False
            self.flush()
            if self._ready:
                # Connections that have more to answer come again after the others were read.
                self._is_due = True
                self._loop.call_soon(self._end)
