"""Targets, documents and errors, without a socket."""

import asyncio
import logging
from typing import Any, ClassVar

import orjson
import pytest

from hashrange.api.operation import Operation, Service
from hashrange.api.registry import DYNAMODB
from hashrange.errors import (
    ConditionalCheckFailedException,
    ConflictError,
    EngineError,
    ResourceNotFoundException,
    SerializationException,
    StorageFullError,
    TransactionCanceledException,
    UnknownOutcomeError,
    ValidationException,
)
from hashrange.pauses import CrowdedError
from hashrange.wire.pipeline import Pipeline
from hashrange.wire.protocols.target_json import TargetJson
from hashrange.wire.stages import Stages
from tests.harness.calls import authorization, json_request


class Shape:
    """A shape that finds what a test tells it to."""

    members: ClassVar[dict[str, object]] = {}

    def __init__(self, fault=None, value_fault=None):
        self.fault = fault
        self.value_fault = value_fault

    def check(self, request):
        if self.fault:
            raise self.fault

    def check_values(self, request):
        if self.value_fault:
            raise self.value_fault


def make_context(account, region) -> Any:
    return [account, region]


async def echo(scope, request):
    return {"Context": scope.context, "Request": request}


def raising(error):
    async def handler(scope, request):
        raise error

    return handler


def made(handler, shape=None, name="GetItem"):
    return Operation(name, shape or Shape(), handler)


def codec(operation, target_prefix="DynamoDB_20120810"):
    service = Service("dynamodb", [operation], signing_name="dynamodb", target_prefix=target_prefix)
    return TargetJson([service])


def answer(operation, body=b"{}", target="DynamoDB_20120810.GetItem", **headers):
    pipeline = Pipeline(Stages(), make_context)
    request = json_request(target, body, **headers)
    answered = asyncio.run(pipeline.answer(request, codec(operation), b"REQUESTID"))
    return answered.status, orjson.loads(answered.body)


def test_a_read_given_up_in_a_crowd_begins_again_with_nothing_noted():
    attempts = []

    async def handler(scope, request):
        attempts.append(list(scope.consumed))
        scope.consumed.append(("table", None, 1.0, 0.0))
        if len(attempts) == 1:
            raise CrowdedError
        return {"Consumed": len(scope.consumed)}

    assert answer(made(handler)) == (200, {"Consumed": 1})
    assert attempts == [[], []]


def test_an_operation_gets_its_request_and_its_world():
    assert answer(made(echo), b'{"A":1}') == (
        200,
        {"Context": ["000000000000", "us-east-1"], "Request": {"A": 1}},
    )


def test_stored_bytes_are_spliced_into_the_answer():
    async def handler(scope, request):
        return {"Item": orjson.Fragment(b'{"a":{"S":"x"}}')}

    assert answer(made(handler)) == (200, {"Item": {"a": {"S": "x"}}})


@pytest.mark.parametrize("empty_body", [b"{}", b""])
def test_an_answer_that_says_nothing_has_the_body_of_its_operation(empty_body):
    async def nothing(scope, request):
        return {}

    pipeline = Pipeline(Stages(), make_context)
    operation = Operation("GetItem", Shape(), nothing, empty_body=empty_body)
    request = json_request("DynamoDB_20120810.GetItem", b"{}")
    answered = asyncio.run(pipeline.answer(request, codec(operation), b""))
    assert (answered.status, answered.body) == (200, empty_body)


def test_operations_on_tags_answer_with_an_empty_body():
    operations = DYNAMODB.operations
    silent = {name for name, operation in operations.items() if operation.empty_body == b""}
    assert silent == {"TagResource", "UntagResource"}


def test_operations_are_found_under_the_prefix_of_their_service():
    pipeline = Pipeline(Stages(), make_context)
    streams = codec(made(echo, name="ListStreams"), "DynamoDBStreams_20120810")
    for prefix, status in (("DynamoDBStreams_20120810", 200), ("DynamoDB_20120810", 400)):
        request = json_request(f"{prefix}.ListStreams", b"{}")
        assert asyncio.run(pipeline.answer(request, streams, b"")).status == status


@pytest.mark.parametrize("target", ["", "GetItem", "DynamoDB_20111205.GetItem", "\xff.x"])
def test_an_unknown_target_is_an_unknown_operation(target):
    assert answer(made(echo), target=target) == (
        400,
        {"__type": "com.amazon.coral.service#UnknownOperationException"},
    )


