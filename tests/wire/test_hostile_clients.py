"""What no client may achieve: to kill, wedge or bloat the server, whatever it sends or omits."""

import contextlib
import gzip
import json
import random
import socket
import struct
import threading
import time
import tracemalloc
from typing import Any

import pytest

from hashrange.wire.http.bounds import Bounds
from tests.harness.tracing import traced_factor
from tests.wire.conftest import eventually, post

QUICK: dict[str, Any] = {"tick_seconds": 0.02, "stop_seconds": 2}


def is_clean(server):
    """Tell whether nothing is left of earlier requests."""
    return (
        server.server.buffered_bytes == 0
        and server.server.in_flight == 0
        and server.server.connection_count == 0
    )


def assert_serves(server, connect):
    client = connect(server)
    assert client.call()[0] == 200
    client.close()
    eventually(lambda: is_clean(server))


@pytest.mark.parametrize(
    "garbage",
    [
        b"\x00" * 100,
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"tls" * 50,
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"CONNECT example.com:443 HTTP/1.1\r\n\r\n",
        b"\r\n\r\n\r\nhello\r\n",
    ],
)
def test_garbage_is_refused_and_hung_up_on(start_server, connect, garbage):
    server = start_server(Bounds(linger_seconds=0.05, **QUICK))
    client = connect(server)
    client.send(garbage)
    status, headers, _ = client.response()
    assert status in (400, 404)
    assert headers["connection"] == "close"
    assert client.is_closed()
    assert_serves(server, connect)


def test_good_requests_before_garbage_are_answered(start_server, connect):
    server = start_server(Bounds(linger_seconds=0.05, **QUICK))
    client = connect(server)
    client.send(post("Echo") + post("Echo") + b"\x00\x01garbage")
    assert [client.response()[0] for _ in range(3)] == [200, 200, 400]
    assert client.is_closed()


def test_random_bytes_never_wedge_the_server(start_server, connect):
    server = start_server(Bounds(linger_seconds=0.05, **QUICK))
    generator = random.Random(7)
    whole = post("Echo", b'{"A":1}')
    for _ in range(200):
        client = connect(server)
        mutated = bytearray(whole)
        for _ in range(generator.randrange(1, 6)):
            mutated[generator.randrange(len(mutated))] = generator.randrange(256)
        client.send(bytes(mutated[: generator.randrange(1, len(mutated) + 1)]))
        client.close()
    assert_serves(server, connect)


@pytest.mark.parametrize("opening", [b"[", b'{"a":', b'{"L":[{"M":{"a":'])
def test_deeply_nested_json_is_a_serialization_error(client, opening):
    status, _, body = client.call(body=opening * 200_000)
    assert status == 400
    assert json.loads(body)["__type"].endswith("#SerializationException")


def test_a_long_header_is_refused(start_server, connect):
    server = start_server(Bounds(header_bytes_max=8192, linger_seconds=0.05, **QUICK))
    client = connect(server)
    client.send(post("Echo", X_Long="x" * 10_000))
    assert client.response()[0] == 400
    assert client.is_closed()


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (post("Echo", X_Long="x" * 15_000), 200),
        (post("Echo", X_Long="x" * 17_000), 400),
        (post("Echo").replace(b"POST / ", b"POST /?a=" + b"x" * 15_000 + b" "), 200),
        (post("Echo").replace(b"POST / ", b"POST /?a=" + b"x" * 17_000 + b" "), 400),
    ],
    ids=["header", "long header", "line", "long line"],
)
def test_a_header_has_at_most_sixteen_kilobytes(client, request_bytes, status):
    client.send(request_bytes)
    assert client.response()[0] == status


def test_a_header_without_end_is_refused(start_server, connect):
    server = start_server(Bounds(header_bytes_max=8192, linger_seconds=0.05, **QUICK))
    client = connect(server)
    client.send(b"POST / HTTP/1.1\r\n")
    client.send(b"".join(b"X-%d: %b\r\n" % (number, b"x" * 500) for number in range(100)))
    assert client.response()[0] == 400
    assert client.is_closed()
    assert_serves(server, connect)


def test_a_body_of_sixteen_megabytes_passes_and_a_byte_more_does_not(client):
    body = b'{"A":"' + b"x" * (16 * 1024 * 1024 - 8) + b'"}'
    assert client.call("Large", body.replace(b'{"A', b'{"Bytes":1,"A')[:10])[0] == 400
    assert client.call("Echo", body)[0] == 200
    status, headers, _ = client.call("Echo", body + b" ")
    assert (status, headers["connection"]) == (413, "close")


