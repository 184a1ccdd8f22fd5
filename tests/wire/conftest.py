"""A server on a free port in a thread of its own, and a socket that reads whole responses."""

import asyncio
import contextlib
import socket
import threading
import time
from typing import Any, ClassVar

import pytest
import uvloop

from hashrange.api.operation import Operation, Service
from hashrange.clock import SystemClock
from hashrange.errors import ResourceNotFoundException, StorageFullError, ValidationException
from hashrange.wire.auth.accounts import account_of
from hashrange.wire.auth.key_rings import Credential, FixedKeys, root_grants
from hashrange.wire.auth.sigv4 import OpenDoor, Verifier
from hashrange.wire.http.bounds import Bounds
from hashrange.wire.http.listener import SharedListener
from hashrange.wire.http.router import Router
from hashrange.wire.http.server import Server
from hashrange.wire.http.visitors import Visitors
from hashrange.wire.pipeline import Pipeline
from hashrange.wire.services import Neighbours
from hashrange.wire.stages import Stages

AUTHORIZATION = (
    "AWS4-HMAC-SHA256 Credential=local/20260101/eu-west-1/dynamodb/aws4_request, "
    "SignedHeaders=host;x-amz-date;x-amz-target, Signature=00"
)
WAIT_SECONDS_MAX = 10


class AnyShape:
    """A shape that accepts every request."""

    members: ClassVar[dict[str, object]] = {}

    def check(self, request):
        pass

    def check_values(self, request):
        pass


def _make_context(account, region) -> Any:
    return [account, region]


class RunningServer:
    """A server in a thread; its operations are Echo, Wait, Fail and Large."""

    def __init__(self, bounds, credentials=None, visitors=None, certificates=None):
        self.bounds = bounds
        self.certificates = certificates
        self.credentials = credentials
        self.visitors = visitors or Visitors(is_open=not credentials)
        self.waiting = 0
        self.last_peer: Any = None
        self.errors = []
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        assert self._started.wait(WAIT_SECONDS_MAX)

    def _run(self):
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(self._serve())

    async def _serve(self):
        self.loop = asyncio.get_running_loop()
        # Nothing may go wrong behind the client's back.
        self.loop.set_exception_handler(lambda loop, context: self.errors.append(context))
        self.gate = asyncio.Event()
        self.stop_asked = asyncio.Event()
        listening = socket.create_server(("127.0.0.1", 0))
        self.port = listening.getsockname()[1]
        authenticator: Any = OpenDoor()
        if self.credentials:
            keys = {
                key: Credential(key, secret, root_grants(account_of(key)))
                for key, secret in self.credentials.items()
            }
            authenticator = Verifier(FixedKeys(keys), SystemClock())
        pipeline = Pipeline(Stages(authenticator), _make_context)
        services, neighbours = [self._service()], Neighbours([])
        router = Router(pipeline, services, neighbours, self.visitors, self.bounds)
        self.server = Server(router, self.bounds, self.certificates)
        self.server.start(SharedListener(listening))
        self._started.set()
        await self.stop_asked.wait()
        await self.server.stop()

    def _service(self):
        async def echo(scope, request):
            self.last_peer = scope.peer
            return {"Request": request, "World": scope.context}

        async def wait(scope, request):
            self.waiting += 1
            await self.gate.wait()
            await asyncio.sleep(0)
            return {"Waited": request}

        async def large(scope, request):
            return {"Large": "x" * request["Bytes"]}

        async def fail(scope, request):
            failures = {
                "bug": ZeroDivisionError("a bug"),
                "full": StorageFullError("disk"),
                "validation": ValidationException("wrong"),
                "missing": ResourceNotFoundException("no such table"),
            }
            raise failures[request["How"]]

        handlers = {"Echo": echo, "Wait": wait, "Large": large, "Fail": fail}
        operations = [Operation(name, AnyShape(), handler) for name, handler in handlers.items()]
        return Service(
            "dynamodb", operations, signing_name="dynamodb", target_prefix="DynamoDB_20120810"
        )

    def open_gate(self):
        self.loop.call_soon_threadsafe(self.gate.set)

    def stop(self):
        # The loop is closed if it was stopped before.
        with contextlib.suppress(RuntimeError):
            self.loop.call_soon_threadsafe(self.stop_asked.set)

    def join(self):
        self._thread.join(WAIT_SECONDS_MAX)
        assert not self._thread.is_alive()
        assert not self.errors


class Client:
    """A raw socket to a server."""

    def __init__(self, port, tls=None):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=WAIT_SECONDS_MAX)
        if tls is not None:
            self.socket = tls.wrap_socket(self.socket, server_hostname="localhost")
        self._received = b""

    def send(self, data):
        self.socket.sendall(data)

    def call(self, operation="Echo", body=b"{}", **headers):
        self.send(post(operation, body, **headers))
        return self.response()

    def response(self, *, bodiless=False):
        """Read one response: status, headers in lower case, body."""
        while b"\r\n\r\n" not in self._received:
            self._receive()
        head, _, self._received = self._received.partition(b"\r\n\r\n")
        lines = head.decode().split("\r\n")
        headers = {}
        for line in lines[1:]:
            name, _, value = line.partition(": ")
            headers[name.lower()] = value
        length = 0 if bodiless else int(headers.get("content-length", 0))
        while len(self._received) < length:
            self._receive()
        body, self._received = self._received[:length], self._received[length:]
        return int(lines[0].split()[1]), headers, body

    def is_closed(self):
        """Wait for the server to close; whatever it still sends is dropped."""
        try:
            while self.socket.recv(65536):
                pass
        except ConnectionResetError:
            pass
        return True

    def _receive(self):
        data = self.socket.recv(1 << 20)
        if not data:
            raise ConnectionError(f"closed after {self._received[:200]!r}")
        self._received += data

    def close(self):
        self.socket.close()


def post(operation, body=b"{}", **headers):
    """Return the bytes of a request; underscores in header names become dashes."""
    lines = {
        "Host": "localhost",
        "X-Amz-Target": f"DynamoDB_20120810.{operation}",
        "X-Amz-Date": "20260101T000000Z",
        "Content-Type": "application/x-amz-json-1.0",
        "Authorization": AUTHORIZATION,
        "Content-Length": str(len(body)),
    }
    lines.update({name.replace("_", "-"): value for name, value in headers.items()})
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items() if value is not None)
    return f"POST / HTTP/1.1\r\n{head}\r\n".encode() + body


def eventually(condition):
    """Wait until a condition holds, within bounds."""
    deadline = time.monotonic() + WAIT_SECONDS_MAX
    while not condition():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.002)


@pytest.fixture
def start_server():
    """Start servers with bounds, credentials or visitors of a test's own."""
    with contextlib.ExitStack() as stack:

        def start(bounds=None, credentials=None, visitors=None, certificates=None):
            bounds = bounds or Bounds(stop_seconds=2)
            server = RunningServer(bounds, credentials, visitors, certificates)

            def stop():
                server.stop()
                server.join()

            stack.callback(stop)
            return server

        yield start


@pytest.fixture(scope="module")
def shared_server():
    server = RunningServer(Bounds(stop_seconds=2))
    yield server
    server.open_gate()
    server.stop()
    server.join()


@pytest.fixture
def connect():
    """Open sockets that are closed after the test."""
    with contextlib.ExitStack() as stack:

        def connect_to(server, tls=None):
            client = Client(server.port, tls)
            stack.callback(client.close)
            return client

        yield connect_to


@pytest.fixture
def client(shared_server, connect):
    return connect(shared_server)
