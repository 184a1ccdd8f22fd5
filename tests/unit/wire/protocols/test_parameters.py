"""Parameters as clients may send them beside what botocore sends: odd, wrong and too large."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hashrange.errors import SerializationException, ValidationException
from hashrange.limits import CALL_ITEMS_MAX, CALL_LEVELS_MAX
from hashrange.wire.protocols import cbor
from hashrange.wire.protocols.addresses import read_form
from hashrange.wire.protocols.validation import validate
from tests.unit.wire.protocols.calls import (
    call_of,
    cbor_request,
    form_request,
    json_request,
    request_of,
)


def read(protocol, operation, body, service="cloudwatch"):
    """Return the parameters of a body in one of the protocols without paths."""
    make: Any = {"json": lambda b: json_request("X.Y", b), "query": form_request}.get(protocol)
    request = make(body) if make else cbor_request(body)
    call = call_of(service, protocol, operation, request)
    if protocol == "query":
        call.form = read_form(request, body)
    return call.codec.read(call, call.operation_model)


def read_json(operation, document, service="cloudwatch"):
    return read("json", operation, json.dumps(document).encode(), service)


def test_unknown_members_and_nulls_are_ignored():
    document = {"Namespace": "n", "MetricName": None, "Invented": {"a": 1}, "Dimensions": [None]}
    assert read_json("ListMetrics", document) == {"Namespace": "n", "Dimensions": []}
    body = cbor.encode({**document, "Invented": b""})
    assert read("smithy-rpc-v2-cbor", "ListMetrics", body) == {"Namespace": "n", "Dimensions": []}
    assert read("query", "ListMetrics", b"Namespace=n&Invented.member.1=x") == {"Namespace": "n"}


@pytest.mark.parametrize(
    ("document", "text"),
    [
        ({"Namespace": 1}, "NUMBER_VALUE can not be converted to String"),
        ({"Namespace": True}, "TRUE_VALUE can not be converted to String"),
        ({"Namespace": []}, "Start of list found where not expected"),
        ({"Namespace": {}}, "Start of structure or map found where not expected"),
        ({"Dimensions": "x"}, "Unexpected field type"),
        ({"Dimensions": ["x"]}, "Unexpected field type"),
        ({"IncludeLinkedAccounts": "true"}, "STRING_VALUE can not be converted to Boolean"),
    ],
)
@pytest.mark.parametrize("protocol", ["json", "smithy-rpc-v2-cbor"])
def test_values_of_the_wrong_type_are_refused(protocol, document, text):
    body = json.dumps(document).encode() if protocol == "json" else cbor.encode(document)
    with pytest.raises(SerializationException, match=text):
        read(protocol, "ListMetrics", body)


@pytest.mark.parametrize("value", ["1", 1.5, True, 2**31, -(2**31) - 1])
def test_whole_numbers_are_whole_and_fit_their_type(value):
    with pytest.raises(SerializationException):
        read_json("DescribeAlarms", {"MaxRecords": value})
    assert read_json("DescribeAlarms", {"MaxRecords": 5.0}) == {"MaxRecords": 5}


def test_blobs_and_numbers_that_are_none_are_read_from_json():
    assert read_json("Decrypt", {"CiphertextBlob": "AAE="}, "kms") == {"CiphertextBlob": b"\0\1"}
    with pytest.raises(SerializationException):
        read_json("Decrypt", {"CiphertextBlob": "not base64"}, "kms")
    assert read_json("PutMetricAlarm", {"Threshold": "-Infinity"}) == {"Threshold": -float("inf")}
    assert read_json("PutMetricAlarm", {"Threshold": 3}) == {"Threshold": 3.0}
    with pytest.raises(SerializationException):
        read("json", "PutMetricAlarm", b'{"Threshold": 1' + b"0" * 400 + b"}")


@pytest.mark.parametrize("body", [b"", b"[]", b"1", b"{", b'{"a": "\xff"}'])
def test_a_json_body_that_is_no_object_is_refused(body):
    with pytest.raises(SerializationException):
        read("json", "ListMetrics", body)


def test_an_absent_cbor_body_has_no_members():
    assert read("smithy-rpc-v2-cbor", "ListMetrics", b"") == {}
    with pytest.raises(SerializationException):
        read("smithy-rpc-v2-cbor", "ListMetrics", b"\x80")


def test_a_list_has_a_largest_size():
    with pytest.raises(SerializationException, match="too many"):
        read_json("DescribeAlarms", {"AlarmNames": ["x"] * (CALL_ITEMS_MAX + 1)})


def test_members_of_a_form_are_ordered_by_their_numbers_which_may_have_gaps():
    form = b"AlarmNames.member.10=c&AlarmNames.member.2=b&AlarmNames.member.1=a"
    assert read("query", "DescribeAlarms", form) == {"AlarmNames": ["a", "b", "c"]}
    form = b"AlarmNames.member.999999999=a&AlarmNames.member.x=b&AlarmNames.member.1=c"
    assert read("query", "DescribeAlarms", form) == {"AlarmNames": ["c", "a"]}


def test_an_empty_list_of_a_form_is_its_name_alone():
    assert read("query", "DescribeAlarms", b"AlarmNames=") == {"AlarmNames": []}


def test_a_map_of_a_form_has_entries():
    form = b"Name=n&Attributes.entry.1.key=a.b&Attributes.entry.1.value=%C3%A9+%2B"
    read_back = {"Name": "n", "Attributes": {"a.b": "é +"}}
    assert read("query", "CreateTopic", form, "sns") == read_back
    with pytest.raises(SerializationException, match="lacks its key or value"):
        read("query", "CreateTopic", b"Name=n&Attributes.entry.1.key=a", "sns")


@pytest.mark.parametrize(
    "form",
    [
        b"MaxRecords=ten",
        b"MaxRecords=1_0",
        b"MaxRecords=99999999999999999999999",
        b"MaxRecords.member.1=1",
        b"AlarmNames=a",
        b"StateValue.x.y=1",
        b".".join([b"AlarmNames"] * (CALL_LEVELS_MAX + 1)) + b"=1",
    ],
)
def test_wrong_fields_of_a_form_are_refused(form):
    with pytest.raises(SerializationException):
        read("query", "DescribeAlarms", form)


def test_a_form_has_a_largest_number_of_parts():
    deep = ".x" * (CALL_LEVELS_MAX - 1)
    count = CALL_ITEMS_MAX // CALL_LEVELS_MAX + 1
    form = "&".join(f"a{number}{deep}=" for number in range(count)).encode()
    with pytest.raises(SerializationException, match="too many"):
        read("query", "DescribeAlarms", form)


@pytest.mark.parametrize("body", [b"a=%ff", b"\xff=1", b"a=1&" * (CALL_ITEMS_MAX + 1)])
def test_what_is_no_form_is_refused(body):
    with pytest.raises(SerializationException):
        read_form(form_request(body), body)


@given(
    st.dictionaries(st.text(st.sampled_from("AlarmNmesb.123"), max_size=30), st.text(max_size=3))
)
def test_any_form_is_read_or_refused(fields):
    call = call_of("cloudwatch", "query", "DescribeAlarms")
    call.form = fields
    try:
        outcome = repr(call.codec.read(call, call.operation_model))
    except SerializationException as refusal:
        outcome = refusal.message
    assert outcome


def messages(operation, parameters, service="cloudwatch"):
    """Return the text that parameters are refused with."""
    shape = call_of(service, "query" if service == "iam" else "json", operation)
    with pytest.raises(ValidationException) as caught:
        validate(shape.operation_model.input_shape, parameters)
    return caught.value.message


def test_missing_members_are_named():
    assert messages("DeleteAlarms", {}) == (
        "1 validation error detected: Value null at 'alarmNames' failed to satisfy constraint: "
        "Member must not be null"
    )


def test_all_broken_constraints_are_reported_together():
    found = messages(
        "DescribeAlarms",
        {"MaxRecords": 0, "AlarmNamePrefix": "", "StateValue": "BAD", "AlarmTypes": ["Other"]},
    )
    assert found.startswith("4 validation errors detected: ")
    for text in (
        "Value '0' at 'maxRecords' failed to satisfy constraint: "
        "Member must have value greater than or equal to 1",
        "Value '' at 'alarmNamePrefix' failed to satisfy constraint: "
        "Member must have length greater than or equal to 1",
        "Value 'BAD' at 'stateValue' failed to satisfy constraint: "
        "Member must satisfy enum value set: [OK, ALARM, INSUFFICIENT_DATA]",
        "Value 'Other' at 'alarmTypes.1.member' failed to satisfy constraint: ",
    ):
        assert text in found


def test_no_more_than_ten_are_reported():
    found = messages("DescribeAlarms", {"AlarmNames": [""] * 50})
    assert found.startswith("10 validation errors detected: ")


def test_secrets_are_not_echoed():
    found = messages("ChangePassword", {"OldPassword": "", "NewPassword": "n" * 200}, "iam")
    assert "nnn" not in found
    assert "Value at 'newPassword' failed" in found


def test_long_values_are_cut_in_messages():
    assert len(messages("DescribeAlarms", {"AlarmNamePrefix": "x" * 1_000_000})) < 2000


@pytest.mark.parametrize(
    ("header", "items"),
    [
        (b"ETag, Checksum", ["ETag", "Checksum"]),
        (b'"a,b",c', ["a,b", "c"]),
        (b'"say \\"hi\\""', ['say "hi"']),
    ],
)
def test_a_list_in_a_header_is_split_at_commas_outside_quotes(header, items):
    request = request_of(
        method=b"GET", url=b"/bucket/key?attributes", x_amz_object_attributes=header
    )
    call = call_of("s3", "rest-xml", "GetObjectAttributes", request)
    assert call.codec.locate(call, call.model) == "GetObjectAttributes"
    found = call.codec.read(call, call.operation_model)
    assert found == {"Bucket": "bucket", "Key": "key", "ObjectAttributes": items}


def test_a_result_cannot_write_header_lines():
    call = call_of("s3", "rest-xml", "GetObject")
    answer = call.codec.write(call, {"ETag": "a\r\nSet-Cookie: b\u0100"}, "")
    assert answer.extra == b"ETag: a??Set-Cookie: b?\r\n"
