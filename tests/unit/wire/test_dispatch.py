"""Targets, documents and errors, without a socket."""

import asyncio
import logging

import orjson
import pytest

from hashrange.api.registry import OPERATIONS
from hashrange.errors import (
    ConditionalCheckFailedException,
    ConflictError,
    EngineError,
    MissingAuthenticationTokenException,
    ResourceNotFoundException,
    SerializationException,
    StorageFullError,
    TransactionCanceledException,
    UnknownOutcomeError,
    ValidationException,
)
from hashrange.wire.auth.identity import Identity
from hashrange.wire.dispatch import Dispatcher

IDENTITY = Identity("AKID", "000000000000", "us-east-1")


class Shape:
    """A shape that finds what a test tells it to."""

    def __init__(self, fault=None, value_fault=None):
        self.fault = fault
        self.value_fault = value_fault

    def check(self, request):
        if self.fault:
            raise self.fault

    def check_values(self, request):
        if self.value_fault:
            raise self.value_fault


class Operation:
    """An operation with a handler of a test."""

    def __init__(self, handler, shape=None):
        self.handler = handler
        self.shape = shape or Shape()
        self.empty_body = b"{}"


async def echo(context, request):
    return {"Context": context, "Request": request}


def raising(error):
    async def handler(context, request):
        raise error

    return handler


def dispatcher(operation, name="GetItem"):
    return Dispatcher({name: operation}, lambda account, region: [account, region])


def answer(operation, body=b"{}", target=b"DynamoDB_20120810.GetItem", name="GetItem"):
    status, document = asyncio.run(
        dispatcher(operation, name).answer(target, body, IDENTITY, b"REQUESTID")
    )
    return status, orjson.loads(document)


def test_an_operation_gets_its_request_and_its_world():
    assert answer(Operation(echo), b'{"A":1}') == (
        200,
        {"Context": ["000000000000", "us-east-1"], "Request": {"A": 1}},
    )


def test_stored_bytes_are_spliced_into_the_answer():
    async def handler(context, request):
        return {"Item": orjson.Fragment(b'{"a":{"S":"x"}}')}

    assert answer(Operation(handler)) == (200, {"Item": {"a": {"S": "x"}}})


@pytest.mark.parametrize("empty_body", [b"{}", b""])
def test_an_answer_that_says_nothing_has_the_body_of_its_operation(empty_body):
    async def nothing(context, request):
        return {}

    operation = Operation(nothing)
    operation.empty_body = empty_body
    dispatcher = Dispatcher({"Nothing": operation}, lambda account, region: None)
    answer = asyncio.run(dispatcher.answer(b"DynamoDB_20120810.Nothing", b"{}", IDENTITY))
    assert answer == (200, empty_body)


def test_operations_on_tags_answer_with_an_empty_body():
    silent = {name for name, operation in OPERATIONS.items() if operation.empty_body == b""}
    assert silent == {"TagResource", "UntagResource"}


def test_operations_of_streams_have_their_own_target():
    operation = Operation(echo)
    target = b"DynamoDBStreams_20120810.ListStreams"
    assert answer(operation, target=target, name="ListStreams")[0] == 200
    wrong = answer(operation, target=b"DynamoDB_20120810.ListStreams", name="ListStreams")
    assert wrong == (400, {"__type": "com.amazon.coral.service#UnknownOperationException"})


@pytest.mark.parametrize("target", [b"", b"GetItem", b"DynamoDB_20111205.GetItem", b"\xff.x"])
def test_an_unknown_target_is_an_unknown_operation(target):
    assert answer(Operation(echo), target=target) == (
        400,
        {"__type": "com.amazon.coral.service#UnknownOperationException"},
    )


@pytest.mark.parametrize("body", [b"", b"hi", b"{", b'{"A":\xff}', b'{"A":NaN}', b"[" * 5000])
def test_a_body_that_is_not_json_is_a_serialization_error(body):
    assert answer(Operation(echo), body) == (
        400,
        {"__type": "com.amazon.coral.service#SerializationException"},
    )


@pytest.mark.parametrize("body", [b"[]", b"1", b'"x"', b"null"])
def test_a_body_that_is_not_an_object_is_a_serialization_error(body):
    status, document = answer(Operation(echo), body)
    assert (status, document["__type"]) == (
        400,
        "com.amazon.coral.service#SerializationException",
    )


def test_a_refusal_comes_after_what_is_wrong_with_body_and_target():
    missing = MissingAuthenticationTokenException("Request is missing Authentication Token")
    target = b"DynamoDB_20120810.GetItem"
    refuse = dispatcher(Operation(echo)).refuse
    assert b"SerializationException" in refuse(target, b"hi", missing)[1]
    assert b"UnknownOperationException" in refuse(b"x", b"{}", missing)[1]
    assert b"MissingAuthenticationTokenException" in refuse(target, b"{}", missing)[1]
    assert b"MissingAuthenticationTokenException" in refuse(target, b"", missing)[1]


@pytest.mark.parametrize("error", [ValidationException("v"), ResourceNotFoundException("r")])
def test_mistyped_values_are_reported_before_what_the_handler_found(error):
    operation = Operation(raising(error), Shape(value_fault=SerializationException("typed")))
    assert answer(operation)[1]["__type"].endswith("#SerializationException")


def test_mistyped_values_are_reported_before_constraints():
    shape = Shape(fault=ValidationException("v"), value_fault=SerializationException("typed"))
    assert answer(Operation(echo, shape))[1]["__type"].endswith("#SerializationException")


def test_values_are_not_walked_once_the_operation_had_effects():
    error = ConditionalCheckFailedException("The conditional request failed")
    operation = Operation(raising(error), Shape(value_fault=SerializationException("typed")))
    assert answer(operation) == (
        400,
        {
            "__type": "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException",
            "message": "The conditional request failed",
        },
    )


def test_members_of_an_error_are_part_of_its_document():
    error = TransactionCanceledException("cancelled", {"CancellationReasons": [{"Code": "None"}]})
    assert answer(Operation(raising(error)))[1] == {
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
    answered, document = answer(Operation(raising(error)))
    assert (answered, document["__type"].rpartition("#")[2]) == (status, kind)


def test_a_bug_is_logged_with_the_request_id_and_not_shown(caplog):
    with caplog.at_level(logging.ERROR):
        document = answer(Operation(raising(ZeroDivisionError("secret detail"))))[1]
    assert "secret detail" not in str(document)
    assert "REQUESTID" in caplog.text
    assert "secret detail" in caplog.text


def test_an_answer_that_cannot_be_encoded_is_a_failure_of_the_server():
    async def handler(context, request):
        return {"A": object()}

    assert answer(Operation(handler))[0] == 500


def test_worlds_are_bounded():
    made = []
    target = b"DynamoDB_20120810.GetItem"
    several = Dispatcher({"GetItem": Operation(echo)}, lambda *world: made.append(world) or world)

    async def call_all():
        for number in range(5000):
            await several.answer(target, b"{}", Identity("A", "0" * 12, f"region-{number}"))

    asyncio.run(call_all())
    assert len(made) == 5000
    assert len(several._contexts) <= 4096
