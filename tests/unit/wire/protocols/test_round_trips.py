"""botocore is the judge: what it sends is read back, and it reads what is written.

For each operation botocore's own serializer makes a request of generated parameters, and the codec
must return these parameters. The codec writes a generated result, and botocore's own parser must
return this result.
"""

import functools
import io
from urllib.parse import quote, urlencode

import pytest
from botocore.parsers import create_parser
from botocore.serialize import create_serializer

from hashrange.wire.http.messages import Head, HttpRequest
from hashrange.wire.protocols.addresses import read_form, rpc_address
from hashrange.wire.protocols.codec import Call
from hashrange.wire.protocols.codecs import CODECS
from hashrange.wire.protocols.service_models import ServiceModels
from hashrange.wire.protocols.validation import validate
from hashrange.wire.services import Service
from tests.unit.wire.protocols.generated import Generator

VERSIONS = {
    "application-autoscaling": "2016-02-06",
    "cloudwatch": "2010-08-01",
    "iam": "2010-05-08",
    "kms": "2014-11-01",
    "lambda": "2015-03-31",
    "s3": "2006-03-01",
    "sns": "2010-03-31",
    "sts": "2011-06-15",
}
PROTOCOLS = [
    ("application-autoscaling", "json"),
    ("cloudwatch", "json"),
    ("cloudwatch", "query"),
    ("cloudwatch", "smithy-rpc-v2-cbor"),
    ("iam", "query"),
    ("kms", "json"),
    ("lambda", "rest-json"),
    ("s3", "rest-xml"),
    ("sns", "query"),
    ("sts", "query"),
]
ROUNDS = 3
OTHER_HOSTS = {"ListDirectoryBuckets", "WriteGetObjectResponse"}
# What botocore finds in the headers of every answer of S3 that has a body.
ALWAYS_READ = {"ContentType": "application/octet-stream", "Metadata": {}}

models = ServiceModels()


@functools.cache
def model_of(service):
    return models.load(service, VERSIONS[service])


def operations_of(service):
    model = model_of(service)
    operations = [model.operation(name) for name in sorted(model.operation_names)]
    return [
        operation
        for operation in operations
        if not (
            operation.has_event_stream_input
            or operation.has_event_stream_output
            # A few of S3 have successors at the same address, or are told apart by the host.
            or operation.deprecated
            or operation.name in OTHER_HOSTS
        )
    ]


def http_request(serialized):
    """Return what arrives at the server when botocore sends a serialized request."""
    url = quote(serialized["url_path"], safe="/%?=&~-_.+:;@!$'()*,")
    pairs = [
        (name, item)
        for name, value in (serialized["query_string"] or {}).items()
        for item in (value if isinstance(value, list) else [value])
    ]
    if pairs:
        url += ("&" if "?" in url else "?") + urlencode(pairs, quote_via=quote)
    body = serialized["body"]
    if isinstance(body, dict):
        body = urlencode(body)
    body = body.encode() if isinstance(body, str) else bytes(body or b"")
    headers = {
        name.lower().encode(): str(value).encode("latin-1")
        for name, value in serialized["headers"].items()
    }
    return HttpRequest(Head(serialized["method"].encode(), url.encode(), headers), body, True)


def call_of(service, protocol, operation, request):
    """Return the call of a request, with its operation found as the server finds it."""
    made = Service(service, dict, api_version=VERSIONS[service])
    name = operation.name
    if protocol == "json":
        name = request.head.target.decode().rpartition(".")[2]
    elif protocol == "smithy-rpc-v2-cbor":
        address = rpc_address(request)
        assert address is not None
        name = address[1]
    call = Call(CODECS[protocol], made, name, request)
    if protocol == "query":
        call.form = read_form(request, request.body)
        call.operation = call.form["Action"]
    call.model = model_of(service)
    call.operation = call.codec.locate(call, call.model)
    call.operation_model = call.model.operation(call.operation) if call.operation else None
    return call


@pytest.mark.parametrize(("service", "protocol"), PROTOCOLS)
def test_every_protocol_of_the_model_is_tried(service, protocol):
    assert protocol in model_of(service).protocols
    tried = {p for s, p in PROTOCOLS if s == service}
    assert tried == set(model_of(service).protocols)


@pytest.mark.parametrize(("service", "protocol"), PROTOCOLS)
def test_what_botocore_sends_is_read_back(service, protocol):
    serializer = create_serializer(protocol, include_validation=True)
    for operation in operations_of(service):
        for number in range(ROUNDS):
            shape = operation.input_shape
            generator = Generator(f"{service}.{operation.name}.{number}", fill=(0, 0.5, 1)[number])
            given = generator.structure(shape) if shape is not None else {}
            given = sendable(protocol, given)
            request = http_request(serializer.serialize_to_request(given, operation))
            call = call_of(service, protocol, operation, request)
            assert call.operation == operation.name, (call.operation, request.head.url)
            read = call.codec.read(call, operation)
            assert read == given, (operation.name, request.head.url, request.body)
            if shape is not None:
                validate(shape, read)


@pytest.mark.parametrize(("service", "protocol"), PROTOCOLS)
def test_what_is_written_botocore_reads(service, protocol):
    parser = create_parser(protocol)
    for operation in operations_of(service):
        for number in range(ROUNDS):
            shape = operation.output_shape
            seed = f"{service}.{operation.name}.{number}"
            generator = Generator(seed, milliseconds=True, fill=(0, 0.5, 1)[number])
            result = generator.structure(shape) if shape is not None else {}
            request = HttpRequest(Head(b"POST", b"/", {}), b"", True)
            made = Service(service, dict, api_version=VERSIONS[service])
            call = Call(CODECS[protocol], made, operation.name, request)
            call.model, call.operation_model = model_of(service), operation
            answer = call.codec.write(call, result, "the-request-id")
            parsed = parsed_by(parser, answer, shape)
            metadata = parsed.pop("ResponseMetadata")
            if service == "s3":
                parsed = {n: v for n, v in parsed.items() if n in result or v != ALWAYS_READ.get(n)}
            assert parsed == result, (operation.name, answer.body)
            if protocol == "query":
                assert metadata["RequestId"] == "the-request-id"


def parsed_by(parser, answer, shape):
    lines = answer.extra.decode("latin-1").split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines if line)
    if answer.content_type:
        headers["Content-Type"] = answer.content_type.decode()
    if answer.length is not None:
        headers["Content-Length"] = str(answer.length)
    payload = shape.serialization.get("payload") if shape is not None else None
    is_stream = payload is not None and shape.members[payload].type_name == "blob"
    response = {
        "status_code": answer.status,
        "headers": CaseInsensitive(headers),
        "body": io.BytesIO(answer.body) if is_stream else answer.body,
        "context": {},
    }
    parsed = parser.parse(response, shape)
    if is_stream:
        parsed[payload] = parsed[payload].read()
    return parsed


class CaseInsensitive(dict):
    """Headers as botocore's HTTP client hands them over."""

    def __init__(self, headers):
        super().__init__({name.lower(): value for name, value in headers.items()})

    def __getitem__(self, name):
        return super().__getitem__(name.lower())

    def get(self, name, default=None):
        return super().get(name.lower(), default)

    def __contains__(self, name):
        return super().__contains__(name.lower())


def sendable(protocol, value):
    """Return a value without the empty structures that a form has no way to send."""
    if protocol != "query" or not isinstance(value, dict | list):
        return value
    if isinstance(value, list):
        return [sendable(protocol, item) for item in value]
    kept = {name: sendable(protocol, item) for name, item in value.items()}
    return {name: item for name, item in kept.items() if item != {}}
