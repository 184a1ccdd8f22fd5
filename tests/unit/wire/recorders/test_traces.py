"""Spans of requests, and the traces that they continue; a stand-in of a collector receives them."""

import boto3
import pytest

from hashrange.api.scope import IN_PROCESS, RequestScope
from hashrange.clock import VirtualClock
from hashrange.wire.recorders.traces import Traces
from tests.harness import server
from tests.harness.collector import collector

memory = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter")

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = "00f067aa0ba902b7"


def span_of(trace=b"", status=200, error=""):
    exporter = memory.InMemorySpanExporter()
    traces = Traces(exporter, VirtualClock(1000.0), "1")
    scope = RequestScope(b"ID", IN_PROCESS, trace)
    scope.service, scope.operation, scope.status, scope.error = "dynamodb", "Query", status, error
    scope.ended = scope.started + 0.5
    scope.resources = ["arn:aws:dynamodb:us-east-1:000000000000:table/Music"]
    scope.parameters = {"Limit": 5, "ExpressionAttributeValues": {":a": {"S": "secret"}}}
    scope.note_read("Music", 1.5)
    traces.record(scope)
    traces.close()
    (span,) = exporter.get_finished_spans()
    return span


def test_a_span_says_what_was_asked_for_and_what_it_cost():
    span = span_of()
    assert span.name == "DynamoDB.Query"
    assert span.end_time - span.start_time == pytest.approx(5e8, rel=0.01)
    assert span.attributes["aws.dynamodb.table_names"] == ("Music",)
    assert span.attributes["aws.dynamodb.limit"] == 5
    assert '"ReadCapacityUnits":1.5' in span.attributes["aws.dynamodb.consumed_capacity"][0]
    assert "secret" not in str(span.attributes)


@pytest.mark.parametrize(
    "header",
    [
        f"00-{TRACE}-{PARENT}-01",
        f"Root=1-{TRACE[:8]}-{TRACE[8:]};Parent={PARENT};Sampled=1",
    ],
)
def test_a_trace_is_continued(header):
    span = span_of(header.encode())
    assert f"{span.context.trace_id:032x}" == TRACE
    assert f"{span.parent.span_id:016x}" == PARENT


@pytest.mark.parametrize("header", [b"", b"nonsense", b"Root=1-2-3"])
def test_other_headers_begin_a_new_trace(header):
    assert span_of(header).parent is None


def test_failures_of_the_server_are_marked():
    assert not span_of(status=500, error="InternalServerError").status.is_ok
    assert span_of(status=400, error="ValidationException").attributes["error.type"]


def test_a_collector_receives_spans_over_otlp():
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http.trace_exporter")
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    with (
        collector() as (address, got),
        server.hashrange("--otlp-endpoint", address, "--metrics", "off") as url,
    ):
        boto3.client(
            "dynamodb",
            endpoint_url=url,
            region_name="us-east-1",
            aws_access_key_id="local",
            aws_secret_access_key="local",
        ).list_tables()
    (path, body), *_ = got
    assert path == "/v1/traces"
    found = ExportTraceServiceRequest.FromString(body)
    assert found.resource_spans[0].scope_spans[0].spans[0].name == "DynamoDB.ListTables"
