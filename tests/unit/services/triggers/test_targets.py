"""Functions as they are called: Python processes, endpoints and commands, and how they fail."""

import asyncio
import contextlib
import json
import logging
import os
import shlex
import socket
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from hashrange.model.triggers import FunctionRecord
from hashrange.services.triggers.functions import make_target
from hashrange.services.triggers.targets import Invocation, Surroundings

WORLD = ("123456789012", "eu-west-1")
EVENT = {"Records": [{"eventID": "1"}]}

HANDLERS = """
import os, subprocess, sys, time

calls = 0

def echo(event, context):
    return {
        "event": event,
        "id": context.aws_request_id,
        "name": context.function_name,
        "version": context.function_version,
        "arn": context.invoked_function_arn,
        "left": context.get_remaining_time_in_millis(),
        "memory": context.memory_limit_in_mb,
        "group": context.log_group_name,
        "region": os.environ["AWS_REGION"],
        "endpoint": os.environ["AWS_ENDPOINT_URL_DYNAMODB"],
        "stage": os.environ.get("STAGE"),
    }

def count(event, context):
    global calls
    calls += 1
    return [os.getpid(), calls]

def talk(event, context):
    print("to standard output")
    sys.stderr.write("to standard error\\n")
    sys.stdout.buffer.write(b"bytes\\n")
    sys.stdout.flush()
    os.write(1, b"raw\\n")
    assert sys.stdin.read() == ""

def fail(event, context):
    raise ValueError("no such order")

def leave(event, context):
    sys.exit(3)

def die(event, context):
    os.kill(os.getpid(), 9)

def hang(event, context):
    child = subprocess.Popen(["sleep", "60"])
    with open(event["file"], "w") as file:
        file.write(f"{os.getpid()} {child.pid}")
    time.sleep(60)

def slow(event, context):
    time.sleep(0.3)
    return os.getpid()

def unserialisable(event, context):
    return {1, 2}

class Inner:
    @staticmethod
    def method(event, context):
        return "inner"

value = 5
"""


@pytest.fixture
def directory(tmp_path):
    (tmp_path / "trigger_handlers.py").write_text(HANDLERS)
    return tmp_path


def call(function, *events, at_once=False):
    """Call a function with events; return the outcomes."""

    async def scenario():
        target = make_target(WORLD, function, Surroundings("http://127.0.0.1:1", os.environ))
        invocations = [Invocation(json.dumps(event).encode()) for event in events]
        try:
            if at_once:
                return await asyncio.gather(*(target.invoke(each) for each in invocations))
            return [await target.invoke(each) for each in invocations]
        finally:
            await target.close()

    return asyncio.run(scenario())


def python(directory, name, **fields):
    return FunctionRecord(
        "orders", "python", f"trigger_handlers:{name}", directory=str(directory), **fields
    )


def test_a_python_function_gets_the_event_and_the_context(directory):
    function = python(directory, "echo", timeout_seconds=30, environment={"STAGE": "test"})
    (outcome,) = call(function, EVENT)
    assert outcome.error is None
    answer = outcome.answer
    assert answer.pop("event") == EVENT
    assert len(answer.pop("id")) == 36
    assert 25_000 < answer.pop("left") <= 30_000
    assert answer == {
        "name": "orders",
        "version": "$LATEST",
        "arn": "arn:aws:lambda:eu-west-1:123456789012:function:orders",
        "memory": "128",
        "group": "/aws/lambda/orders",
        "region": "eu-west-1",
        "endpoint": "http://127.0.0.1:1",
        "stage": "test",
    }


def test_one_process_answers_one_invocation_after_the_other(directory):
    first, second = call(python(directory, "count"), EVENT, EVENT)
    assert first.answer[0] == second.answer[0] != os.getpid()
    assert [first.answer[1], second.answer[1]] == [1, 2]


