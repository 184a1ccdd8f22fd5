"""What watches tables is still there after the server was killed, and messages still arrive."""

import contextlib
import http.server
import json
import os
import signal
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime, timedelta

import boto3
import pytest

from tests.harness import server as real_server

WAIT_SECONDS_MAX = 30.0
TABLE = {
    "TableName": "Music",
    "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [{"AttributeName": "a", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "a", "KeyType": "HASH"}],
}
ALARM = {
    "AlarmName": "busy",
    "Namespace": "Shop",
    "MetricName": "Sales",
    "Statistic": "Sum",
    "Period": 60,
    "EvaluationPeriods": 1,
    "Threshold": 3.0,
    "ComparisonOperator": "GreaterThanThreshold",
    "TreatMissingData": "ignore",
}


class Subscriber:
    """An HTTP endpoint that answers nothing until it is told to."""

    def __init__(self):
        self.bodies: list = []
        self.may_answer = threading.Event()
        subscriber = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                length = int(self.headers["Content-Length"])
                subscriber.bodies.append(json.loads(self.rfile.read(length)))
                subscriber.may_answer.wait(WAIT_SECONDS_MAX)
                with contextlib.suppress(OSError):  # the server that asked may be dead
                    self.send_response(200)
                    self.end_headers()

            def log_message(self, format, *arguments):
                pass

        self._listening = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._listening.serve_forever, args=(0.01,))
        self.url = f"http://127.0.0.1:{self._listening.server_port}/hook"

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self.may_answer.set()
        self._listening.shutdown()
        self._thread.join()
        self._listening.server_close()

    def notices(self):
        return [body["Message"] for body in self.bodies if body["Type"] == "Notification"]


class KillableServer:
    """A server on a directory, in a process of its own."""

    def __init__(self, directory):
        self.port = real_server.free_port()
        command = [sys.executable, "-m", "hashrange", "serve", "--port", str(self.port)]
        self._process = subprocess.Popen(
            [*command, "--data-dir", str(directory), "--workers", "1"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_for(lambda: real_server.answers(self.port))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()

    def kill(self):
        if self._process.poll() is None:
            os.kill(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def client(self, service):
        return boto3.client(
            service,
            endpoint_url=f"http://127.0.0.1:{self.port}",
            region_name="us-east-1",
            aws_access_key_id="local",
            aws_secret_access_key="local",
        )


def wait_for(condition):
    deadline = time.monotonic() + WAIT_SECONDS_MAX
    pause = threading.Event()
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        pause.wait(0.02)


def history(cloudwatch):
    found = cloudwatch.describe_alarm_history(AlarmName="busy", ScanBy="TimestampAscending")
    return [item["HistorySummary"] for item in found["AlarmHistoryItems"]]


def report(server, rule):
    now = datetime.now(UTC)
    return server.client("cloudwatch").get_insight_rule_report(
        RuleName=rule,
        StartTime=now - timedelta(minutes=30),
        EndTime=now + timedelta(minutes=1),
        Period=60,
    )


def subscribe(server, subscriber):
    """Make a topic with a confirmed subscription; return its ARN."""
    sns = server.client("sns")
    topic = sns.create_topic(Name="alerts")["TopicArn"]
    sns.subscribe(TopicArn=topic, Protocol="http", Endpoint=subscriber.url)
    subscriber.may_answer.set()
    wait_for(lambda: subscriber.bodies)
    subscriber.may_answer.clear()
    sns.confirm_subscription(TopicArn=topic, Token=subscriber.bodies[0]["Token"])
    return topic


@pytest.mark.skipif(sys.platform == "win32", reason="has no SIGKILL")
def test_alarms_their_history_and_messages_under_way_survive_a_kill(tmp_path):
    with Subscriber() as subscriber:
        with KillableServer(tmp_path) as server:
            topic = subscribe(server, subscriber)
            cloudwatch = server.client("cloudwatch")
            cloudwatch.put_metric_alarm(**ALARM, AlarmActions=[topic])
            cloudwatch.put_composite_alarm(AlarmName="any", AlarmRule='ALARM("busy")')
            cloudwatch.put_dashboard(DashboardName="first", DashboardBody='{"widgets": []}')
            cloudwatch.set_alarm_state(AlarmName="busy", StateValue="ALARM", StateReason="a test")
            wait_for(subscriber.notices)
            server.kill()
            (before,) = subscriber.notices()
        subscriber.may_answer.set()
        with KillableServer(tmp_path) as server:
            wait_for(lambda: len(subscriber.notices()) == 2)
            assert json.loads(subscriber.notices()[1]) == json.loads(before)
            cloudwatch = server.client("cloudwatch")
            kinds = ["MetricAlarm", "CompositeAlarm"]
            found = cloudwatch.describe_alarms(AlarmTypes=kinds)
            states = {
                alarm["AlarmName"]: (alarm["StateValue"], alarm["StateReason"])
                for alarm in found["MetricAlarms"] + found["CompositeAlarms"]
            }
            assert states["busy"] == ("ALARM", "a test")
            assert states["any"][0] == "ALARM"
            assert history(cloudwatch)[:2] == [
                'Alarm "busy" created',
                "Alarm updated from INSUFFICIENT_DATA to ALARM",
            ]
            assert cloudwatch.get_dashboard(DashboardName="first")
            subscribed = server.client("sns").list_subscriptions_by_topic(TopicArn=topic)
            assert subscribed["Subscriptions"][0]["Endpoint"] == subscriber.url


@pytest.mark.skipif(sys.platform == "win32", reason="has no SIGKILL")
def test_insights_survive_a_kill_and_go_on(tmp_path):
    key = {"a": {"S": "hot"}}
    with KillableServer(tmp_path) as server:
        dynamodb = server.client("dynamodb")
        dynamodb.create_table(**TABLE)
        dynamodb.update_contributor_insights(TableName="Music", ContributorInsightsAction="ENABLE")
        (rule, _) = dynamodb.describe_contributor_insights(TableName="Music")[
            "ContributorInsightsRuleList"
        ]
        for _ in range(4):
            dynamodb.get_item(TableName="Music", Key=key, ConsistentRead=True)
        # A report has what was counted written first, so that the kill loses nothing.
        assert report(server, rule)["AggregateValue"] == 4
        server.kill()
    with KillableServer(tmp_path) as server:
        dynamodb = server.client("dynamodb")
        status = dynamodb.describe_contributor_insights(TableName="Music")
        assert status["ContributorInsightsStatus"] == "ENABLED"
        for _ in range(3):
            dynamodb.get_item(TableName="Music", Key=key, ConsistentRead=True)
        after = report(server, rule)
        assert after["AggregateValue"] == 7
        assert [each["Keys"] for each in after["Contributors"]] == [["hot"]]
