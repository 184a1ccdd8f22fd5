"""The monitoring class of the design standards runs unchanged, with another endpoint."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hashrange.testing.server import serve

TEXT = (Path(__file__).parents[1] / "toolkit" / "seeds" / "best-practices.md").read_text()
GIVEN = "import json\nfrom datetime import datetime\nfrom typing import Dict, List\nimport boto3\n"


@pytest.fixture
def server(monkeypatch):
    with serve() as started:
        monkeypatch.setenv("AWS_ENDPOINT_URL", started.endpoint_url)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "local")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "local")
        yield started


def make_monitor(table):
    blocks = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    (code,) = [block for block in blocks if "class DynamoDBMonitor" in block]
    names: dict = {}
    exec(compile(GIVEN + code, "monitor", "exec"), names)
    return names["DynamoDBMonitor"](table)


def test_the_monitor_reports_what_was_sent(server):
    dynamodb = server.client()
    dynamodb.create_table(
        TableName="App",
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "PK", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "PK", "KeyType": "HASH"}],
    )
    monitor = make_monitor("App")
    topic = server.client("sns").create_topic(Name="alerts")["TopicArn"]
    monitor.create_standard_alarms(topic)
    for number in range(1100):
        dynamodb.get_item(TableName="App", Key={"PK": {"S": str(number % 10)}}, ConsistentRead=True)
        if number == 549:
            server.clock.advance(300)
    now = datetime.fromtimestamp(server.clock.now(), UTC)
    points = monitor.get_table_metrics(
        "ConsumedReadCapacityUnits", now - timedelta(hours=1), now + timedelta(minutes=1)
    )
    assert sum(point["Sum"] for point in points) == 1100
    assert max(point["Maximum"] for point in points) == 1
    assert monitor.analyze_hot_partition() == {"status": "Contributor Insights enabled"}
    assert monitor.analyze_hot_partition()["ContributorInsightsStatus"] == "ENABLED"
    monitor.create_dashboard()
    cloudwatch = server.client("cloudwatch")
    assert len(cloudwatch.describe_alarms()["MetricAlarms"]) == 4
    assert cloudwatch.get_dashboard(DashboardName="App-Dashboard")["DashboardName"]
    states = {a["AlarmName"]: a["StateValue"] for a in cloudwatch.describe_alarms()["MetricAlarms"]}
    assert states["App-ConsumedCapacity"] == "OK"
    server.clock.advance(310)
    # 550 units in each of two periods of five minutes do not reach the threshold of 1,000.
    assert (
        cloudwatch.describe_alarms(AlarmNames=["App-ConsumedCapacity"])["MetricAlarms"][0][
            "StateValue"
        ]
        == "OK"
    )
