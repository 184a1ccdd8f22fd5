"""A graceful stop: what is in flight is finished, what is idle is closed, nothing hangs."""

import pytest

from hashrange.wire.http.bounds import Bounds
from tests.wire.conftest import eventually, post


def test_a_stop_finishes_what_is_in_flight(start_server, connect):
    server = start_server(Bounds(stop_seconds=5))
    idle, busy, sending = connect(server), connect(server), connect(server)
    assert idle.call()[0] == 200
    busy.send(post("Wait"))
    sending.send(post("Echo", b"{", Content_Length="2"))
    eventually(lambda: server.waiting and server.server.buffered_bytes)
    server.stop()
    assert idle.is_closed()
    server.open_gate()
    sending.send(b"}")
    for client in (busy, sending):
        status, headers, _ = client.response()
        assert (status, headers["connection"]) == (200, "close")
        assert client.is_closed()
    server.join()


def test_a_stopping_server_accepts_nobody_new(start_server, connect):
    server = start_server(Bounds(stop_seconds=5))
    busy = connect(server)
    busy.send(post("Wait"))
    eventually(lambda: server.waiting)
    server.stop()
    eventually(lambda: server.server.is_stopping)
    with pytest.raises(OSError):  # noqa: PT011 - refused or reset, as the timing has it
        connect(server).call()
    server.open_gate()
    assert busy.response()[0] == 200


def test_a_stop_does_not_wait_for_ever(start_server, connect):
    server = start_server(Bounds(stop_seconds=0.1))
    busy = connect(server)
    busy.send(post("Wait"))
    eventually(lambda: server.waiting)
    server.stop()
    server.join()
    assert busy.is_closed()
