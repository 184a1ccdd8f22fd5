"""Functions behind HTTP endpoints: what they are sent, and how they fail."""

import contextlib
import json
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from hashrange.model.triggers import FunctionRecord
from tests.unit.services.triggers.invocations import EVENT, call


class RecordingServer(ThreadingHTTPServer):
    received: list[tuple[str, str, Any]]

    def __init__(self, *settings):
        super().__init__(*settings)
        self.received = []


class Endpoint(BaseHTTPRequestHandler):
    server: RecordingServer

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.received.append((self.path, self.headers["Content-Type"], json.loads(body)))
        if self.path == "/slow":
            time.sleep(0.5)
        status, answer = {"/bad": (500, b"broken"), "/empty": (204, b"")}.get(
            self.path, (200, b'{"ok": true}')
        )
        if self.path == "/slow":
            return  # nobody waits any more
        self.send_response(status)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *arguments):
        pass


@pytest.fixture
def endpoint():
    with RecordingServer(("127.0.0.1", 0), Endpoint) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def http(server, path, **fields):
    port = server.server_address[1]
    return FunctionRecord("hook", "http", f"http://127.0.0.1:{port}{path}", **fields)


def test_an_endpoint_is_posted_the_event(endpoint):
    (outcome,) = call(http(endpoint, "/hook?a=b"), EVENT)
    assert outcome.answer == {"ok": True}
    assert endpoint.received == [("/hook?a=b", "application/json", EVENT)]
    (outcome,) = call(http(endpoint, "/empty"), EVENT)
    assert outcome.answer is None
    assert outcome.error is None


def test_an_endpoint_fails_by_its_status(endpoint):
    (outcome,) = call(http(endpoint, "/bad"), EVENT)
    assert outcome.error == "status 500: broken"
    assert outcome.is_invoked


def test_an_endpoint_that_takes_too_long_has_failed(endpoint):
    (outcome,) = call(http(endpoint, "/slow", timeout_seconds=0.2), EVENT)
    assert "timed out" in outcome.error


def test_an_endpoint_may_answer_in_chunks_or_until_it_hangs_up(raw_endpoint):
    for answer in (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n[1,2\r\n1\r\n]\r\n0\r\n\r\n",
        b"HTTP/1.0 200 OK\r\n\r\n[1,2]",
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n[1,2]",
    ):
        (outcome,) = call(raw_endpoint(answer), EVENT)
        assert outcome.answer == [1, 2]


def test_an_answer_that_makes_no_sense_is_a_failure(raw_endpoint):
    for answer in (b"", b"hello\r\n\r\n"):
        (outcome,) = call(raw_endpoint(answer), EVENT)
        assert outcome.error
        assert outcome.is_invoked


@pytest.fixture
def raw_endpoint():
    """Listen for one connection, which is answered with some bytes and closed."""
    with contextlib.ExitStack() as stack:

        def answer_once(listening, answer):
            connection, _ = listening.accept()
            with connection:
                connection.recv(1 << 16)
                connection.sendall(answer)
                connection.shutdown(socket.SHUT_WR)
                connection.recv(1 << 16)

        def make(answer):
            listening = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            thread = threading.Thread(target=answer_once, args=(listening, answer))
            thread.start()
            stack.callback(thread.join)
            port = listening.getsockname()[1]
            return FunctionRecord("hook", "http", f"http://127.0.0.1:{port}/")

        yield make


def test_an_endpoint_nobody_listens_at_is_unreachable(endpoint):
    function = FunctionRecord("hook", "http", "http://127.0.0.1:1/")
    (outcome,) = call(function, EVENT)
    assert not outcome.is_invoked
