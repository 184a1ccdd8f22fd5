"""A real server on a data directory, to be killed in several ways, and a connection to it.

Nothing here tries again by itself: a test has to know whether a request was answered.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import apsw

from hashrange.engine.sqlite.encryption import open_encryption
from tests.harness.endpoint import Reply, read_reply
from tests.harness.server import free_port

SECONDS_MAX = 60.0
_GREETING = "Press Ctrl-C"


def headers_of(access_key: str, region: str) -> dict[str, str]:
    """Return the headers of a request that nobody verifies."""
    scope = f"{access_key}/20260101/{region}/dynamodb/aws4_request"
    return {
        "Content-Type": "application/x-amz-json-1.0",
        "X-Amz-Date": "20260101T000000Z",
        "Authorization": f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host;x-amz-date, "
        "Signature=00",
    }


HEADERS = headers_of("local", "us-east-1")


class NoAnswerError(Exception):
    """The request may have reached the server, but nobody knows what became of it."""


def eventually(condition: Callable[[], bool], what: str) -> None:
    """Wait until a condition holds, within bounds."""
    deadline = time.monotonic() + SECONDS_MAX
    while not condition():
        assert time.monotonic() < deadline, f"it never came true: {what}"
        time.sleep(0.005)


def check_file(directory: Path, key: bytes | None = None) -> None:
    """Have SQLite check the whole database of a data directory."""
    database = directory / "hashrange.db"
    connection = apsw.Connection(str(database))
    page_key = open_encryption(database, key).page_key
    if page_key is not None:
        page_key.apply(connection)
    assert connection.pragma("integrity_check") == "ok"
    connection.close()


class ServerProcess:
    """A server that can be killed and started again on the same port."""

    def __init__(self, *flags: str, command: Sequence[str] = ("-m", "hashrange")) -> None:
        self.port = free_port()
        self.log = tempfile.TemporaryFile()  # noqa: SIM115 - `close` closes it
        self._command = [sys.executable, *command, "serve", "--port", str(self.port), *flags]
        # Besides the environment of this process.
        self.environment: dict[str, str] = {}
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def process(self) -> subprocess.Popen[bytes]:
        assert self._process is not None
        return self._process

    def start(self) -> None:
        """Start the server and wait until all its workers answer, which it greets with."""
        greetings = self.messages().count(_GREETING)
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.DEVNULL,
            stdout=self.log,
            stderr=self.log,
            start_new_session=True,
            env=os.environ | self.environment,
        )
        eventually(
            lambda: self.messages().count(_GREETING) > greetings or self.has_ended(),
            "the server answers",
        )
        assert not self.has_ended(), self.messages()

    def has_ended(self) -> bool:
        """Tell whether the process that was started is no more."""
        return self.process.poll() is not None

    def messages(self) -> str:
        """Return all that the server has printed."""
        # The server shares the position in the file, so this must not move it.
        descriptor = self.log.fileno()
        size = os.fstat(descriptor).st_size
        return os.pread(descriptor, size, 0).decode(errors="replace")

    def workers(self) -> list[int]:
        """Return the process ids of the workers."""
        pid = self.process.pid
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
        return [int(worker) for worker in text.split()]

    def kill_worker(self, worker: int) -> None:
        """Kill one worker; the server starts it again."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(worker, signal.SIGKILL)

    def kill_parent(self) -> None:
        """Kill the parent alone, which ends the workers in their own time."""
        self.process.kill()
        self.process.wait(SECONDS_MAX)

    def kill(self) -> None:
        """Kill all processes of the server at once."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(SECONDS_MAX)

    def stop(self) -> int:
        """Ask the server to stop and return its exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(SECONDS_MAX)

    def close(self) -> None:
        """Leave nothing behind, whatever has happened."""
        if self._process is not None:
            self.kill()
        self.log.close()


class Served(ServerProcess):
    """A data directory and the server that runs on it."""

    def __init__(
        self, directory: Path, *flags: str, command: Sequence[str] = ("-m", "hashrange")
    ) -> None:
        super().__init__("--data-dir", str(directory), *flags, command=command)
        self.directory = directory


class Connection:
    """A connection that gives up at the first failure, and says whether the request was sent."""

    def __init__(self, port: int, access_key: str = "local", region: str = "us-east-1") -> None:
        self._port = port
        self._headers = headers_of(access_key, region)
        self._connection: http.client.HTTPConnection | None = None

    def call(self, operation: str, request: dict[str, Any]) -> Reply:
        """Send a request; ConnectionError if it was never sent, NoAnswerError if it may have been.

        A connection that failed is replaced by the next call.
        """
        connection = self._open()
        headers = {**self._headers, "X-Amz-Target": f"DynamoDB_20120810.{operation}"}
        try:
            connection.request("POST", "/", json.dumps(request), headers)
            response = connection.getresponse()
            return read_reply(response.status, response.read())
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise NoAnswerError(f"{type(error).__name__}: {error}") from error

    def result(self, operation: str, **request: Any) -> Any:
        """Return the answer to a request that has to succeed."""
        reply = self.call(operation, request)
        assert reply.status == 200, f"{operation}: {reply.status} {reply.error}: {reply.message}"
        return reply.body

    def pages(self, operation: str, **request: Any) -> list[dict[str, Any]]:
        """Return the items of all pages."""
        items: list[dict[str, Any]] = []
        while True:
            page = self.result(operation, **request)
            items += page["Items"]
            if "LastEvaluatedKey" not in page:
                return items
            request["ExclusiveStartKey"] = page["LastEvaluatedKey"]

    def close(self) -> None:
        """Close it; the next call opens another, perhaps to another worker."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _open(self) -> http.client.HTTPConnection:
        if self._connection is None:
            connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=SECONDS_MAX)
            connection.connect()
            self._connection = connection
        return self._connection
