"""CloudWatch and SNS through boto3, on a server whose clock the test moves."""

import http.server
import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from botocore.exceptions import ClientError

from hashrange.testing.server import serve

TABLE = {"Namespace": "AWS/DynamoDB", "Dimensions": [{"Name": "TableName", "Value": "Music"}]}
HASH = {
    "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [{"AttributeName": "a", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "a", "KeyType": "HASH"}],
}


@pytest.fixture
def server():
    with serve() as started:
        # The middle of a minute, so that no test crosses one by chance.
        started.clock.set(1_800_000_000 // 60 * 60 + 30)
        yield started


@pytest.fixture
def table(server):
    dynamodb = server.client()
    dynamodb.create_table(TableName="Music", **HASH)
    return dynamodb


def now(server):
    return datetime.fromtimestamp(server.clock.now(), UTC)


def statistics(server, name, *wanted, period=60, minutes=60, **where):
    end = now(server) + timedelta(minutes=1)
    found = server.client("cloudwatch").get_metric_statistics(
        **{**TABLE, **where},
        MetricName=name,
        StartTime=end - timedelta(minutes=minutes),
        EndTime=end,
        Period=period,
        Statistics=list(wanted),
    )
    return sorted(found["Datapoints"], key=lambda point: point["Timestamp"])


def alarm(**more):
    return {
        "AlarmName": "busy",
        "MetricName": "ConsumedReadCapacityUnits",
        **TABLE,
        "Statistic": "Sum",
        "Period": 60,
        "EvaluationPeriods": 2,
        "Threshold": 3.0,
        "ComparisonOperator": "GreaterThanThreshold",
        **more,
    }


def state(server, name="busy"):
    kinds = ["MetricAlarm", "CompositeAlarm"]
    found = server.client("cloudwatch").describe_alarms(AlarmNames=[name], AlarmTypes=kinds)
    return (found["MetricAlarms"] + found["CompositeAlarms"])[0]["StateValue"]


def read(dynamodb, times):
    for _ in range(times):
        dynamodb.get_item(TableName="Music", Key={"a": {"S": "1"}}, ConsistentRead=True)


@pytest.fixture
def hook() -> Iterator[tuple[str, list]]:
    """An HTTP endpoint, and the headers and bodies that it got."""
    got: list = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            got.append((dict(self.headers), body))
            self.send_response(200)
            self.end_headers()

        def log_message(self, format, *arguments):
            pass

    listening = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=listening.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.server_port}/hook", got
    finally:
        listening.shutdown()
        thread.join()
        listening.server_close()


def test_consumed_units_are_those_of_the_answers(server, table):
    for size in (10, 5000, 9000):
        table.put_item(TableName="Music", Item={"a": {"S": str(size)}, "b": {"S": "x" * size}})
    units = 0.0
    for size in (10, 5000, 9000):
        found = table.get_item(
            TableName="Music", Key={"a": {"S": str(size)}}, ReturnConsumedCapacity="TOTAL"
        )
        units += found["ConsumedCapacity"]["CapacityUnits"]
    (point,) = statistics(server, "ConsumedReadCapacityUnits", "Sum", "SampleCount", "Maximum")
    assert (point["Sum"], point["SampleCount"], point["Maximum"]) == (units, 3, 1.5)
    assert point["Unit"] == "Count"


def test_idle_minutes_of_a_table_are_zeros(server, table):
    read(table, 2)
    server.clock.advance(180)
    points = statistics(server, "ConsumedReadCapacityUnits", "Sum", "SampleCount")
    assert [point["Sum"] for point in points] == [2.0, 0.0, 0.0]
    assert statistics(server, "ConsumedWriteCapacityUnits", "Sum")[-1]["Sum"] == 0.0
    assert statistics(server, "ConditionalCheckFailedRequests", "Sum") == []


