"""Which requests are for neighbours, and the steps of their calls."""

import asyncio
import gzip
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from hashrange.limits import CALL_BODY_BYTES_MAX
from hashrange.wire.protocols import cbor
from hashrange.wire.services import Neighbours, Service, ServiceError, signing_service
from tests.harness.all_neighbours import all_services
from tests.unit.wire.protocols.calls import cbor_request, form_request, json_request, request_of

CLOUDWATCH_TARGET = "GraniteServiceVersion20100801"
SCOPE = SimpleNamespace(
    account="123456789012",
    region="eu-west-1",
    access_key="AKIDEXAMPLE",
    principal_arn="arn:aws:iam::123456789012:root",
    request_id="the-id",
    grants=None,
)
SERVICES = all_services()


async def put_metric_data(scope, parameters):
    seen.append(parameters)
    return {}


async def get_object(scope, parameters):
    if parameters["Key"] == "missing":
        raise ServiceError("NoSuchKey", "The key does not exist.", status=404)
    return {"Body": b"content", "ETag": '"etag"', "ContentType": "text/css"}


seen: list[Any] = []
WRITABLE = Service(
    "cloudwatch",
    lambda: {"PutMetricData": put_metric_data},
    api_version="2010-08-01",
    signing_name="monitoring",
    target_prefix=CLOUDWATCH_TARGET,
)
BUCKETS = Service(
    "s3", lambda: {"GetObject": get_object}, api_version="2006-03-01", rest="rest-xml"
)


@pytest.fixture(scope="module")
def neighbours():
    return Neighbours(SERVICES)


def answer(neighbours, request, scope_service=""):
    """Return the answer to a request that must be a neighbour's."""
    call = neighbours.find(request, scope_service)
    assert call is not None
    return asyncio.run(neighbours.answer(call, SCOPE))


@pytest.mark.parametrize(
    ("request_", "scope_service"),
    [
        (json_request("DynamoDB_20120810.ListTables"), "dynamodb"),
        (json_request("Kinesis_20131202.ListStreams"), "kinesis"),
        (request_of(method=b"GET"), ""),
        (request_of(method=b"GET", url=b"/healthz"), ""),
        (request_of(method=b"GET", url=b"/other?Action=ListUsers"), ""),
        (request_of(url=b"/2015-03-31/event-source-mappings"), "lambda"),
        (form_request(b"a=b"), "sts"),
        (request_of(url=b"/service/A/operation/B"), ""),
        (request_of(url=b"/service/A/other/B", smithy_protocol=b"rpc-v2-cbor"), ""),
        (request_of(b"{}", content_type=b"application/x-amz-json-1.0"), "dynamodb"),
    ],
)
def test_what_is_not_for_a_neighbour_is_left_alone(neighbours, request_, scope_service):
    assert neighbours.find(request_, scope_service) is None


def test_every_service_agrees_with_its_model(neighbours):
    from tests.unit.wire.protocols.calls import MODELS

    for service in SERVICES:
        model = MODELS.load(service.name, service.api_version)
        assert model.api_version == service.api_version
        assert model.signing_name == service.signing_name
        assert model.target_prefix == service.target_prefix
        assert bool(service.rest) == (model.protocols[0] in ("rest-json", "rest-xml"))
        assert service.handlers().keys() <= model.operation_names