def test_a_chunked_body_without_end_is_refused(start_server, connect):
    server = start_server(Bounds(body_bytes_max=100_000, linger_seconds=0.05, **QUICK))
    client = connect(server)
    client.send(post("Echo", b"", Content_Length=None, Transfer_Encoding="chunked"))
    client.send((b"2710\r\n" + b"x" * 10_000 + b"\r\n") * 11)
    assert client.response()[0] == 413
    assert client.is_closed()
    assert_serves(server, connect)


def test_a_compressed_bomb_is_refused(client):
    bomb = gzip.compress(b" " * (64 * 1024 * 1024))
    assert client.call(body=bomb, Content_Encoding="gzip")[0] == 413


def test_a_bomb_of_many_members_is_refused(client):
    member = gzip.compress(b" " * 1024 * 1024)
    assert client.call(body=member * 17, Content_Encoding="gzip")[0] == 413


def test_a_body_of_very_many_members_is_refused_soon(client):
    empty = gzip.compress(b"")
    assert client.call(body=empty * 500_000, Content_Encoding="gzip")[0] == 500


def test_an_announced_body_that_is_too_large_is_refused_before_it_is_sent(client):
    client.send(post("Echo", b"", Content_Length="99999999999999999999", Expect="100-continue"))
    assert client.response()[0] in (400, 413)


def test_of_too_much_sent_at_once_the_largest_body_is_answered_with_503(start_server, connect):
    server = start_server(Bounds(buffered_bytes_max=100_000, linger_seconds=0.05, **QUICK))
    first, second = connect(server), connect(server)
    first.send(post("Echo", b" " * 90_000, Content_Length="95000"))
    eventually(lambda: server.server.buffered_bytes == 90_000)
    second.send(post("Echo", b"{}" + b" " * 20_000))
    assert second.response()[0] == 200
    status, _, body = first.response()
    assert status == 503
    assert json.loads(body)["__type"].endswith("#ServiceUnavailableException")
    second.send(post("Echo", b"{}" + b" " * 200_000))
    assert second.response()[0] == 503


def test_too_many_requests_in_flight_are_answered_with_503(start_server, connect):
    server = start_server(Bounds(in_flight_max=2, **QUICK))
    waiting = [connect(server) for _ in range(2)]
    for client in waiting:
        client.send(post("Wait"))
    eventually(lambda: server.waiting == 2)
    client = connect(server)
    status, headers, _ = client.call("Wait")
    assert (status, headers["connection"]) == (503, "keep-alive")
    server.open_gate()
    assert [client.response()[0] for client in waiting] == [200, 200]
    assert client.call("Wait")[0] == 200


def test_too_many_connections_are_answered_with_503(start_server, connect):
    server = start_server(Bounds(connections_max=2, **QUICK))
    clients = [connect(server) for _ in range(2)]
    assert [client.call()[0] for client in clients] == [200, 200]
    surplus = connect(server)
    status, headers, _ = surplus.call()
    assert (status, headers["connection"]) == (503, "close")
    clients[0].close()
    eventually(lambda: server.server.connection_count == 1)
    assert connect(server).call()[0] == 200


def test_a_client_that_sends_its_header_slowly_is_dropped(start_server, connect):
    server = start_server(Bounds(header_seconds=0.1, linger_seconds=0.05, **QUICK))
    client = connect(server)
    client.send(b"POST / HTTP/1.1\r\nHost: x\r\n")
    assert client.response()[0] == 408
    assert client.is_closed()


def test_a_client_that_sends_its_body_slowly_is_dropped(start_server, connect):
    server = start_server(Bounds(body_seconds=0.1, linger_seconds=0.05, **QUICK))
    client = connect(server)
    client.send(post("Echo", b"{", Content_Length="100"))
    assert client.response()[0] == 408
    assert client.is_closed()
    eventually(lambda: is_clean(server))


def test_an_idle_client_is_dropped(start_server, connect):
    server = start_server(Bounds(idle_seconds=0.1, **QUICK))
    client = connect(server)
    assert client.call()[0] == 200
    assert client.is_closed()


def test_the_first_client_after_a_pause_is_not_idle(start_server, connect):
    server = start_server(Bounds(idle_seconds=1, header_seconds=1, **QUICK))
    assert_serves(server, connect)
    eventually(lambda: server.server._ticker is None)
    server.server.now -= 3600  # nobody looked at the time for an hour
    client = connect(server)
    assert client.call()[0] == 200
    eventually(lambda: server.server._ticker is not None)
    assert client.call()[0] == 200


def test_a_client_that_waits_for_its_answer_is_not_idle(start_server, connect):
    server = start_server(Bounds(idle_seconds=0.05, **QUICK))
    client = connect(server)
    client.send(post("Wait"))
    idle = connect(server)
    assert idle.is_closed()
    assert idle.is_closed()
    server.open_gate()
    assert client.response()[0] == 200


