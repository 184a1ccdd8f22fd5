"""The recorder of metrics: what becomes of requests, minute by minute."""

import asyncio
from typing import Any

from hashrange.api.operation import Context
from hashrange.api.scope import IN_PROCESS, Caller, RequestScope
from hashrange.clock import VirtualClock
from hashrange.engine.memory.engine import MemoryEngine
from hashrange.keyring.table_keys import TableKeys
from hashrange.metrics.buffer import MetricBuffer
from hashrange.metrics.insights import InsightStore
from hashrange.metrics.store import MetricStore
from hashrange.storage.catalog import Catalog
from hashrange.wire.recorders.key_access import KeyAccess
from hashrange.wire.recorders.request_metrics import RequestMetrics, reason_metric
from tests.harness.identities import key_store

ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/Music"


class Site:
    """A recorder on an engine of its own, and the sums of what it has written."""

    def __init__(self):
        engine = MemoryEngine()
        self.clock = VirtualClock(6000.0)
        self.store = MetricStore(engine)
        self.buffer = MetricBuffer(self.store, self.clock)
        self.keys = KeyAccess(InsightStore(engine))
        self.recorder = RequestMetrics(self.clock, self.buffer, self.keys, engine)
        catalog = Catalog(engine, self.clock, None)
        self.context = Context(
            "000000000000",
            "us-east-1",
            catalog=catalog,
            engine=engine,
            clock=self.clock,
            table_keys=TableKeys(key_store(engine), self.clock),
        )

    def record(self, operation="GetItem", status=200, resources=(ARN,), consumed=(), **known: Any):
        scope = RequestScope(b"", IN_PROCESS, b"")
        scope.caller = Caller("k", "000000000000", "arn", "us-east-1", "dynamodb")
        scope.context, scope.service, scope.operation = self.context, "dynamodb", operation
        scope.status, scope.ended = status, scope.started + 0.002
        scope.resources, scope.consumed = list(resources), list(consumed)
        for name, value in known.items():
            setattr(scope, name, value)
        self.recorder.record(scope)

    def written(self):
        """Return count and sum by metric, other dimensions than the table, and minute."""

        async def read():
            await self.buffer.flush()
            found = {}
            for series, _, _ in await self.store.list():
                rest = tuple(v for n, v in series.dimensions if n != "TableName")
                for time, samples in (await self.store.read(series, 60, 0, 10_000)).items():
                    found[series.name, *rest, time] = (samples.count, round(samples.sum, 6))
            return found

        return asyncio.run(read())


def test_a_request_belongs_to_the_minute_in_which_it_ended():
    site = Site()
    site.record(consumed=[("Music", None, 0.5, 0.0)])
    site.clock.advance(60)
    site.record(consumed=[("Music", None, 2.0, 0.0)])
    site.record(consumed=[("Music", None, 0.5, 0.0)])
    assert site.written() == {
        ("ConsumedReadCapacityUnits", 6000): (1, 0.5),
        ("ConsumedReadCapacityUnits", 6060): (2, 2.5),
        ("SuccessfulRequestLatency", "GetItem", 6000): (1, 2.0),
        ("SuccessfulRequestLatency", "GetItem", 6060): (2, 4.0),
    }


def test_more_requests_than_a_cell_holds_are_all_counted():
    site = Site()
    for _ in range(1500):
        site.record("PutItem", consumed=[("Music", None, 0.0, 1.0)])
    assert site.written()["ConsumedWriteCapacityUnits", 6000] == (1500, 1500)


def test_requests_with_other_units_or_with_indexes_between_are_counted_exactly():
    site = Site()
    plain = [1.0, 1.0, 2.0, 1.0, 3.0, 2.0]
    for units in plain:
        site.record("PutItem", consumed=[("Music", None, 0.0, units)])
        site.record("PutItem", consumed=[("Music", None, 0.0, 5.0), ("Music", "i", 0.0, 7.0)])
    site.record("PutItem", consumed=[])
    written = site.written()
    total = sum(plain) + 5.0 * len(plain)
    assert written["ConsumedWriteCapacityUnits", 6000] == (2 * len(plain), total)
    assert written["ConsumedWriteCapacityUnits", "i", 6000] == (len(plain), 7.0 * len(plain))
    assert written["SuccessfulRequestLatency", "PutItem", 6000][0] == 2 * len(plain) + 1


def test_a_batch_counts_for_each_of_its_tables():
    site = Site()
    consumed = [("Music", None, 1.0, 0.0), ("Books", None, 2.5, 0.0)]
    books = ARN.replace("Music", "Books")
    site.record("BatchGetItem", resources=[ARN, books], consumed=consumed)
    assert site.written()["ConsumedReadCapacityUnits", 6000][1] in (1.0, 2.5)
    latency = site.written()["SuccessfulRequestLatency", "BatchGetItem", 6000]
    assert latency == (1, 2.0)


def test_failures_are_counted_by_what_they_are():
    site = Site()
    condition = "ConditionalCheckFailedException"
    site.record("PutItem", 400, consumed=[("Music", None, 0.0, 1.0)], error=condition)
    site.record("GetItem", 400, error="ValidationException")
    site.record("GetItem", 500, error="InternalServerError")
    site.record(
        "TransactWriteItems",
        400,
        error="TransactionCanceledException",
        conflicts=("Music", "Music"),
    )
    throttle = ("Music", "ByYear", "IndexWriteProvisionedThroughputExceeded")
    site.record(
        "PutItem", 400, error="ProvisionedThroughputExceededException", throttles=(throttle,)
    )
    found = site.written()
    assert found["ConditionalCheckFailedRequests", 6000] == (1, 1)
    assert found["ConsumedWriteCapacityUnits", 6000] == (1, 1)
    assert found["UserErrors", 6000] == (2, 2)
    assert found["SystemErrors", "GetItem", 6000] == (1, 1)
    assert found["TransactionConflict", 6000] == (1, 2)
    assert found["ThrottledRequests", "PutItem", 6000] == (1, 1)
    assert found["WriteThrottleEvents", "ByYear", 6000] == (1, 1)
    assert found["WriteProvisionedThroughputThrottleEvents", "ByYear", 6000] == (1, 1)


def test_operations_on_tables_and_other_services_have_no_metrics():
    site = Site()
    site.record("DescribeTable")
    site.record("ListMetrics", service="cloudwatch", resources=[])
    site.record(
        "GetItem",
        resources=[],
        status=400,
        error="UnrecognizedClientException",
        caller=RequestScope(b"", IN_PROCESS, b"").caller,
    )
    assert site.written() == {}


def test_reasons_of_throttling_have_metrics():
    assert reason_metric("TableReadKeyRangeThroughputExceeded") == (
        "ReadKeyRangeThroughputThrottleEvents"
    )
    assert reason_metric("IndexWriteAccountLimitExceeded") == "WriteAccountLimitThrottleEvents"
    assert reason_metric("TableReadMaxOnDemandThroughputExceeded") == (
        "ReadMaxOnDemandThroughputThrottleEvents"
    )