def test_latency_and_errors_have_their_dimensions(server, table):
    read(table, 3)
    with pytest.raises(ClientError):
        table.put_item(
            TableName="Music",
            Item={"a": {"S": "1"}},
            ConditionExpression="attribute_exists(a)",
        )
    with pytest.raises(ClientError):
        table.get_item(TableName="Music", Key={"wrong": {"S": "1"}})
    dimensions = [*TABLE["Dimensions"], {"Name": "Operation", "Value": "GetItem"}]
    (point,) = statistics(
        server, "SuccessfulRequestLatency", "SampleCount", "Average", Dimensions=dimensions
    )
    assert point["SampleCount"] == 3
    assert 0 < point["Average"] < 10_000
    assert point["Unit"] == "Milliseconds"
    assert statistics(server, "ConditionalCheckFailedRequests", "Sum")[0]["Sum"] == 1
    assert statistics(server, "UserErrors", "Sum", Dimensions=[])[0]["Sum"] == 1


def test_an_index_has_metrics_of_its_own_and_a_local_one_has_not(server):
    dynamodb = server.client()
    key = [("a", "HASH"), ("b", "RANGE")]
    schema = [{"AttributeName": name, "KeyType": kind} for name, kind in key]
    index = {"KeySchema": schema, "Projection": {"ProjectionType": "ALL"}}
    dynamodb.create_table(
        TableName="Music",
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": n, "AttributeType": "S"} for n in ("a", "b", "c")],
        KeySchema=[
            {"AttributeName": "a", "KeyType": "HASH"},
            {"AttributeName": "c", "KeyType": "RANGE"},
        ],
        GlobalSecondaryIndexes=[{"IndexName": "global", **index}],
        LocalSecondaryIndexes=[{"IndexName": "local", **index}],
    )
    dynamodb.put_item(TableName="Music", Item={name: {"S": "1"} for name in "abc"})
    assert statistics(server, "ConsumedWriteCapacityUnits", "Sum")[0]["Sum"] == 2
    own = [*TABLE["Dimensions"], {"Name": "GlobalSecondaryIndexName", "Value": "global"}]
    assert statistics(server, "ConsumedWriteCapacityUnits", "Sum", Dimensions=own)[0]["Sum"] == 1


def test_metric_math_on_the_metrics_of_a_table(server, table):
    read(table, 6)
    metric = {**TABLE, "MetricName": "ConsumedReadCapacityUnits"}
    found = server.client("cloudwatch").get_metric_data(
        StartTime=now(server) - timedelta(minutes=5),
        EndTime=now(server) + timedelta(minutes=1),
        MetricDataQueries=[
            {"Id": "e1", "Expression": "m1/PERIOD(m1)", "Label": "per second ${LAST}"},
            {
                "Id": "m1",
                "ReturnData": False,
                "MetricStat": {"Metric": metric, "Period": 60, "Stat": "Sum"},
            },
        ],
    )
    (result,) = found["MetricDataResults"]
    assert (result["Id"], result["Values"], result["StatusCode"]) == ("e1", [0.1], "Complete")
    assert result["Label"] == "per second 0.1"


def test_metrics_of_clients_are_kept_beside_them(server):
    cloudwatch = server.client("cloudwatch")
    cloudwatch.put_metric_data(
        Namespace="Shop",
        MetricData=[
            {"MetricName": "Sales", "Values": [1.0, 5.0], "Counts": [3.0, 1.0], "Unit": "Count"},
            {"MetricName": "Sales", "Value": 4.0, "Unit": "Count"},
        ],
    )
    (point,) = statistics(
        server, "Sales", "Sum", "SampleCount", "Maximum", Namespace="Shop", Dimensions=[]
    )
    assert (point["Sum"], point["SampleCount"], point["Maximum"]) == (12.0, 5.0, 5.0)
    listed = cloudwatch.list_metrics(Namespace="Shop")["Metrics"]
    assert listed == [{"Namespace": "Shop", "MetricName": "Sales", "Dimensions": []}]
    with pytest.raises(ClientError, match="AWS/"):
        cloudwatch.put_metric_data(Namespace="AWS/X", MetricData=[{"MetricName": "n", "Value": 1}])