def test_invocations_at_the_same_time_have_a_process_each_up_to_a_bound(directory):
    function = python(directory, "slow", concurrency=2)
    outcomes = call(function, *[EVENT] * 4, at_once=True)
    assert len({outcome.answer for outcome in outcomes}) == 2


def test_what_a_function_prints_is_logged_and_hurts_nothing(directory, caplog):
    with caplog.at_level(logging.INFO, "hashrange.functions"):
        (outcome,) = call(python(directory, "talk"), EVENT)
    assert outcome.error is None
    lines = [record.getMessage() for record in caplog.records]
    assert lines == [
        "orders: to standard output",
        "orders: to standard error",
        "orders: bytes",
        "orders: raw",
    ]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("fail", "ValueError: no such order"),
        ("leave", "SystemExit: 3"),
        ("die", "Runtime.ExitError: the process ended"),
        ("unserialisable", "TypeError: Object of type set is not JSON serializable"),
        ("nothing", "AttributeError: module 'trigger_handlers' has no attribute 'nothing'"),
        ("value", "TypeError: trigger_handlers:value cannot be called"),
    ],
)
def test_an_error_is_the_functions_own(directory, name, text):
    first, second = call(python(directory, name), EVENT, EVENT)
    assert first.error == second.error == text
    assert first.is_invoked


def test_a_function_may_be_inside_a_class(directory):
    (outcome,) = call(python(directory, "Inner.method"), EVENT)
    assert outcome.answer == "inner"


def test_a_function_that_takes_too_long_is_killed_with_what_it_started(directory):
    function = python(directory, "hang", timeout_seconds=1)
    place = directory / "pids"
    start = time.monotonic()
    (outcome,) = call(function, {"file": str(place)})
    assert time.monotonic() - start < 10
    assert outcome.error == "Task timed out after 1.00 seconds"
    for pid in place.read_text().split():
        assert has_ended(int(pid))


def has_ended(pid):
    """Tell whether a process ends; one that waits for its parent's notice has ended."""
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        try:
            with open(f"/proc/{pid}/stat") as file:
                if file.read().rpartition(")")[2].split()[0] == "Z":
                    return True
        except FileNotFoundError:
            return True
        time.sleep(0.01)
    return False


def test_a_directory_that_is_not_there_makes_a_function_unreachable(tmp_path):
    (outcome,) = call(python(tmp_path / "nowhere", "echo"), EVENT)
    assert not outcome.is_invoked


def command(*words, **fields):
    return FunctionRecord("job", "command", shlex.join(words), **fields)


def test_a_command_reads_the_event_and_writes_the_answer():
    script = "import json, sys; print(json.dumps({'got': json.load(sys.stdin)}))"
    (outcome,) = call(command(sys.executable, "-c", script), EVENT)
    assert outcome.answer == {"got": EVENT}


def test_a_command_may_answer_nothing_and_ignore_the_event():
    (outcome,) = call(command("true"), {"large": "x" * 1_000_000})
    assert outcome.error is None
    assert outcome.answer is None


def test_a_command_fails_by_its_exit_status_and_its_complaints_are_logged(caplog):
    with caplog.at_level(logging.INFO, "hashrange.functions"):
        (outcome,) = call(command("sh", "-c", "echo oh no >&2; exit 4"), EVENT)
    assert outcome.error == "exit status 4"
    assert outcome.is_invoked
    assert "job: oh no" in [record.getMessage() for record in caplog.records]


def test_a_command_that_does_not_answer_json_has_failed():
    (outcome,) = call(command("echo", "hello"), EVENT)
    assert outcome.error.startswith("the answer is not JSON")


def test_a_command_that_is_not_there_is_unreachable():
    (outcome,) = call(command("no-such-command-anywhere"), EVENT)
    assert not outcome.is_invoked


def test_a_command_that_takes_too_long_is_killed():
    start = time.monotonic()
    (outcome,) = call(command("sleep", "60", timeout_seconds=0.2), EVENT)
    assert outcome.error == "Task timed out after 0.20 seconds"
    assert time.monotonic() - start < 10


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
