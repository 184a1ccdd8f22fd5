"""The bounds of the HTTP server, which protect it from slow, greedy and hostile clients."""

from __future__ import annotations

from dataclasses import dataclass

from hashrange.limits import REQUEST_BODY_BYTES_MAX


@dataclass(frozen=True, slots=True)
class Bounds:
    """The limits of one server process; the defaults suit one machine."""

    header_bytes_max: int = 16 * 1024
    body_bytes_max: int = REQUEST_BODY_BYTES_MAX
    # Beyond this many connections a request is answered with 503; beyond twice as many, the
    # connection is dropped unanswered.
    connections_max: int = 4096
    # Requests that wait for the disk, over all connections.
    in_flight_max: int = 8192
    # Bodies held in memory, over all connections; beyond it the largest is refused.
    buffered_bytes_max: int = 64 * 1024 * 1024
    # Answers that clients do not read; beyond it the connection with the most is dropped.
    unsent_bytes_max: int = 128 * 1024 * 1024
    # Requests that one connection may send ahead of their answers before it is no longer read.
    pipeline_max: int = 32

    # How often the time limits below are looked at.
    tick_seconds: float = 1.0
    idle_seconds: float = 300
    header_seconds: float = 20
    body_seconds: float = 120
    # The least progress of a body, after a first delay.
    body_start_seconds: float = 10
    body_bytes_per_second_min: int = 1024
    # A client that does not read its answer.
    write_seconds: float = 60
    # After a refusal: how long what the client still sends is read and thrown away.
    linger_seconds: float = 3
    # How long a stop waits for what is in flight.
    stop_seconds: float = 20


DEFAULT_BOUNDS = Bounds()
