"""Metrics over OTLP, received by a stand-in of a collector."""

import boto3
import pytest

from hashrange.clock import VirtualClock
from hashrange.metrics.samples import Samples
from hashrange.metrics.series import DYNAMODB, make_series
from hashrange.services.metric_export import MetricExport, to_otlp
from tests.harness import server
from tests.harness.collector import collector
from tests.harness.monitors import make_monitor

pytest.importorskip("opentelemetry.exporter.otlp.proto.http.metric_exporter")


def samples(*values):
    made = Samples()
    made.add_all(list(values))
    return made


def series(name, **dimensions):
    return make_series("000000000000", "us-east-1", DYNAMODB, name, dimensions)


def metrics_of(totals):
    (resource,) = to_otlp(totals, 5, "1").resource_metrics
    (scope,) = resource.scope_metrics
    return {metric.name: metric for metric in scope.metrics}


def test_counters_are_monotonic_sums_with_labels():
    units = series("ConsumedReadCapacityUnits", TableName="Music", GlobalSecondaryIndexName="i")
    (metric,) = metrics_of([(units, samples(1.5, 2.0))]).values()
    assert metric.name == "hashrange.consumed_read_units"
    assert metric.data.is_monotonic
    (point,) = metric.data.data_points
    assert (point.value, point.time_unix_nano) == (3.5, 5)
    assert point.attributes == {
        "account": "000000000000",
        "region": "us-east-1",
        "table": "Music",
        "index": "i",
    }


def test_latency_is_a_histogram_in_seconds():
    latency = series("SuccessfulRequestLatency", TableName="Music", Operation="GetItem")
    metric = metrics_of([(latency, samples(0.2, 0.2, 3.0, 60_000.0))])["hashrange.request_duration"]
    (point,) = metric.data.data_points
    assert (point.count, point.sum) == (4, pytest.approx(60.0034))
    assert len(point.bucket_counts) == len(point.explicit_bounds) + 1
    assert sum(point.bucket_counts) == 4
    assert point.bucket_counts[point.explicit_bounds.index(0.00025)] == 2
    assert point.bucket_counts[-1] == 1


def test_what_has_no_counter_is_not_told():
    assert metrics_of([(series("UserErrors"), samples(1.0))]) == {}
    streams = series(
        "SuccessfulRequestLatency", TableName="Music", Operation="GetRecords", StreamLabel="x"
    )
    assert metrics_of([(streams, samples(1.0))]) == {}


class Held:
    """An exporter that counts what it gets."""

    def __init__(self):
        self.count = 0
        self.is_shut = False

    def export(self, data):
        self.count += 1

    def shutdown(self):
        self.is_shut = True


async def send_and_close(exporter):
    export = MetricExport(exporter, make_monitor().metrics, VirtualClock(), "1")
    await export.step()
    await export.close()
    await export.step()


def test_the_last_totals_are_sent_when_the_server_stops():
    import asyncio

    exporter = Held()
    asyncio.run(send_and_close(exporter))
    assert (exporter.count, exporter.is_shut) == (2, True)


def test_a_collector_receives_metrics_over_otlp():
    from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
        ExportMetricsServiceRequest,
    )

    with (
        collector() as (address, got),
        server.hashrange("--otlp-endpoint", address) as url,
    ):
        dynamodb = boto3.client(
            "dynamodb",
            endpoint_url=url,
            region_name="us-east-1",
            aws_access_key_id="local",
            aws_secret_access_key="local",
        )
        dynamodb.create_table(
            TableName="Music",
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": "a", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "a", "KeyType": "HASH"}],
        )
        for _ in range(3):
            dynamodb.put_item(TableName="Music", Item={"a": {"S": "1"}})
    bodies = [body for path, body in got if path == "/v1/metrics"]
    last = ExportMetricsServiceRequest.FromString(bodies[-1])
    found = {metric.name: metric for metric in last.resource_metrics[0].scope_metrics[0].metrics}
    assert found["hashrange.consumed_write_units"].sum.data_points[0].as_double == 3.0
    puts = [
        point
        for point in found["hashrange.request_duration"].histogram.data_points
        if any(label.value.string_value == "PutItem" for label in point.attributes)
    ]
    assert [point.count for point in puts] == [3]
