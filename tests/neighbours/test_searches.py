"""SEARCH and other functions of metric math through boto3."""

from datetime import UTC, datetime, timedelta

import pytest
from botocore.exceptions import ClientError


@pytest.fixture
def server(dynamodb_server):
    client = dynamodb_server.client("cloudwatch")
    now = dynamodb_server.clock.now()
    for store, value in (("a", 1.0), ("b", 9.0)):
        dimensions = [{"Name": "Store", "Value": store}]
        datum = {"MetricName": "Sales", "Dimensions": dimensions, "Value": value}
        client.put_metric_data(Namespace="Shop", MetricData=[{**datum, "Timestamp": now - 600}])
    return dynamodb_server


def results(server, *queries):
    now = datetime.fromtimestamp(server.clock.now(), UTC)
    found = server.client("cloudwatch").get_metric_data(
        StartTime=now - timedelta(hours=1), EndTime=now, MetricDataQueries=list(queries)
    )
    return [
        (result["Id"], result["Label"], result["Values"]) for result in found["MetricDataResults"]
    ]


def test_a_search_returns_a_series_for_each_metric(server):
    query = {"Id": "s", "Expression": "SEARCH('{Shop,Store} MetricName=\"Sales\"', 'Sum', 300)"}
    assert results(server, query) == [("s", "a", [1.0]), ("s", "b", [9.0])]
    assert results(server, {**query, "Label": "all"})[0][1] == "all a"


def test_expressions_take_what_was_found(server):
    search = "SEARCH('{Shop,Store}', 'Sum', 300)"
    hidden = {"Id": "s", "Expression": search, "ReturnData": False}
    assert results(server, hidden, {"Id": "e", "Expression": "SUM(s)"}) == [("e", "e", [10.0])]
    assert results(server, {"Id": "e", "Expression": f"MAX({search})"})[0][2] == [9.0]
    assert results(server, {"Id": "e", "Expression": f"SORT({search}, MAX, DESC, 1)"})[0][2] == [9]


def test_the_consumed_units_of_all_tables_can_be_found(server):
    for name in ("One", "Two"):
        server.client().create_table(
            TableName=name,
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": "a", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "a", "KeyType": "HASH"}],
        )
    server.client().put_item(TableName="Two", Item={"a": {"S": "1"}})
    server.clock.advance(120)
    words = 'MetricName="ConsumedWriteCapacityUnits"'
    expression = f"SEARCH('{{AWS/DynamoDB,TableName}} {words}', 'Sum', 300)"
    found = {
        label: sum(values)
        for _, label, values in results(server, {"Id": "s", "Expression": expression})
    }
    assert found == {"One": 0.0, "Two": 1.0}


@pytest.mark.parametrize(
    "expression",
    [
        "SEARCH('{Shop,Store}')",
        "SEARCH('{Shop,Store}', 'Best')",
        "SEARCH('{Shop,Store}', 'Sum', 61)",
        "SEARCH('{Shop,Store}', 'Sum', 'x')",
        "SEARCH('', 'Sum')",
        "SEARCH('a', 'Sum', 60, 60)",
        "SEARCH(1, 'Sum')",
        "ANOMALY_DETECTION_BAND(SEARCH('a', 'Sum'), 2)",
        "SERVICE_QUOTA(1)",
    ],
)
def test_what_cannot_be_computed_is_refused(server, expression):
    with pytest.raises(ClientError) as caught:
        results(server, {"Id": "e", "Expression": expression})
    assert caught.value.response["Error"]["Code"] == "ValidationError"


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("SUM(SEARCH('{Shop,Store}', 'Sum'))", "SEARCH is not supported on Metric Alarms"),
        ("ANOMALY_DETECTION_BAND(m1, 2)", "Unsupported function ANOMALY_DETECTION_BAND"),
    ],
)
def test_alarms_take_neither_searches_nor_bands(server, expression, message):
    metric = {"Namespace": "Shop", "MetricName": "Sales"}
    stat = {"Metric": metric, "Period": 60, "Stat": "Sum"}
    with pytest.raises(ClientError, match=message):
        server.client("cloudwatch").put_metric_alarm(
            AlarmName="a",
            EvaluationPeriods=1,
            Threshold=1.0,
            ComparisonOperator="GreaterThanThreshold",
            Metrics=[
                {"Id": "m1", "MetricStat": stat, "ReturnData": False},
                {"Id": "e1", "Expression": expression},
            ],
        )
