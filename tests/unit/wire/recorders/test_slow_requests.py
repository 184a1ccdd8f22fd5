"""The log of slow and wasteful requests."""

import logging

import pytest

from hashrange.api.scope import IN_PROCESS, RequestScope
from hashrange.wire.recorders.slow_requests import SlowRequests

ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/Music"


@pytest.fixture
def lines(caplog):
    """Record a request; return the lines of the log."""

    def record(seconds, examined=0, returned=0, **parameters):
        scope = RequestScope(b"ID", IN_PROCESS, b"")
        scope.service, scope.operation = "dynamodb", "Query"
        scope.ended = scope.started + seconds
        scope.resources, scope.parameters = [ARN], parameters
        scope.note_rows(examined, 0, returned, 0)
        with caplog.at_level(logging.WARNING, "hashrange.slow"):
            SlowRequests(0.1, 10).record(scope)
        return [entry.getMessage() for entry in caplog.records]

    return record


def test_a_slow_request_is_logged_by_its_shape_and_without_values(lines):
    (line,) = lines(
        0.25,
        TableName="Music",
        KeyConditionExpression="#a = :secret",
        ExpressionAttributeNames={"#a": "Artist"},
        ExpressionAttributeValues={":secret": {"S": "Nina Simone"}},
    )
    assert line.startswith("slow request: Query took 250.0 ms, examined 0 and returned 0 items")
    assert "tables Music; KeyConditionExpression '#a = :secret'; names Artist" in line
    assert "Nina" not in line


def test_a_wasteful_request_is_logged(lines):
    (line,) = lines(0.001, examined=500, returned=10)
    assert line.startswith("wasteful request")


def test_the_values_of_a_statement_are_not_logged(lines):
    (line,) = lines(0.2, Statement="SELECT * FROM Music WHERE Artist = 'Nina'")
    assert "statement SELECT" in line
    assert "Nina" not in line


def test_other_requests_are_not_logged(lines):
    assert lines(0.05, examined=500, returned=100) == []
    assert lines(0.05, examined=50, returned=0) == []
