"""The log of requests names the table, the error and its reason, on one line."""

import logging
import re

import pytest

from hashrange.api.scope import IN_PROCESS, RequestScope
from hashrange.limits import LOGGED_TEXT_CHARACTERS_MAX
from hashrange.wire.stages import RequestLog

ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/"


@pytest.fixture
def line(caplog):
    """Record a request with some of its scope given; return the line of the log."""

    def record(status=200, **known):
        scope = RequestScope(b"ID", IN_PROCESS, b"")
        scope.operation, scope.status, scope.ended = "GetItem", status, scope.started + 0.0015
        for name, value in known.items():
            setattr(scope, name, value)
        with caplog.at_level(logging.DEBUG, "hashrange.requests"):
            RequestLog().record(scope)
        return caplog.records[-1].getMessage()

    return record


def test_a_success_names_its_tables_once(line):
    resources = [f"{ARN}Music", f"{ARN}Music/index/ByYear", f"{ARN}Books"]
    assert line(resources=resources) == "GetItem Music Books 200 in 1.5 ms, request ID"


def test_a_refusal_names_error_and_reason(line):
    text = line(400, resources=[f"{ARN}Music"], error="SomeException", reason="It is so")
    assert text == "GetItem Music 400 in 1.5 ms, request ID, SomeException: It is so"


def test_a_refusal_without_a_reason_names_the_error(line):
    assert line(400, error="SomeException").endswith("request ID, SomeException")


def test_a_table_that_was_not_found_is_named(line):
    assert line(400, requested_table="absent").startswith("GetItem absent 400 ")
    assert line(400, requested_table={"not": "a name"}).startswith("GetItem 400 ")


def test_what_clients_send_stays_on_one_line_and_is_short(line):
    text = line(400, requested_table="a\nb\x1b[2J", error="E", reason="x" * 10_000)
    assert text.startswith(r"GetItem a\nb\x1b[2J 400 ")
    assert re.search("x+…$", text)
    assert len(text) < LOGGED_TEXT_CHARACTERS_MAX + 100
