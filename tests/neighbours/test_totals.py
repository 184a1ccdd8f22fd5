"""Units agree wherever they are told: in answers, CloudWatch, Prometheus and insights."""

import random
import re
import sys
import urllib.error
import urllib.request
from datetime import UTC, datetime, timedelta

import boto3
import pytest

from hashrange.testing.server import serve
from tests.harness import server as real_server

TABLE = {
    "TableName": "Music",
    "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [{"AttributeName": n, "AttributeType": "S"} for n in ("a", "b", "g")],
    "KeySchema": [
        {"AttributeName": "a", "KeyType": "HASH"},
        {"AttributeName": "b", "KeyType": "RANGE"},
    ],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "ByG",
            "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
        }
    ],
}
WRITES = ("put_item", "update_item", "delete_item", "batch_write_item", "transact_write_items")


class Load:
    """Random requests, and the units that their answers told, by table and index."""

    def __init__(self, client, seed):
        self.client = client
        self.chance = random.Random(seed)
        self.units = {("Read", ""): 0.0, ("Write", ""): 0.0, ("Read", "ByG"): 0.0}
        self.units["Write", "ByG"] = 0.0

    def key(self):
        return {
            "a": {"S": str(self.chance.randrange(5))},
            "b": {"S": str(self.chance.randrange(9))},
        }

    def item(self):
        size = self.chance.choice([10, 1500, 5000])
        return {**self.key(), "g": {"S": str(self.chance.randrange(3))}, "x": {"S": "x" * size}}

    def send(self, operation, **request):
        answer = getattr(self.client, operation)(**request, ReturnConsumedCapacity="INDEXES")
        found = answer.get("ConsumedCapacity") or []
        kind = "Write" if operation in WRITES else "Read"
        for consumed in found if isinstance(found, list) else [found]:
            self.units[kind, ""] += consumed["Table"]["CapacityUnits"]
            for name, arm in consumed.get("GlobalSecondaryIndexes", {}).items():
                self.units[kind, name] += arm["CapacityUnits"]

    def step(self, *, counted_only):
        table = {"TableName": "Music"}
        keys = [dict(pair) for pair in {tuple(sorted((k, v["S"]) for k, v in self.key().items()))}]
        values = {":a": {"S": "1"}}
        choices = [
            lambda: self.send("put_item", **table, Item=self.item()),
            lambda: self.send("get_item", **table, Key=self.key(), ConsistentRead=True),
            lambda: self.send("get_item", **table, Key=self.key()),
            lambda: self.send("delete_item", **table, Key=self.key()),
            lambda: self.send(
                "update_item",
                **table,
                Key=self.key(),
                UpdateExpression="SET y = :a",
                ExpressionAttributeValues=values,
            ),
            lambda: self.send(
                "query",
                **table,
                KeyConditionExpression="a = :a",
                ExpressionAttributeValues=values,
            ),
            lambda: self.send(
                "batch_get_item",
                RequestItems={
                    "Music": {"Keys": [{n: {"S": v} for n, v in key.items()} for key in keys]}
                },
            ),
            lambda: self.send(
                "transact_write_items",
                TransactItems=[{"Put": {**table, "Item": self.item()}}],
            ),
        ]
        if not counted_only:
            choices += [
                lambda: self.send("scan", **table),
                lambda: self.send(
                    "query",
                    **table,
                    IndexName="ByG",
                    KeyConditionExpression="g = :a",
                    ExpressionAttributeValues=values,
                ),
                lambda: self.send(
                    "execute_statement", Statement="SELECT * FROM Music WHERE a = '1'"
                ),
            ]
        self.chance.choice(choices)()


