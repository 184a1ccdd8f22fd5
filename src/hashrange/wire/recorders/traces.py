"""Sends a span for every request to an OpenTelemetry collector, over OTLP and HTTP.

A request that carries a trace context, W3C's `traceparent` or AWS's `X-Amzn-Trace-Id`, continues
that trace. Attributes are those of the semantic conventions for DynamoDB; no key and no value of an
item is among them. Spans are sent in batches by a thread of the OpenTelemetry SDK, which drops
those that it cannot get rid of.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, final

import orjson

from hashrange.api.scope import RequestScope
from hashrange.clock import Clock

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace.export import SpanExporter

_SERVICES: Final = ("dynamodb", "dynamodbstreams")
_XRAY: Final = re.compile(r"Root=1-([0-9a-f]{8})-([0-9a-f]{24})(?:.*?Parent=([0-9a-f]{16}))?")
_SAMPLED: Final = re.compile(r"Sampled=([01])")
_LIMITED: Final = (
    ("IndexName", "aws.dynamodb.index_name"),
    ("ProjectionExpression", "aws.dynamodb.projection"),
    ("Limit", "aws.dynamodb.limit"),
    ("ConsistentRead", "aws.dynamodb.consistent_read"),
)


@final
class Traces:
    """Makes spans; needs the packages of the extra `otel`."""

    def __init__(self, exporter: SpanExporter, clock: Clock, version: str) -> None:
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        resource = Resource.create({"service.name": "hashrange", "service.version": version})
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("hashrange", version)
        self._clock = clock

    def record(self, scope: RequestScope) -> None:
        """Make the span of a request that was answered."""
        if scope.service not in _SERVICES:
            return
        from opentelemetry.trace import SpanKind, Status, StatusCode

        ended = int(self._clock.now() * 1e9)
        span = self._tracer.start_span(
            f"DynamoDB.{scope.operation}",
            context=parent_of(scope.trace),
            kind=SpanKind.SERVER,
            attributes=attributes_of(scope),
            start_time=ended - int(scope.duration_seconds * 1e9),
        )
        if scope.status >= 500:
            span.set_status(Status(StatusCode.ERROR, scope.error))
        span.end(ended)

    def close(self) -> None:
        """Send what is left and end the thread; may wait for the collector."""
        self._provider.shutdown()


def parent_of(trace: bytes) -> Context | None:
    """Return the context of a trace header, None if there is none that can be read."""
    from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, set_span_in_context
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    if not trace:
        return None
    text = trace.decode("latin-1")
    found = _XRAY.search(text)
    if found is None:
        return TraceContextTextMapPropagator().extract({"traceparent": text})
    if found[3] is None:
        return None
    sampled = _SAMPLED.search(text)
    flags = TraceFlags(0 if sampled is not None and sampled[1] == "0" else 1)
    context = SpanContext(int(found[1] + found[2], 16), int(found[3], 16), True, flags)
    return set_span_in_context(NonRecordingSpan(context))


def attributes_of(scope: RequestScope) -> dict[str, Any]:
    """Return the attributes of a request's span."""
    request: dict[str, Any] = getattr(scope, "parameters", {})
    tables = dict.fromkeys(
        arn.partition(":table/")[2].split("/")[0] for arn in scope.resources if ":table/" in arn
    )
    attributes: dict[str, Any] = {
        "rpc.system": "aws-api",
        "rpc.service": "DynamoDB",
        "rpc.method": scope.operation,
        "db.system.name": "aws.dynamodb",
        "db.operation.name": scope.operation,
        "http.response.status_code": scope.status,
        "cloud.region": scope.region,
        "aws.request_id": scope.request_id,
        "aws.dynamodb.table_names": list(tables),
        "aws.dynamodb.count": scope.returned_count,
        "aws.dynamodb.scanned_count": scope.examined_count,
        "aws.dynamodb.consumed_capacity": [
            orjson.dumps(
                {
                    "TableName": table,
                    "IndexName": index,
                    "ReadCapacityUnits": reads,
                    "WriteCapacityUnits": writes,
                }
            ).decode()
            for table, index, reads, writes in scope.consumed
        ],
    }
    for member, name in _LIMITED:
        if isinstance(request.get(member), (str, int, bool)):
            attributes[name] = request[member]
    if scope.error:
        attributes["error.type"] = scope.error
    return attributes