def test_a_form_is_routed_by_its_version_before_the_scope(neighbours):
    body = b"Action=GetCallerIdentity&Version=2011-06-15"
    for scope_service in ("sts", "monitoring", ""):
        assert answer(neighbours, form_request(body), scope_service).status == 200
    in_url = request_of(method=b"GET", url=b"/?" + body)
    assert b"<Account>123456789012</Account>" in answer(neighbours, in_url).body


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"Action=Invent&Version=2011-06-15", "operation Invent for version 2011-06-15"),
        (
            b"Action=AssumeRoleWithSAML&Version=2011-06-15",
            "operation AssumeRoleWithSAML for version 2011-06-15",
        ),
        (
            b"Action=ListServerCertificates&Version=2010-05-08",
            "operation ListServerCertificates for version 2010-05-08",
        ),
        (b"Action=GetCallerIdentity", "for version NO_VERSION_SPECIFIED"),
        (b"Action=GetCallerIdentity&Version=1999-01-01", "for version 1999-01-01"),
        (b"Action=%3Cb%3E&Version=2011-06-15", "operation &lt;b&gt; for"),
    ],
)
@pytest.mark.parametrize("scope_service", ["sts", "iam"])
def test_an_unknown_action_is_invalid(neighbours, body, message, scope_service):
    refused = answer(neighbours, form_request(body), scope_service)
    assert (refused.status, refused.content_type) == (400, b"text/xml")
    assert b"<Type>Sender</Type><Code>InvalidAction</Code>" in refused.body
    assert b"<Message>Could not find operation " in refused.body
    assert message in refused.body.decode()


@pytest.mark.parametrize("operation", ["Invent", "PutMetricStream"])
def test_an_unknown_operation_in_json_and_cbor(neighbours, operation):
    refused = answer(neighbours, json_request(f"{CLOUDWATCH_TARGET}.{operation}"))
    assert (refused.status, refused.content_type) == (400, b"application/x-amz-json-1.0")
    assert refused.body == b'{"__type":"UnknownOperationException"}'
    refused = answer(neighbours, cbor_request(b"\xa0", operation))
    assert (refused.status, refused.content_type) == (404, b"application/cbor")
    assert cbor.decode(refused.body) == {"__type": "UnknownOperationException"}


def test_an_unknown_service_in_cbor_and_an_unserved_s3(neighbours):
    refused = answer(neighbours, cbor_request(b"\xa0", service="Invented"))
    assert (refused.status, refused.content_type) == (404, b"application/cbor")
    refused = answer(Neighbours([WRITABLE]), request_of(method=b"PUT", url=b"/bucket"), "s3")
    assert (refused.status, refused.content_type) == (501, b"application/xml")
    assert b"<Code>NotImplemented</Code>" in refused.body


def test_a_service_is_spoken_to_only_in_the_protocols_of_its_model():
    sts = Service("sts", dict, api_version="2011-06-15", target_prefix="Invented")
    refused = answer(Neighbours([sts]), json_request("Invented.GetCallerIdentity"))
    assert b"UnknownOperationException" in refused.body


def test_a_compressed_body_is_read():
    neighbours = Neighbours([WRITABLE])
    body = gzip.compress(b'{"Namespace": "n", "MetricData": [{"MetricName": "m", "Value": 1}]}')
    request = json_request(f"{CLOUDWATCH_TARGET}.PutMetricData", body, content_encoding=b"gzip")
    assert answer(neighbours, request).status == 200
    form = b"Action=PutMetricData&Version=2010-08-01&Namespace=q&MetricData.member.1.MetricName=m"
    request = form_request(gzip.compress(form), content_encoding=b"gzip")
    answered = answer(neighbours, request)
    assert (answered.status, b"Result" in answered.body) == (200, False)
    assert [parameters["Namespace"] for parameters in seen] == ["n", "q"]


@pytest.mark.parametrize(
    "request_",
    [
        json_request(f"{CLOUDWATCH_TARGET}.ListMetrics", b" " * (CALL_BODY_BYTES_MAX + 1)),
        json_request(
            f"{CLOUDWATCH_TARGET}.ListMetrics",
            gzip.compress(b" " * (CALL_BODY_BYTES_MAX + 1)),
            content_encoding=b"gzip",
        ),
        cbor_request(b"\0" * (CALL_BODY_BYTES_MAX + 1)),
        form_request(b"a" * (CALL_BODY_BYTES_MAX + 1)),
    ],
)
def test_a_body_that_is_too_large_is_refused(neighbours, request_):
    assert answer(neighbours, request_, "monitoring").status == 413


