"""A cluster measures its steps, what went wrong with them, index lag, and what it recovered."""

from __future__ import annotations

import json
import re
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hashrange.cli.top_view import cluster_of, fetch, lags_of
from hashrange.errors import EngineError
from hashrange.storage import transactions
from hashrange.testing.server import LocalServer, serve
from tests.harness.engines import memory_plays

TABLE: dict[str, Any] = {
    "TableName": "Music",
    "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [{"AttributeName": n, "AttributeType": "S"} for n in ("a", "g")],
    "KeySchema": [{"AttributeName": "a", "KeyType": "HASH"}],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "ByG",
            "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        }
    ],
}
WRITES = 200


@pytest.fixture(scope="module")
def server() -> Iterator[LocalServer]:
    """A server on a cluster that loses requests, after many writes."""
    with ExitStack() as stack:
        with memory_plays("cluster"):
            started = stack.enter_context(serve())
        client = started.client()
        client.create_table(**TABLE)
        for number in range(WRITES):
            client.put_item(TableName="Music", Item={"a": {"S": str(number)}, "g": {"S": "g"}})
        yield started


def get(server: LocalServer, path: str, accept: str = "*/*") -> str:
    request = urllib.request.Request(f"{server.endpoint_url}{path}", headers={"Accept": accept})
    with urllib.request.urlopen(request, timeout=30) as answer:
        found: str = answer.read().decode()
        return found


def figure(text: str, name: str, labels: str = "") -> float:
    """Return a figure of the first line that has a name and a label."""
    found = re.search(rf"^{name}{{[^}}]*{re.escape(labels)}[^}}]*}} (\S+)", text, re.MULTILINE)
    assert found is not None, f"no {name} with {labels}"
    return float(found[1])


def sum_of(server: LocalServer, name: str, **dimensions: str) -> float:
    """Return the sum of a metric of the last and the coming hour, as CloudWatch tells it."""
    now = datetime.fromtimestamp(server.clock.now(), UTC)
    answer = server.client("cloudwatch").get_metric_statistics(
        Namespace="Hashrange",
        MetricName=name,
        Dimensions=[{"Name": key, "Value": value} for key, value in dimensions.items()],
        StartTime=now - timedelta(hours=1),
        EndTime=now + timedelta(hours=1),
        Period=3600,
        Statistics=["Sum"],
    )
    return sum(point["Sum"] for point in answer["Datapoints"])


def test_prometheus_has_steps_conflicts_and_unknown_outcomes(server: LocalServer) -> None:
    text = get(server, "/metrics")
    assert figure(text, "hashrange_step_duration_seconds_count") >= WRITES
    assert figure(text, "hashrange_step_conflicts_total") > 0
    settled = [
        figure(text, "hashrange_unknown_outcomes_total", f'outcome="{outcome}"')
        for outcome in ("applied", "not applied")
    ]
    assert all(settled)


def test_an_index_tells_how_far_it_lags(server: LocalServer) -> None:
    server.clock.advance(1)  # the follower has done its work when this returns
    text = get(server, "/metrics")
    assert figure(text, "hashrange_index_lag_seconds_count", 'table="Music"') > 0
    health = json.loads(get(server, "/healthz/engine"))
    assert health["index_lag_seconds"].keys() == {"000000000000/us-east-1/Music"}


def test_the_lag_is_the_age_of_the_change(
    server: LocalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The follower finds a change that was written three seconds before it could be followed."""
    client = server.client()
    before = sum_of(server, "GlobalIndexLag", TableName="Music")
    monkeypatch.setattr("hashrange.engine.memory.cluster.ClusterMemoryEngine.merge", refuse)
    client.put_item(TableName="Music", Item={"a": {"S": "late"}, "g": {"S": "g"}})
    with pytest.raises(EngineError, match="no merging"):
        server.clock.advance(3)
    assert sum_of(server, "GlobalIndexLag", TableName="Music") - before >= 3000
    monkeypatch.undo()
    server.clock.advance(1)
    answer = client.query(
        TableName="Music",
        IndexName="ByG",
        KeyConditionExpression="g = :g",
        ExpressionAttributeValues={":g": {"S": "g"}},
    )
    assert answer["Count"] == WRITES + 1


async def refuse(*_: object) -> None:
    raise EngineError("no merging")


def test_transactions_of_a_process_that_died_are_counted(
    server: LocalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def die(*_: object) -> bool:
        return False

    monkeypatch.setattr(transactions, "finish_entry", die)
    puts = [
        {"Put": {"TableName": "Music", "Item": {"a": {"S": name}}}} for name in ("x1", "x2", "x3")
    ]
    server.client().transact_write_items(TransactItems=puts)
    monkeypatch.undo()
    server.clock.advance(60)
    assert sum_of(server, "RecoveredTransactions", Outcome="committed") == 1
    assert json.loads(get(server, "/healthz/engine"))["recovered_transactions"] == 1


def test_top_shows_the_cluster(server: LocalServer) -> None:
    totals = fetch(server.endpoint_url)
    cluster = cluster_of(totals, {}, 2.0)
    assert cluster is not None
    assert cluster.steps >= WRITES / 2
    assert cluster.conflicts > 0
    assert cluster.unknown > 0
    assert cluster.milliseconds_p99 >= cluster.milliseconds > 0
    assert lags_of(totals, {}).keys() == {"Music"}
    assert cluster_of(totals, totals, 1.0) == (0.0, 0.0, 0.0, 0.0, 0.0)
    assert lags_of(totals, totals) == {}


def test_writing_metrics_is_not_measured(server: LocalServer) -> None:
    """Otherwise an idle process would write its metrics every five seconds, for ever."""
    get(server, "/metrics")
    before = sum_of(server, "StepConflicts"), fetch(server.endpoint_url)
    for _ in range(5):
        get(server, "/metrics")
    assert before == (sum_of(server, "StepConflicts"), before[1])
    after = fetch(server.endpoint_url)
    key = ("StepLatency", "", "")
    assert after[key].count == before[1][key].count


def test_one_machine_measures_nothing_of_the_kind() -> None:
    with serve() as alone:
        alone.client().create_table(**TABLE)
        assert "hashrange_step_duration_seconds_count" not in get(alone, "/metrics")
        assert cluster_of(fetch(alone.endpoint_url), {}, 1.0) is None
