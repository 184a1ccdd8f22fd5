"""The phases of a connection, by which it has time limits."""

from __future__ import annotations

from enum import Enum, auto


class Phase(Enum):
    """What the client has to send next; each phase has a time limit."""

    IDLE = auto()
    HEADER = auto()
    BODY = auto()
    # Closing: further input is discarded.
    LINGER = auto()
