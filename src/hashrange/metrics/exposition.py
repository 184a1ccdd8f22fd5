"""What is told to Prometheus and OpenTelemetry: totals as counters, and times as histograms.

Labels are account, region, table, index and operation, whose number the tables bound.
"""

from __future__ import annotations

from typing import Final

from hashrange.metrics.samples import Samples
from hashrange.metrics.series import Series

WORLD: Final = ("account", "region")
"""The labels that everything has."""

_LABELS: Final = {
    "TableName": "table",
    "GlobalSecondaryIndexName": "index",
    "Operation": "operation",
    "Error": "error",
    "StreamLabel": "stream",
    "FunctionName": "function",
    "Outcome": "outcome",
}
# Metrics of CloudWatch: the name of the counter, its labels and its help.
COUNTERS: Final[dict[str, tuple[str, tuple[str, ...], str]]] = {
    "ConsumedReadCapacityUnits": (
        "consumed_read_units",
        ("table", "index"),
        "Read capacity units consumed",
    ),
    "ConsumedWriteCapacityUnits": (
        "consumed_write_units",
        ("table", "index"),
        "Write capacity units consumed",
    ),
    "ReturnedItemCount": (
        "returned_items",
        ("table", "operation"),
        "Items returned by queries, scans and statements",
    ),
    "ExaminedItemCount": (
        "examined_items",
        ("table", "operation"),
        "Items examined by queries, scans and statements",
    ),
    "ReturnedRecordsCount": (
        "returned_stream_records",
        ("table", "stream"),
        "Stream records returned",
    ),
    "RefusedRequests": ("refused_requests", ("operation", "error"), "Requests refused or failed"),
    "ConditionalCheckFailedRequests": (
        "conditional_check_failures",
        ("table",),
        "Writes whose condition failed",
    ),
    "TransactionConflict": (
        "transaction_conflicts",
        ("table",),
        "Items that a transaction found locked",
    ),
    "TimeToLiveDeletedItemCount": ("expired_items", ("table",), "Items deleted by time to live"),
    "ThrottledRequests": ("throttled_requests", ("table", "operation"), "Requests throttled"),
    "ReadThrottleEvents": ("read_throttle_events", ("table", "index"), "Reads throttled"),
    "WriteThrottleEvents": ("write_throttle_events", ("table", "index"), "Writes throttled"),
    "Invocations": ("function_invocations", ("function",), "Invocations of functions"),
    "Errors": ("function_errors", ("function",), "Invocations of functions that failed"),
    "SystemErrors": ("system_errors", ("table", "operation"), "Requests the server failed to do"),
    "StepConflicts": (
        "step_conflicts",
        (),
        "Conditional batches that another process of the cluster forestalled",
    ),
    "UnknownOutcomes": (
        "unknown_outcomes",
        ("outcome",),
        "Conditional batches without an answer, by what became of them",
    ),
    "RecoveredTransactions": (
        "recovered_transactions",
        ("outcome",),
        "Transactions that another process than their own has finished",
    ),
}
# Metrics in milliseconds: the name of the histogram of seconds, its labels and its help.
HISTOGRAMS: Final[dict[str, tuple[str, tuple[str, ...], str]]] = {
    "SuccessfulRequestLatency": (
        "request_duration",
        ("table", "operation"),
        "Time from the arrival of a request to its answer",
    ),
    "StepLatency": ("step_duration", (), "Time that conditional batches of a cluster take"),
    "GlobalIndexLag": (
        "index_lag",
        ("table",),
        "Age of the oldest change that the follower of global indexes takes at once",
    ),
}
BOUNDS_SECONDS: Final = (
    *(0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5),
    *(1.0, 2.5, 5.0, 10.0),
)

Totals = list[tuple[Series, Samples]]


def labels_of(series: Series) -> dict[str, str] | None:
    """Return the labels of a series, None if it is not told."""
    known = {_LABELS.get(name, name): value for name, value in series.dimensions}
    described = HISTOGRAMS.get(series.name) or COUNTERS.get(series.name)
    if described is None or (series.name in HISTOGRAMS and "stream" in known):
        return None
    labels = described[1]
    if "function" in labels and "function" not in known:
        return None  # the sum of all functions, each of which is told
    own = {label: known.get(label, "") for label in labels}
    return {"account": series.account, "region": series.region, **own}


def counts_up_to(samples: Samples) -> list[float]:
    """Return how many samples are at most each bound, right to the 2 % of the sketch."""
    weighted = samples.weighted() or []
    return [
        sum(count for value, count in weighted if value / 1000 <= bound) for bound in BOUNDS_SECONDS
    ]
