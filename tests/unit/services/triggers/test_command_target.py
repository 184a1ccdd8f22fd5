"""Functions that are commands: what they read and write, and how they fail."""

import logging
import shlex
import sys
import time

from hashrange.model.triggers import FunctionRecord
from tests.unit.services.triggers.invocations import EVENT, call


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
