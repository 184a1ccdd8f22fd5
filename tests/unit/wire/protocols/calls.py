"""Requests as clients send them, and calls of them, for tests of codecs and routes."""

from hashrange.neighbours.cloudwatch import cloudwatch_service
from hashrange.neighbours.service import Service
from hashrange.neighbours.sts import sts_service
from hashrange.wire.http.messages import Head, HttpRequest
from hashrange.wire.protocols.codec import Call
from hashrange.wire.protocols.codecs import CODECS
from hashrange.wire.protocols.service_models import ServiceModels
from tests.harness.identities import identity_store
from tests.harness.monitors import make_monitor

MODELS = ServiceModels()
S3 = Service("s3", dict, api_version="2006-03-01", rest="rest-xml")
KMS = Service("kms", dict, api_version="2014-11-01", target_prefix="TrentService")
LAMBDA = Service("lambda", dict, api_version="2015-03-31", rest="rest-json")
IAM = Service("iam", dict, api_version="2010-05-08")
SNS = Service("sns", dict, api_version="2010-03-31")
STS = sts_service(identity_store())
CLOUDWATCH = cloudwatch_service(make_monitor())
SERVICES = {service.name: service for service in (CLOUDWATCH, IAM, KMS, LAMBDA, S3, SNS, STS)}


def request_of(body=b"", *, method=b"POST", url=b"/", **headers):
    """Return a request; header names are given with underscores."""
    named = {name.replace("_", "-").encode(): value for name, value in headers.items()}
    return HttpRequest(Head(method, url, named), body, True)


def json_request(target, body=b"{}", **headers):
    """Return an AWS JSON request."""
    content_type = headers.pop("content_type", b"application/x-amz-json-1.0")
    return request_of(body, x_amz_target=target.encode(), content_type=content_type, **headers)


def form_request(body, **headers):
    """Return a query request."""
    return request_of(body, content_type=b"application/x-www-form-urlencoded", **headers)


def cbor_request(body, operation="ListMetrics", service="GraniteServiceVersion20100801", **headers):
    """Return a Smithy RPC v2 CBOR request."""
    url = f"/service/{service}/operation/{operation}".encode()
    return request_of(body, url=url, smithy_protocol=b"rpc-v2-cbor", **headers)


def call_of(service, protocol, operation, request=None):
    """Return a call whose operation is known."""
    made = SERVICES[service]
    call = Call(CODECS[protocol], made, operation, request or request_of())
    call.model = MODELS.load(made.name, made.api_version)
    call.operation_model = call.model.operation(operation)
    return call