def test_a_damaged_body_is_refused_in_the_words_of_the_protocol(neighbours):
    request = json_request(f"{CLOUDWATCH_TARGET}.ListMetrics", b"no", content_encoding=b"gzip")
    assert b"InternalFailure" in answer(neighbours, request).body
    request = form_request(b"Action=%ff")
    assert b"<Code>MalformedInput</Code>" in answer(neighbours, request, "sts").body


def test_a_service_with_paths_is_found_by_its_scope():
    neighbours = Neighbours([BUCKETS])
    found = answer(neighbours, request_of(method=b"GET", url=b"/bucket/some/key"), "s3")
    assert (found.status, found.body, found.content_type) == (200, b"content", b"text/css")
    assert found.extra == b'ETag: "etag"\r\n'
    missing = answer(neighbours, request_of(method=b"GET", url=b"/bucket/missing"), "s3")
    assert (missing.status, b"<Code>NoSuchKey</Code>" in missing.body) == (404, True)
    unserved = answer(neighbours, request_of(method=b"DELETE", url=b"/bucket"), "s3")
    assert unserved.status == 501


def test_operations_without_a_signature_are_known_as_such():
    web = Service(
        "sts",
        lambda: {"AssumeRoleWithWebIdentity": put_metric_data, "AssumeRole": put_metric_data},
        api_version="2011-06-15",
    )
    neighbours = Neighbours([web])
    for operation, needs_signature in (("AssumeRoleWithWebIdentity", False), ("AssumeRole", True)):
        body = f"Action={operation}&Version=2011-06-15".encode()
        call = neighbours.find(form_request(body), "")
        assert call is not None
        asyncio.run(neighbours.identify(call))
        assert call.needs_signature is needs_signature


@pytest.mark.parametrize(
    ("headers", "url", "service"),
    [
        (
            {"authorization": b"AWS4-HMAC-SHA256 Credential=a/b/20240101/r/sts/aws4_request, S=x"},
            b"/",
            "sts",
        ),
        ({}, b"/?X-Amz-Credential=AK%2F20240101%2Fr%2Fs3%2Faws4_request", "s3"),
        ({"authorization": b"Basic x"}, b"/", ""),
        ({}, b"/", ""),
    ],
)
def test_the_service_of_a_signature_is_seen_without_checking_it(headers, url, service):
    assert signing_service(request_of(url=url, **headers)) == service


def test_two_first_requests_load_a_model_once(monkeypatch):
    from hashrange.wire.protocols import service_models

    loads = []
    read_model = service_models._read_model

    def counted(name, version):
        loads.append(name)
        return read_model(name, version)

    monkeypatch.setattr(service_models, "_read_model", counted)
    neighbours = Neighbours(SERVICES)
    body = b"Action=GetCallerIdentity&Version=2011-06-15"

    async def both():
        calls = [neighbours.find(form_request(body), "sts") for _ in range(2)]
        return await asyncio.gather(*(neighbours.answer(call, SCOPE) for call in calls if call))

    assert [a.status for a in asyncio.run(both())] == [200, 200]
    assert loads == ["sts"]


def test_a_server_starts_without_botocore_and_codecs():
    program = """
import sys, hashrange.app.application
from hashrange.neighbours.registry import make_services
from hashrange.wire.services import Neighbours
from tests.harness.identities import event_store, identity_store, key_store
from tests.harness.all_neighbours import all_services
from tests.harness.monitors import make_monitor
Neighbours(make_services(identity_store(), key_store(), make_monitor(), event_store()))
early = [name for name in sys.modules if name.startswith("botocore") or name in (
    "hashrange.wire.protocols.codecs", "xml.parsers.expat", "hashrange.neighbours.sts.operations"
)]
sys.exit(str(early) if early else 0)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
