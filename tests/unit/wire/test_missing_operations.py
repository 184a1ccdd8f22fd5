"""Operations that are missing are named in the log, once each, and only if they can be names."""

import asyncio
import logging
from typing import Any

import orjson
import pytest

from hashrange.api.registry import DYNAMODB
from hashrange.limits import MISSING_OPERATIONS_LOGGED_MAX
from hashrange.wire.missing_operations import MissingOperations
from hashrange.wire.pipeline import Pipeline
from hashrange.wire.protocols.target_json import TargetJson
from hashrange.wire.stages import Stages
from tests.harness.calls import json_request


@pytest.fixture
def logged(caplog):
    """Return the messages logged so far."""
    caplog.set_level(logging.WARNING, "hashrange.pipeline")
    return lambda: [record.getMessage() for record in caplog.records]


def make_context(account, region) -> Any:
    return [account, region]


def test_a_missing_operation_is_logged_once_and_answered_as_aws_does(logged):
    pipeline = Pipeline(Stages(), make_context)
    codec = TargetJson([DYNAMODB])
    request = json_request("DynamoDB_20120810.CreateGlobalTable", b"{}")
    for _ in range(2):
        answered = asyncio.run(pipeline.answer(request, codec, b""))
        assert (answered.status, orjson.loads(answered.body)) == (
            400,
            {"__type": "com.amazon.coral.service#UnknownOperationException"},
        )
    assert logged() == ["Hashrange does not implement CreateGlobalTable"]


def test_each_operation_is_logged(logged):
    missing = MissingOperations()
    for service, operation in [("", "CreateBackup"), ("sts", "GetFederationToken")] * 2:
        missing.note(service, operation)
    assert logged() == [
        "Hashrange does not implement CreateBackup",
        "Hashrange does not implement GetFederationToken of sts",
    ]


@pytest.mark.parametrize("name", ["", "x", "lower", "Two words", "A\nB", "É" * 9, "A" * 65])
def test_what_is_not_the_name_of_an_operation_is_not_logged(logged, name):
    MissingOperations().note("", name)
    assert logged() == []


def test_a_client_that_invents_names_does_not_fill_the_log(logged):
    missing = MissingOperations()
    for number in range(MISSING_OPERATIONS_LOGGED_MAX + 10):
        missing.note("", f"Invented{number}")
    assert len(logged()) == MISSING_OPERATIONS_LOGGED_MAX
