"""The server of one process: accepted connections, their time limits, and a graceful stop.

A server belongs to one event loop; nothing here is called from another thread.
"""

from __future__ import annotations

import asyncio
import socket
from typing import Final, final

from hashrange.beat import seconds_to_beat
from hashrange.wire.http.bounds import Bounds
from hashrange.wire.http.connection import Connection
from hashrange.wire.http.head_cache import HeadCache
from hashrange.wire.http.listener import Acceptor, SharedListener
from hashrange.wire.http.loop_turn import LoopTurn
from hashrange.wire.http.messages import HttpAnswer
from hashrange.wire.http.overload import BUSY
from hashrange.wire.http.phase import Phase
from hashrange.wire.http.router import Router
from hashrange.wire.http.tls import Certificates, is_handshake, refuse_plain

# Bodies that are taken however many others there are.
_SMALL_BODY_BYTES: Final = 16 * 1024


@final
class Server:
    """Accepts connections and watches over them."""

    def __init__(
        self, router: Router, bounds: Bounds, certificates: Certificates | None = None
    ) -> None:
        self.bounds = bounds
        self._certificates = certificates
        self.loop = asyncio.get_running_loop()
        self.head_cache = HeadCache()
        self.turn = LoopTurn(self.loop)
        # The time of the last tick: exact enough for time limits.
        self.now = self.loop.time()
        self.in_flight = 0
        self.buffered_bytes = 0
        self.has_surplus = False
        self.is_stopping = False
        self.respond = router.respond
        self._router = router
        self._connections: set[Connection] = set()
        # Connections whose clients do not read.
        self.choked: set[Connection] = set()
        self._joining: set[asyncio.Task[None]] = set()
        self._acceptor: Acceptor | None = None
        self._ticker: asyncio.TimerHandle | None = None
        self._all_gone = asyncio.Event()

    @property
    def connection_count(self) -> int:
        return len(self._connections)

    def start(self, listener: SharedListener) -> None:
        """Accept connections from now on."""
        self._acceptor = Acceptor(self.loop, listener, self._begin_connection)
        self._acceptor.start()
        self._tick()

    async def stop(self) -> None:
        """Accept nothing new, finish what is in flight, then hang up."""
        self.is_stopping = self._router.is_stopping = True
        if self._acceptor is not None:
            self._acceptor.stop()
        for joining in self._joining:
            joining.cancel()
        for connection in list(self._connections):
            connection.close_when_idle()
        if self._connections:
            try:
                await asyncio.wait_for(self._all_gone.wait(), self.bounds.stop_seconds)
            except TimeoutError:
                for connection in list(self._connections):
                    connection.abort()
        if self._ticker is not None:
            self._ticker.cancel()

    def _begin_connection(self, accepted: socket.socket) -> None:
        if len(self._joining) >= self.bounds.connections_max:
            # So many clients that have not finished their handshake.
            accepted.close()
            self._note_departure()
            return
        joining = self.loop.create_task(self._join(accepted))
        self._joining.add(joining)
        joining.add_done_callback(self._joining.discard)

    async def _join(self, accepted: socket.socket) -> None:
        try:
            accepted.setblocking(False)
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._certificates is None:
                await self.loop.connect_accepted_socket(  # type: ignore[type-var]
                    lambda: Connection(self), accepted
                )
            else:
                await self._join_securely(accepted, self._certificates)
        except (OSError, asyncio.CancelledError):
            accepted.close()  # the client is gone again, its handshake failed, or the server stops
            self._note_departure()

    async def _join_securely(self, accepted: socket.socket, certificates: Certificates) -> None:
        seconds = self.bounds.header_seconds
        if not await is_handshake(self.loop, accepted, seconds):
            await refuse_plain(self.loop, accepted)
            self._note_departure()
            return
        await self.loop.connect_accepted_socket(  # type: ignore[type-var]
            lambda: Connection(self),
            accepted,
            ssl=certificates.context,
            ssl_handshake_timeout=seconds,
            ssl_shutdown_timeout=self.bounds.linger_seconds,
        )

    # Called by connections.

    def admit(self, connection: Connection) -> bool:
        """Register a new connection; false when there are too many even to refuse it politely."""
        if self._ticker is None:
            # Nobody has looked at the time since the last connection ended.
            self._tick()
            connection.since = self.now
        self._connections.add(connection)
        self._tick_later()
        count = self._count()
        self.has_surplus = count > self.bounds.connections_max
        return count <= 2 * self.bounds.connections_max and not self.is_stopping

    def forget(self, connection: Connection) -> None:
        """Unregister a connection that is closed."""
        self._connections.discard(connection)
        self.choked.discard(connection)
        self._note_departure()
        self.has_surplus = self._count() > self.bounds.connections_max
        if self.is_stopping and not self._connections:
            self._all_gone.set()

    def is_crowded_by(self, body_bytes: int) -> bool:
        """Tell whether bodies are too large together, and one of this size counts."""
        return (
            self.buffered_bytes > self.bounds.buffered_bytes_max and body_bytes > _SMALL_BODY_BYTES
        )

    def relieve(self, receiving: Connection) -> HttpAnswer | None:
        """Refuse the largest body of all, which are too large together.

        Returns the refusal if it is that of the connection that is receiving.
        """
        largest = max(self._connections, key=_body_bytes, default=receiving)
        if largest is receiving or not largest.body_bytes:
            return BUSY
        largest.shed_body()
        return None

    def note_choked(self, connection: Connection) -> None:
        """Drop the connections with the most unread bytes while all together have too many."""
        choked = self.choked
        choked.add(connection)
        unsent = sum(map(_unsent_bytes, choked))
        while unsent > self.bounds.unsent_bytes_max and len(choked) > 1:
            largest = max(choked, key=_unsent_bytes)
            unsent -= largest.unsent_bytes
            choked.discard(largest)
            largest.abort()

    def _count(self) -> int:
        count = len(self._connections)
        self.turn.is_shared = count > 1
        return count

    def _note_departure(self) -> None:
        if self._acceptor is not None:
            self._acceptor.note_departure()

    # Time limits.

    def _tick(self) -> None:
        """Look at the time once a second, as long as there is a connection or a certificate."""
        self.now = self.loop.time()
        self._router.writer.tick()
        if self._certificates is not None:
            self._certificates.refresh()
        for connection in list(self._connections):
            if self.now - connection.since > self._seconds_max(connection):
                connection.expire()
        self._ticker = None
        if self._connections or self._certificates is not None:
            self._tick_later()

    def _tick_later(self) -> None:
        if self._ticker is None:
            delay = seconds_to_beat(self.bounds.tick_seconds)
            self._ticker = self.loop.call_later(delay, self._tick)

    def _seconds_max(self, connection: Connection) -> float:
        bounds = self.bounds
        if connection.is_choked:
            return bounds.write_seconds
        if connection.phase is Phase.LINGER:
            # The client is not late while the server owes it answers.
            return bounds.linger_seconds if not connection.is_owed else float("inf")
        if connection.phase is Phase.HEADER:
            return bounds.header_seconds
        if connection.phase is Phase.BODY:
            progress = connection.body_bytes / bounds.body_bytes_per_second_min
            return min(bounds.body_seconds, bounds.body_start_seconds + progress)
        return bounds.idle_seconds if not connection.is_owed else float("inf")


def _body_bytes(connection: Connection) -> int:
    return connection.body_bytes


def _unsent_bytes(connection: Connection) -> int:
    return connection.unsent_bytes