def test_an_alarm_goes_off_and_calms_down(server, table):
    cloudwatch = server.client("cloudwatch")
    cloudwatch.put_metric_alarm(**alarm())
    assert state(server) == "INSUFFICIENT_DATA"  # The table has no complete minute yet.
    for _ in range(2):
        read(table, 5)
        server.clock.advance(60)
    assert state(server) == "ALARM"
    server.clock.advance(60)
    assert state(server) == "OK"
    history = cloudwatch.describe_alarm_history(AlarmName="busy", HistoryItemType="StateUpdate")
    summaries = [item["HistorySummary"] for item in history["AlarmHistoryItems"]]
    assert summaries[:2] == [
        "Alarm updated from ALARM to OK",
        "Alarm updated from INSUFFICIENT_DATA to ALARM",
    ]


def test_an_alarm_on_a_metric_of_dynamodb_keeps_its_state_without_points(server, table):
    cloudwatch = server.client("cloudwatch")
    silent = {"MetricName": "SystemErrors", "TreatMissingData": "breaching"}
    cloudwatch.put_metric_alarm(**alarm(**silent))
    server.clock.advance(600)
    assert state(server) == "INSUFFICIENT_DATA"


def test_a_composite_alarm_follows_its_children(server, table):
    cloudwatch = server.client("cloudwatch")
    cloudwatch.put_metric_alarm(**alarm())
    cloudwatch.put_composite_alarm(AlarmName="both", AlarmRule='ALARM("busy") AND TRUE')
    assert state(server, "both") == "OK"
    cloudwatch.set_alarm_state(AlarmName="busy", StateValue="ALARM", StateReason="a test")
    assert state(server, "both") == "ALARM"
    with pytest.raises(ClientError, match="depends on it"):
        cloudwatch.delete_alarms(AlarmNames=["busy"])
    cloudwatch.delete_alarms(AlarmNames=["both"])
    cloudwatch.delete_alarms(AlarmNames=["busy"])
    assert cloudwatch.describe_alarms()["MetricAlarms"] == []


def test_actions_reach_topics_and_urls(server, table, hook):
    url, got = hook
    sns, cloudwatch = server.client("sns"), server.client("cloudwatch")
    topic = sns.create_topic(Name="alerts")["TopicArn"]
    arn = sns.subscribe(TopicArn=topic, Protocol="http", Endpoint=url, ReturnSubscriptionArn=True)[
        "SubscriptionArn"
    ]
    server.clock.advance(1)
    headers, body = got.pop()
    assert headers["x-amz-sns-message-type"] == "SubscriptionConfirmation"
    sns.confirm_subscription(TopicArn=topic, Token=json.loads(body)["Token"])
    assert sns.list_subscriptions()["Subscriptions"][0]["SubscriptionArn"] == arn
    cloudwatch.put_metric_alarm(**alarm(AlarmActions=[topic, url]))
    cloudwatch.set_alarm_state(AlarmName="busy", StateValue="ALARM", StateReason="a test")
    server.clock.advance(1)
    wait_for(lambda: len(got) >= 2)
    bodies = [json.loads(body) for _, body in got]
    (notice,) = [body for body in bodies if body.get("Type") == "Notification"]
    assert notice["Subject"] == 'ALARM: "busy" in US East (N. Virginia)'
    message = json.loads(notice["Message"])
    assert (message["NewStateValue"], message["NewStateReason"]) == ("ALARM", "a test")
    assert message["Trigger"]["Statistic"] == "SUM"
    (plain,) = [body for body in bodies if "Type" not in body]
    assert plain["AlarmName"] == "busy"
    actions = cloudwatch.describe_alarm_history(AlarmName="busy", HistoryItemType="Action")
    assert len(actions["AlarmHistoryItems"]) == 2


def wait_for(condition):
    """Poll a condition for a bounded time."""
    pause = threading.Event()
    for _ in range(500):
        if condition():
            return
        pause.wait(0.01)
    raise AssertionError("it did not happen")