def cloudwatch_units(cloudwatch, now):
    found = {}
    for kind in ("Read", "Write"):
        for index in ("", "ByG"):
            dimensions = [{"Name": "TableName", "Value": "Music"}]
            if index:
                dimensions.append({"Name": "GlobalSecondaryIndexName", "Value": index})
            points = cloudwatch.get_metric_statistics(
                Namespace="AWS/DynamoDB",
                MetricName=f"Consumed{kind}CapacityUnits",
                Dimensions=dimensions,
                StartTime=now - timedelta(hours=1),
                EndTime=now + timedelta(minutes=2),
                Period=60,
                Statistics=["Sum"],
            )["Datapoints"]
            found[kind, index] = sum(point["Sum"] for point in points)
    return found


def prometheus_units(url):
    with urllib.request.urlopen(f"{url}/metrics") as answer:
        text = answer.read().decode()
    found = {(kind, index): 0.0 for kind in ("Read", "Write") for index in ("", "ByG")}
    pattern = r'hashrange_consumed_(read|write)_units_total\{.*index="(\w*)".*\} (\S+)'
    for kind, index, value in re.findall(pattern, text):
        found[kind.capitalize(), index] += float(value)
    return found


def test_units_agree_in_answers_cloudwatch_and_prometheus():
    with serve() as server:
        server.client().create_table(**TABLE)
        load = Load(server.client(), seed=5)
        for number in range(200):
            load.step(counted_only=False)
            if number % 50 == 49:
                server.clock.advance(61)
        now = datetime.fromtimestamp(server.clock.now(), UTC)
        assert cloudwatch_units(server.client("cloudwatch"), now) == load.units
        assert prometheus_units(server.endpoint_url) == load.units
        assert all(units > 0 for units in load.units.values())


def test_insights_agree_with_answers_cloudwatch_and_prometheus():
    with serve() as server:
        dynamodb, cloudwatch = server.client(), server.client("cloudwatch")
        dynamodb.create_table(**TABLE)
        dynamodb.update_contributor_insights(TableName="Music", ContributorInsightsAction="ENABLE")
        load = Load(dynamodb, seed=6)
        for _ in range(100):
            load.step(counted_only=True)
        rules = dynamodb.describe_contributor_insights(TableName="Music")
        now = datetime.fromtimestamp(server.clock.now(), UTC)
        report = cloudwatch.get_insight_rule_report(
            RuleName=rules["ContributorInsightsRuleList"][0],
            StartTime=now - timedelta(hours=1),
            EndTime=now + timedelta(minutes=1),
            Period=60,
        )
        assert report["KeyLabels"] == ["a"]
        assert cloudwatch_units(cloudwatch, now) == load.units
        assert prometheus_units(server.endpoint_url) == load.units
        # Reads count once and writes three times.
        assert report["AggregateValue"] == load.units["Read", ""] + 3 * load.units["Write", ""]
        weights = [entry["ApproximateAggregateValue"] for entry in report["Contributors"]]
        assert sum(weights) == report["AggregateValue"]
        assert weights == sorted(weights, reverse=True)


def test_workers_and_restarts_add_up(tmp_path):

    def serve_directory():
        port = real_server.free_port()
        command = [sys.executable, "-m", "hashrange", "serve", "--port", str(port)]
        where = ["--data-dir", str(tmp_path / "data"), "--workers", "2"]
        return real_server.running([*command, *where], port)

    units = 0.0
    for number in range(2):
        with serve_directory() as url:
            options = {
                "endpoint_url": url,
                "region_name": "us-east-1",
                "aws_access_key_id": "local",
                "aws_secret_access_key": "local",
            }
            if number == 0:
                boto3.client("dynamodb", **options).create_table(**TABLE)
            for _ in range(6):
                # Each client has a connection of its own, so that both workers get some.
                client = boto3.client("dynamodb", **options)
                for _ in range(3):
                    client.get_item(TableName="Music", Key={"a": {"S": "1"}, "b": {"S": "1"}})
                    units += 0.5
                client.close()
    with serve_directory() as url:
        assert prometheus_units(url)["Read", ""] == units


def test_nothing_is_measured_if_that_is_wanted():
    with (
        real_server.hashrange("--in-memory", "--metrics", "off") as url,
        pytest.raises(urllib.error.HTTPError),
    ):
        urllib.request.urlopen(f"{url}/metrics")