def test_a_client_that_does_not_read_is_dropped(start_server, connect):
    server = start_server(Bounds(write_seconds=0.1, **QUICK))
    client = connect(server)
    client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.send(post("Large", b'{"Bytes":4000000}') * 20)
    eventually(lambda: is_clean(server))


def test_a_slow_reader_gets_everything(client):
    client.send(post("Large", b'{"Bytes":2000000}') * 20)
    sizes = [len(client.response()[2]) for _ in range(20)]
    assert sizes == [2_000_012] * 20


def test_a_client_that_vanishes_leaves_nothing_behind(start_server, connect):
    server = start_server()
    for data in (
        post("Wait", b'{"A":1}'),
        post("Wait") + post("Echo", b"{}" + b" " * 1000),
        post("Echo", b"x" * 50_000, Content_Length="90000"),
        post("Echo")[:50],
    ):
        client = connect(server)
        client.send(data)
        eventually(lambda: server.server.connection_count > 0)
        # Reset instead of an orderly close.
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()
    server.open_gate()
    eventually(lambda: is_clean(server))
    assert_serves(server, connect)


def test_many_requests_sent_ahead_are_all_answered(client):
    count = 3000
    sender = threading.Thread(target=client.send, args=(post("Echo") * count,))
    sender.start()
    assert {client.response()[0] for _ in range(count)} == {200}
    sender.join()


def test_small_chunks_cost_no_more_memory_than_their_bytes(start_server, connect):
    server = start_server(Bounds(**QUICK))
    client = connect(server)
    count = 20_000
    chunk = b"64\r\n" + b" " * 100 + b"\r\n"
    tracemalloc.start()
    try:
        head = post("Echo", b"", Content_Length=None, Transfer_Encoding="chunked")
        client.send(head + b"2\r\n{}\r\n" + chunk * count)
        eventually(lambda: server.server.buffered_bytes == 100 * count + 2)
        held = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert held < 200 * count
    client.send(b"0\r\n\r\n")
    assert client.response()[0] == 200


def test_a_body_of_tiny_chunks_is_refused(start_server, connect):
    client = connect(start_server(Bounds(**QUICK)))
    head = post("Echo", b"", Content_Length=None, Transfer_Encoding="chunked")
    client.send(head + b"2\r\n  \r\n" * 5000)
    assert client.response()[0] == 400


def test_a_body_that_makes_too_little_progress_is_given_up(start_server, connect):
    server = start_server(
        Bounds(body_start_seconds=0.1, body_bytes_per_second_min=1 << 20, **QUICK)
    )
    client = connect(server)
    client.send(post("Echo", b" " * 1000, Content_Length="1000000"))
    assert client.response()[0] == 408


def test_of_clients_that_do_not_read_those_with_the_most_unread_are_dropped(start_server, connect):
    server = start_server(Bounds(unsent_bytes_max=20 << 20, **QUICK))
    clients = [connect(server) for _ in range(8)]
    for client in clients:
        client.send(post("Large", b'{"Bytes":12000000}'))
    eventually(lambda: server.server.connection_count < len(clients))
    eventually(lambda: sum(other.unsent_bytes for other in list(server.server.choked)) <= 20 << 20)
    polite = connect(server)
    assert polite.call()[0] == 200


@pytest.mark.parametrize(
    "lines",
    [
        b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
        b"Transfer-Encoding: identity\r\nContent-Length: 5\r\n",
        b"Content-Length: 5\r\nContent-Length: 6\r\n",
        b"Transfer-Encoding: chunked, identity\r\n",
    ],
)
def test_a_body_of_ambiguous_length_is_refused_and_nothing_behind_it_answered(
    start_server, connect, lines
):
    server = start_server(Bounds(linger_seconds=0.05, **QUICK))
    client = connect(server)
    client.send(b"POST / HTTP/1.1\r\nHost: localhost\r\n" + lines + b"\r\n0\r\n\r\n")
    client.send(post("Echo"))
    status, headers, _ = client.response()
    assert (status, headers["connection"]) == (400, "close")
    assert client.is_closed()


def test_a_flood_of_pipelined_requests_does_not_keep_another_client_waiting(start_server, connect):
    server = start_server(Bounds(**QUICK))
    flood = [connect(server) for _ in range(50)]
    polite = connect(server)
    request = post("Echo")
    for client in flood:
        client.socket.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            client.socket.send(request * 1000)
    before = time.process_time()
    assert polite.call()[0] == 200
    assert time.process_time() - before < 0.5 * traced_factor()
    for client in flood:
        client.socket.setblocking(True)