@pytest.mark.parametrize("body", [b"", b"hi", b"{", b'{"A":\xff}', b'{"A":NaN}', b"[" * 5000])
def test_a_body_that_is_not_json_is_a_serialization_error(body):
    assert answer(made(echo), body) == (
        400,
        {"__type": "com.amazon.coral.service#SerializationException"},
    )


@pytest.mark.parametrize("body", [b"[]", b"1", b'"x"', b"null"])
def test_a_body_that_is_not_an_object_is_a_serialization_error(body):
    status, document = answer(made(echo), body)
    assert (status, document["__type"]) == (
        400,
        "com.amazon.coral.service#SerializationException",
    )


def test_a_missing_signature_comes_after_what_is_wrong_with_body_and_target():
    def kind(target, body):
        refused = answer(made(echo), body, target, authorization="")[1]
        return refused["__type"].partition("#")[2]

    target = "DynamoDB_20120810.GetItem"
    assert kind(target, b"hi") == "SerializationException"
    assert kind("x", b"{}") == "UnknownOperationException"
    assert kind(target, b"{}") == "MissingAuthenticationTokenException"
    assert kind(target, b"") == "MissingAuthenticationTokenException"


def test_a_signature_for_another_service_is_refused():
    status, document = answer(made(echo), authorization=authorization("lambda"))
    assert (status, document["__type"]) == (
        400,
        "com.amazon.coral.service#InvalidSignatureException",
    )


@pytest.mark.parametrize("error", [ValidationException("v"), ResourceNotFoundException("r")])
def test_mistyped_values_are_reported_before_what_the_handler_found(error):
    operation = made(raising(error), Shape(value_fault=SerializationException("typed")))
    assert answer(operation)[1]["__type"].endswith("#SerializationException")


def test_mistyped_values_are_reported_before_constraints():
    shape = Shape(fault=ValidationException("v"), value_fault=SerializationException("typed"))
    assert answer(made(echo, shape))[1]["__type"].endswith("#SerializationException")


def test_values_are_not_walked_once_the_operation_had_effects():
    error = ConditionalCheckFailedException("The conditional request failed")
    operation = made(raising(error), Shape(value_fault=SerializationException("typed")))
    assert answer(operation) == (
        400,
        {
            "__type": "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException",
            "message": "The conditional request failed",
        },
    )


def test_members_of_an_error_are_part_of_its_document():
    error = TransactionCanceledException("cancelled", {"CancellationReasons": [{"Code": "None"}]})
    assert answer(made(raising(error)))[1] == {
        "__type": "com.amazonaws.dynamodb.v20120810#TransactionCanceledException",
        "CancellationReasons": [{"Code": "None"}],
        "Message": "cancelled",
    }


@pytest.mark.parametrize(
    ("error", "status", "kind"),
    [
        (ConflictError(), 400, "TransactionConflictException"),
        (StorageFullError("disk"), 500, "InternalServerError"),
        (EngineError("broken"), 500, "InternalServerError"),
        (UnknownOutcomeError("gone"), 500, "InternalServerError"),
        (ZeroDivisionError("bug"), 500, "InternalServerError"),
        (RecursionError("deep"), 500, "InternalServerError"),
    ],
)
def test_failures_of_the_server_are_told_apart_from_those_of_the_client(error, status, kind):
    answered, document = answer(made(raising(error)))
    assert (answered, document["__type"].rpartition("#")[2]) == (status, kind)


def test_a_bug_is_logged_with_the_request_id_and_not_shown(caplog):
    with caplog.at_level(logging.ERROR):
        document = answer(made(raising(ZeroDivisionError("secret detail"))))[1]
    assert "secret detail" not in str(document)
    assert "REQUESTID" in caplog.text
    assert "secret detail" in caplog.text


def test_an_answer_that_cannot_be_encoded_is_a_failure_of_the_server():
    async def handler(scope, request):
        return {"A": object()}

    assert answer(made(handler))[0] == 500


def test_contexts_are_bounded():
    contexts = []

    def remember_context(account, region) -> Any:
        contexts.append((account, region))
        return (account, region)

    pipeline = Pipeline(Stages(), remember_context)
    echoing = codec(made(echo))

    async def call_all():
        for number in range(5000):
            signed = authorization(region=f"region-{number}")
            request = json_request("DynamoDB_20120810.GetItem", b"{}", authorization=signed)
            await pipeline.answer(request, echoing, b"")

    asyncio.run(call_all())
    assert len(contexts) == 5000
    assert len(pipeline._contexts) <= 4096
