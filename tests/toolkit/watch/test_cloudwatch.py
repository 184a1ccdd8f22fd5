"""CloudWatch and Contributor Insights, through stub clients of boto3's form."""

import json
from datetime import UTC, datetime, timedelta

import boto3
import pytest

from hashrange.cli.main import main
from hashrange.toolkit.watch.cloudwatch import Observer, patterns_of_key, remarks_on
from tests.toolkit.checker.documents import HERE, shop

NOW = datetime(2026, 5, 17, 12, tzinfo=UTC)
RULE = "DynamoDBContributorInsights-PKC-Shop-1"


class CloudWatch:
    """Answers with given sums by metric and dimension values."""

    def __init__(self, sums, keys=()):
        self.sums = sums
        self.keys = keys

    def get_metric_statistics(self, **given):
        assert given["EndTime"] - given["StartTime"] == timedelta(hours=1)
        names = [each["Value"] for each in given["Dimensions"]]
        value = self.sums.get((given["MetricName"], *names))
        statistic = given["Statistics"][0]
        return {"Datapoints": [] if value is None else [{statistic: value / 2}] * 2}

    def get_insight_rule_report(self, **given):
        assert given["RuleName"] == RULE
        total = sum(count for _, count in self.keys)
        contributors = [
            {"Keys": [key], "ApproximateAggregateValue": count} for key, count in self.keys
        ]
        return {"AggregateValue": total, "Contributors": contributors}


class Insights:
    """Says whether Contributor Insights is enabled."""

    def __init__(self, status="DISABLED"):
        self.status = status

    def describe_contributor_insights(self, **given):
        enabled = self.status if "IndexName" not in given else "DISABLED"
        rules = ["DynamoDBContributorInsights-PKT-Shop-1", RULE]
        return {"ContributorInsightsStatus": enabled, "ContributorInsightsRuleList": rules}


BUSY = {
    ("SuccessfulRequestLatency", "Shop", "GetItem"): 1000,
    ("SuccessfulRequestLatency", "Shop", "Query"): 50,
    ("SuccessfulRequestLatency", "Shop", "PutItem"): 20,
    ("SuccessfulRequestLatency", "Shop", "TransactWriteItems"): 5,
    ("ConsumedReadCapacityUnits", "Shop", "GSI1"): 40,
    ("ConsumedWriteCapacityUnits", "Shop", "GSI1"): 20,
}


def remarks(sums, insights=None, keys=()):
    observer = Observer(CloudWatch(sums, keys), insights or Insights(), NOW, timedelta(hours=1))
    return [(each.kind, each.subject) for each in remarks_on(shop(), observer.count(shop()))]


def test_traffic_as_declared_gives_no_remarks():
    assert remarks(BUSY) == []


def test_silence_is_remarked():
    found = remarks({})
    assert ("uncalled", "pattern:user") in found
    assert ("unused-index", "index:Shop.GSI1") in found


@pytest.mark.parametrize(
    ("metric", "operation", "kind"),
    [
        ("SuccessfulRequestLatency", "Scan", "scan"),
        ("SuccessfulRequestLatency", "BatchWriteItem", "undeclared"),
        ("ThrottledRequests", "GetItem", "throttled"),
    ],
)
def test_what_should_not_be_there_is_remarked(metric, operation, kind):
    assert remarks({**BUSY, (metric, "Shop", operation): 4}) == [(kind, "table:Shop")]


def test_hot_keys_come_with_the_patterns_behind_them():
    keys = [("USER#7", 60), ("USER#8", 5), ("SESSION#1", 5)]
    assert remarks(BUSY, Insights("ENABLED"), keys) == [("hot-key", "table:Shop")]
    names = [pattern.name for pattern in patterns_of_key(shop(), "Shop", "SESSION#1")]
    assert names == ["start_session", "session"]


def test_the_command_asks_both_services(monkeypatch, capsys):
    clients = {"cloudwatch": CloudWatch(BUSY), "dynamodb": Insights()}
    monkeypatch.setattr(boto3, "client", lambda service, **_: clients[service])
    with pytest.raises(SystemExit) as stopped:
        main(["design", "watch", str(HERE / "shop.toml"), "--cloudwatch", "--format", "json"])
    assert stopped.value.code == 0
    assert json.loads(capsys.readouterr().out) == {"design": "shop", "remarks": []}
