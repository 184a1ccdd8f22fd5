"""Functions in Python processes: what they are told, and how they fail."""

import logging
import os
import time

import pytest

from hashrange.model.triggers import FunctionRecord
from tests.unit.services.triggers.invocations import EVENT, call

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
