"""Sends an answer in pieces over a connection, as fast as the client reads them."""

from __future__ import annotations

import asyncio
from typing import Final, Protocol, final

from hashrange.wire.http.loop_turn import LoopTurn

# How long to wait before looking again whether a client has read what was sent.
_CHOKED_SECONDS: Final = 0.001


class Choking(Protocol):
    """A connection, as this module sees it."""

    @property
    def is_choked(self) -> bool: ...


@final
class StreamSink:
    """The sending end of one connection."""

    __slots__ = ("_connection", "_transport", "_turn")

    def __init__(self, connection: Choking, transport: asyncio.Transport, turn: LoopTurn) -> None:
        self._connection = connection
        self._transport = transport
        self._turn = turn

    async def send(self, piece: bytes) -> None:
        """Send a piece of the answer under way; returns when the client keeps up with reading."""
        transport = self._transport
        if transport.is_closing():
            raise ConnectionResetError
        self._turn.flush()
        transport.write(piece)
        while self._connection.is_choked and not transport.is_closing():
            await asyncio.sleep(_CHOKED_SECONDS)

    def abort(self) -> None:
        """Drop the connection."""
        self._transport.abort()
