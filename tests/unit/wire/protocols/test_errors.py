"""One error in the form of every protocol, read by botocore's own parsers."""

import json

import pytest
from botocore.parsers import create_parser

from hashrange.errors import (
    AccessDeniedException,
    InternalServerError,
    InvalidSignatureException,
    SerializationException,
    UnknownOperationException,
    UnrecognizedClientException,
    ValidationException,
)
from hashrange.wire.protocols import cbor
from hashrange.wire.services import ServiceError
from tests.unit.wire.protocols.calls import call_of, json_request, request_of
from tests.unit.wire.protocols.test_round_trips import parsed_by

CLOUDWATCH_PROTOCOLS = ["json", "query", "smithy-rpc-v2-cbor"]


def query_mode():
    return request_of(x_amzn_query_mode=b"true")


def refused(call, error):
    """Return the answer to an error, and what botocore makes of it."""
    answer = call.codec.refuse(call, error, "the-id")
    parser = create_parser(call.codec.name)
    return answer, parsed_by(parser, answer, None)["Error"]


@pytest.mark.parametrize("protocol", CLOUDWATCH_PROTOCOLS)
def test_an_error_has_the_code_status_and_fault_of_the_model_in_every_protocol(protocol):
    call = call_of("cloudwatch", protocol, "GetDashboard", query_mode())
    answer, error = refused(call, ServiceError("DashboardNotFoundError", "No such board"))
    assert answer.status == 404
    assert (error["Code"], error["Message"]) == ("ResourceNotFound", "No such board")
    assert error["Type"] == "Sender"


@pytest.mark.parametrize("protocol", ["json", "smithy-rpc-v2-cbor"])
def test_the_query_code_is_sent_only_to_clients_in_query_mode(protocol):
    call = call_of("cloudwatch", protocol, "GetDashboard")
    answer, error = refused(call, ServiceError("DashboardNotFoundError", "No such board"))
    assert b"x-amzn-query-error" not in answer.extra
    assert error["Code"] == "DashboardNotFoundError"


@pytest.mark.parametrize("protocol", CLOUDWATCH_PROTOCOLS)
def test_members_of_an_error_are_written_by_its_shape(protocol):
    messages = [{"DataPath": "/a", "Message": "b & c"}]
    call = call_of("cloudwatch", protocol, "PutDashboard", query_mode())
    error = ServiceError(
        "DashboardInvalidInputError", "Bad", members={"dashboardValidationMessages": messages}
    )
    answer = call.codec.refuse(call, error, "the-id")
    if protocol == "query":
        assert b"<DataPath>/a</DataPath><Message>b &amp; c</Message>" in answer.body
    else:
        decode = json.loads if protocol == "json" else cbor.decode
        document = decode(answer.body)
        assert document["dashboardValidationMessages"] == messages
        assert document["__type"] == "DashboardInvalidInputError"


@pytest.mark.parametrize("protocol", CLOUDWATCH_PROTOCOLS)
def test_a_fault_of_the_server_is_the_receivers(protocol):
    call = call_of("cloudwatch", protocol, "ListMetrics", query_mode())
    answer, error = refused(call, ServiceError("InternalServiceFault", "Sorry"))
    assert answer.status == 500
    assert error["Code"] == "InternalServiceError"
    assert error["Type"] == "Receiver"


def test_a_fault_without_a_status_in_the_model_is_a_server_error():
    answer, error = refused(
        call_of("kms", "json", "ListKeys"), ServiceError("KMSInternalException", "Sorry")
    )
    assert (answer.status, error["Code"]) == (500, "KMSInternalException")


@pytest.mark.parametrize(
    ("error", "code", "status"),
    [
        (AccessDeniedException("no"), "AccessDenied", 403),
        (InternalServerError("no"), "InternalFailure", 500),
        (InvalidSignatureException("no"), "SignatureDoesNotMatch", 403),
        (SerializationException("no"), "MalformedInput", 400),
        (UnknownOperationException(), "InvalidAction", 400),
        (UnrecognizedClientException("no"), "InvalidClientTokenId", 403),
        (ValidationException("no"), "ValidationError", 400),
        (ServiceError("NoSuchEntity", "no"), "NoSuchEntity", 404),
        (ServiceError("NoSuchEntityException", "no"), "NoSuchEntity", 404),
        (ServiceError("Invented", "no", status=418), "Invented", 418),
    ],
)
def test_errors_have_their_own_codes_in_the_query_protocol(error, code, status):
    answer, parsed = refused(call_of("iam", "query", "GetUser"), error)
    assert (parsed["Code"], answer.status) == (code, status)
    assert b'<ErrorResponse xmlns="https://iam.amazonaws.com/doc/2010-05-08/">' in answer.body
    assert b"<RequestId>the-id</RequestId>" in answer.body


def test_json_services_keep_the_codes_of_common_errors():
    call = call_of("kms", "json", "ListKeys")
    answer, error = refused(call, AccessDeniedException("no"))
    assert (answer.status, error["Code"]) == (400, "AccessDeniedException")


@pytest.mark.parametrize("version", [b"1.0", b"1.1"])
def test_json_answers_have_the_content_type_of_the_request(version):
    content_type = b"application/x-amz-json-" + version
    request = json_request("TrentService.ListKeys", content_type=content_type)
    call = call_of("kms", "json", "ListKeys", request)
    assert call.codec.refuse(call, UnknownOperationException(), "").content_type == content_type
    assert call.codec.write(call, {"Keys": []}, "").content_type == content_type


def test_cbor_answers_repeat_the_protocol():
    call = call_of("cloudwatch", "smithy-rpc-v2-cbor", "ListMetrics")
    for answer in (
        call.codec.write(call, {}, ""),
        call.codec.refuse(call, ValidationException("no"), ""),
    ):
        assert b"smithy-protocol: rpc-v2-cbor\r\n" in answer.extra
        assert answer.content_type == b"application/cbor"


def test_rest_json_names_the_error_in_a_header():
    call = call_of("lambda", "rest-json", "GetFunction")
    answer, error = refused(call, ServiceError("ResourceNotFoundException", "no"))
    assert (answer.status, error["Code"]) == (404, "ResourceNotFoundException")
    assert b"x-amzn-ErrorType: ResourceNotFoundException\r\n" in answer.extra


def test_s3_has_errors_of_its_own_form():
    request = request_of(method=b"GET", url=b"/bucket/a%26b?x=y")
    call = call_of("s3", "rest-xml", "GetObject", request)
    answer, error = refused(call, ServiceError("NoSuchKey", "no", status=404))
    assert (answer.status, error["Code"], error["Resource"]) == (404, "NoSuchKey", "/bucket/a%26b")
    answer, error = refused(call, UnknownOperationException())
    assert (answer.status, error["Code"]) == (501, "NotImplemented")