def test_disabled_actions_are_not_carried_out(server, table, hook):
    url, got = hook
    cloudwatch = server.client("cloudwatch")
    cloudwatch.put_metric_alarm(**alarm(AlarmActions=[url]))
    cloudwatch.disable_alarm_actions(AlarmNames=["busy"])
    cloudwatch.set_alarm_state(AlarmName="busy", StateValue="ALARM", StateReason="a test")
    server.clock.advance(1)
    assert got == []
    assert state(server) == "ALARM"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"Period": 45}, "ValidationError"),
        ({"DatapointsToAlarm": 3}, "ValidationError"),
        ({"ExtendedStatistic": "p99"}, "InvalidParameterCombination"),
        ({"EvaluationPeriods": 2000}, "ValidationError"),
        ({"TreatMissingData": "wrong"}, "ValidationError"),
        ({"AlarmActions": ["arn:aws:automate:us-east-1:ec2:stop"]}, "ValidationError"),
        ({"ThresholdMetricId": "t1"}, "InvalidParameterValue"),
    ],
)
def test_an_alarm_that_cannot_be_is_refused(server, change, code):
    with pytest.raises(ClientError) as caught:
        server.client("cloudwatch").put_metric_alarm(**alarm(**change))
    assert caught.value.response["Error"]["Code"] == code


def test_dashboards_are_kept(server):
    cloudwatch = server.client("cloudwatch")
    body = json.dumps({"widgets": [{"type": "text", "properties": {"markdown": "hello"}}]})
    cloudwatch.put_dashboard(DashboardName="first", DashboardBody=body)
    assert cloudwatch.get_dashboard(DashboardName="first")["DashboardBody"] == body
    (entry,) = cloudwatch.list_dashboards()["DashboardEntries"]
    assert (entry["DashboardName"], entry["Size"]) == ("first", len(body))
    with pytest.raises(ClientError) as caught:
        cloudwatch.put_dashboard(DashboardName="second", DashboardBody="{")
    assert caught.value.response["Error"]["Code"] == "InvalidParameterInput"
    cloudwatch.delete_dashboards(DashboardNames=["first"])
    with pytest.raises(ClientError) as caught:
        cloudwatch.get_dashboard(DashboardName="first")
    assert caught.value.response["Error"]["Code"] == "ResourceNotFound"


def test_gauges_are_published_for_provisioned_tables(server):
    server.client().create_table(
        **{**HASH, "BillingMode": "PROVISIONED"},
        TableName="Music",
        ProvisionedThroughput={"ReadCapacityUnits": 7, "WriteCapacityUnits": 3},
    )
    server.clock.advance(300)
    points = statistics(server, "ProvisionedReadCapacityUnits", "Maximum", period=300)
    assert points[-1]["Maximum"] == 7.0


def test_a_subscriber_gets_the_messages_that_its_filter_accepts(server, hook):
    url, got = hook
    sns = server.client("sns")
    topic = sns.create_topic(Name="alerts")["TopicArn"]
    policy = json.dumps({"kind": ["urgent"]})
    attributes = {"FilterPolicy": policy, "RawMessageDelivery": "true"}
    sns.subscribe(TopicArn=topic, Protocol="http", Endpoint=url, Attributes=attributes)
    server.clock.advance(1)
    sns.confirm_subscription(TopicArn=topic, Token=json.loads(got.pop()[1])["Token"])
    for kind in ("urgent", "other"):
        attribute = {"DataType": "String", "StringValue": kind}
        sns.publish(TopicArn=topic, Message=kind, MessageAttributes={"kind": attribute})
    server.clock.advance(1)
    assert [body for _, body in got] == ["urgent"]
    sns.delete_topic(TopicArn=topic)
    with pytest.raises(ClientError) as caught:
        sns.publish(TopicArn=topic, Message="late")
    assert caught.value.response["Error"]["Code"] == "NotFound"
