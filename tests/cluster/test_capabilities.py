"""What is done through one server of a cluster holds on the others: capability by capability.

Two servers with caches of their own share a played Cassandra. docs/guides/cluster.md has a table of
these capabilities.
"""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.harness.played_servers import PlayedServers, played_servers, until

TABLE: dict[str, Any] = {
    "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [{"AttributeName": n, "AttributeType": "S"} for n in ("a", "g")],
    "KeySchema": [{"AttributeName": "a", "KeyType": "HASH"}],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "ByG",
            "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
        }
    ],
}
PLAIN: dict[str, Any] = {
    "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [{"AttributeName": "a", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "a", "KeyType": "HASH"}],
}
WORD = "planted-word"


@pytest.fixture(scope="module")
def servers() -> Iterator[PlayedServers]:
    with played_servers() as started:
        yield started


def item(key: str, **more: str) -> dict[str, Any]:
    return {"a": {"S": key}, **{name: {"S": value} for name, value in more.items()}}


def get(client: Any, table: str, key: str, **more: Any) -> dict[str, Any] | None:
    found: dict[str, Any] | None = client.get_item(
        TableName=table, Key={"a": {"S": key}}, ConsistentRead=True, **more
    ).get("Item")
    return found


def code_of(call: Any) -> str:
    """Return the error code of a call, or nothing if it succeeds."""
    try:
        call()
    except ClientError as error:
        code: str = error.response["Error"]["Code"]
        return code
    return ""


def is_found(client: Any, query: dict[str, Any]) -> bool:
    """Tell whether a query finds anything."""
    return bool(client.query(**query)["Count"])


def is_active(client: Any, table: str) -> bool:
    """Tell whether a table is there and ready."""
    if code_of(lambda: client.describe_table(TableName=table)):
        return False
    description = client.describe_table(TableName=table)["Table"]
    return bool(description["TableStatus"] == "ACTIVE")


def test_metrics_of_all_servers_are_one_sum_and_alarms_watch_it(servers: PlayedServers) -> None:
    one, two = servers[0], servers[1]
    one.client().create_table(TableName="Watched", **PLAIN)
    until(lambda: is_active(two.client(), "Watched"))
    two.client("cloudwatch").put_metric_alarm(
        AlarmName="busy",
        Namespace="AWS/DynamoDB",
        MetricName="ConsumedWriteCapacityUnits",
        Dimensions=[{"Name": "TableName", "Value": "Watched"}],
        Statistic="Sum",
        Period=60,
        EvaluationPeriods=1,
        Threshold=15,
        ComparisonOperator="GreaterThanThreshold",
    )
    for server in (one, two):
        for number in range(10):
            server.client().put_item(TableName="Watched", Item=item(str(number)))

    def written() -> float:
        now = datetime.fromtimestamp(servers.clock.now(), UTC)
        answer = one.client("cloudwatch").get_metric_statistics(
            Namespace="AWS/DynamoDB",
            MetricName="ConsumedWriteCapacityUnits",
            Dimensions=[{"Name": "TableName", "Value": "Watched"}],
            StartTime=now - timedelta(minutes=5),
            EndTime=now + timedelta(minutes=5),
            Period=60,
            Statistics=["Sum"],
        )
        return float(sum(point["Sum"] for point in answer["Datapoints"]))

    # Asking a server for its figures has it write what it measured.
    two.client("cloudwatch").get_metric_statistics(
        Namespace="AWS/DynamoDB",
        MetricName="UserErrors",
        StartTime=0,
        EndTime=60,
        Period=60,
        Statistics=["Sum"],
    )
    assert written() == 20
    servers.advance(90)
    for server in (one, two):
        (alarm,) = server.client("cloudwatch").describe_alarms()["MetricAlarms"]
        assert alarm["StateValue"] == "ALARM"


def test_a_message_to_a_topic_is_delivered_by_one_server(servers: PlayedServers) -> None:
    received: list[str] = []

    class Endpoint(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            received.append(json.loads(self.rfile.read(length))["Type"])
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Endpoint) as listener:
        thread = threading.Thread(target=listener.serve_forever, daemon=True)
        thread.start()
        topic = servers[0].client("sns").create_topic(Name="alerts")["TopicArn"]
        servers[1].client("sns").subscribe(
            TopicArn=topic,
            Protocol="http",
            Endpoint=f"http://127.0.0.1:{listener.server_port}/",
        )
        until(lambda: received)
        listener.shutdown()
        thread.join()
    assert received == ["SubscriptionConfirmation"]


def test_capacity_is_shared() -> None:
    """One unit and its burst of 300 are there once, not for each server.

    The second server is asked seldom, so that its own requests could not use up the burst.
    """
    with played_servers(capacity="provisioned") as limited:
        throughput = {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}
        definition = {**PLAIN, "BillingMode": "PROVISIONED", "ProvisionedThroughput": throughput}
        limited[0].client().create_table(TableName="Small", **definition)
        until(lambda: is_active(limited[1].client(), "Small"))
        payload = "x" * 100_000
        for number in range(4):  # of 98 units each
            limited[0].client().put_item(TableName="Small", Item=item(str(number), x=payload))
        second = limited[1].client()
        until(
            lambda: (
                code_of(lambda: second.put_item(TableName="Small", Item=item("b")))
                == "ProvisionedThroughputExceededException"
            ),
            pause_seconds=0.25,
        )


def test_recovery_reads_the_past_and_restores_through_any_server(servers: PlayedServers) -> None:
    one, two = servers[0].client(), servers[1].client()
    one.create_table(TableName="Kept", **PLAIN)
    until(lambda: is_active(two, "Kept"))
    two.update_continuous_backups(
        TableName="Kept", PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True}
    )
    servers.advance(10)
    one.put_item(TableName="Kept", Item=item("k", v="old"))
    servers.advance(10)
    then = datetime.fromtimestamp(servers.clock.now(), UTC)
    servers.advance(10)
    two.put_item(TableName="Kept", Item=item("k", v="new"))
    servers.advance(10)
    one.restore_table_to_point_in_time(
        SourceTableName="Kept", TargetTableName="Restored", RestoreDateTime=then
    )
    servers.advance(1)
    until(lambda: is_active(two, "Restored"))
    assert get(two, "Restored", "k") == item("k", v="old")
    assert get(one, "Kept", "k") == item("k", v="new")


def test_a_backup_made_through_one_server_is_restored_through_another(tmp_path: Any) -> None:
    with played_servers(backup_dir=tmp_path / "backups") as sharing:
        one, two = sharing[0].client(), sharing[1].client()
        one.create_table(TableName="Saved", **TABLE)
        one.put_item(TableName="Saved", Item=item("k", g="g"))
        arn = one.create_backup(TableName="Saved", BackupName="first")["BackupDetails"]["BackupArn"]

        def status() -> str:
            described = two.describe_backup(BackupArn=arn)["BackupDescription"]
            return str(described["BackupDetails"]["BackupStatus"])

        until(lambda: status() == "AVAILABLE")
        two.restore_table_from_backup(TargetTableName="Again", BackupArn=arn)
        until(lambda: is_active(one, "Again"))
        assert get(one, "Again", "k") == item("k", g="g")
        query = {"KeyConditionExpression": "g = :g", "IndexName": "ByG", "TableName": "Again"}
        found = two.query(**query, ExpressionAttributeValues={":g": {"S": "g"}})
        assert found["Count"] == 1


def test_items_expire_whichever_server_wrote_them(servers: PlayedServers) -> None:
    one, two = servers[0].client(), servers[1].client()
    one.create_table(TableName="Passing", **PLAIN)
    until(lambda: is_active(two, "Passing"))
    two.update_time_to_live(
        TableName="Passing",
        TimeToLiveSpecification={"Enabled": True, "AttributeName": "until"},
    )
    soon = str(int(servers.clock.now()) + 30)
    for number, client in enumerate((one, two)):
        client.put_item(TableName="Passing", Item={**item(str(number)), "until": {"N": soon}})
    servers.advance(120)
    until(lambda: one.scan(TableName="Passing", ConsistentRead=True)["Count"] == 0)
    assert two.scan(TableName="Passing", ConsistentRead=True)["Count"] == 0


def test_rows_of_a_table_with_a_kms_key_are_sealed_also_in_its_index(
    servers: PlayedServers,
) -> None:
    one, two = servers[0].client(), servers[1].client()
    key = servers[0].client("kms").create_key()["KeyMetadata"]["KeyId"]
    sealed = {"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": key}
    one.create_table(TableName="Sealed", SSESpecification=sealed, **TABLE)
    until(lambda: is_active(two, "Sealed"))
    two.put_item(TableName="Sealed", Item=item("k", g="g", secret=WORD))
    one.create_table(TableName="Open", **TABLE)
    one.put_item(TableName="Open", Item=item("k", g="g", secret=WORD + "-open"))
    query = {"KeyConditionExpression": "g = :g", "IndexName": "ByG"}
    values = {":g": {"S": "g"}}
    for table in ("Sealed", "Open"):
        asked = {"TableName": table, "ExpressionAttributeValues": values, **query}
        until(partial(is_found, one, asked))
    found = servers.spaces_with(f"{WORD}-open".encode())
    assert len(found) == 2, "what is not sealed is found: in the table and in its index"
    assert servers.spaces_with(WORD.encode()) == found
    servers[1].client("kms").disable_key(KeyId=key)
    until(lambda: code_of(lambda: get(one, "Sealed", "k")) != "")
    servers[0].client("kms").enable_key(KeyId=key)
    until(lambda: code_of(lambda: get(two, "Sealed", "k")) == "")
    assert get(two, "Sealed", "k") == item("k", g="g", secret=WORD)


def test_scaling_that_was_set_up_through_one_server_acts_on_all(servers: PlayedServers) -> None:
    one, two = servers[0].client(), servers[1].client()
    throughput = {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5}
    definition = {**PLAIN, "BillingMode": "PROVISIONED", "ProvisionedThroughput": throughput}
    one.create_table(TableName="Scaled", **definition)
    until(lambda: is_active(two, "Scaled"))
    servers[1].client("application-autoscaling").register_scalable_target(
        ServiceNamespace="dynamodb",
        ResourceId="table/Scaled",
        ScalableDimension="dynamodb:table:WriteCapacityUnits",
        MinCapacity=20,
        MaxCapacity=50,
    )

    def units(client: Any) -> int:
        described = client.describe_table(TableName="Scaled")["Table"]
        return int(described["ProvisionedThroughput"]["WriteCapacityUnits"])

    until(lambda: units(one) == 20)
    until(lambda: units(two) == 20)


def test_a_change_of_a_policy_counts_on_other_servers() -> None:
    with played_servers(auth=True) as guarded:
        administrator = guarded[0].application.administrator
        assert administrator is not None
        iam = guarded[0].client("iam", administrator)
        guarded[0].client(keys=administrator).create_table(TableName="Closed", **PLAIN)
        iam.create_user(UserName="reader")
        made = iam.create_access_key(UserName="reader")["AccessKey"]
        keys = (made["AccessKeyId"], made["SecretAccessKey"])
        reading = guarded[1].client(keys=keys)
        until(lambda: code_of(lambda: get(reading, "Closed", "k")) == "AccessDeniedException")
        statement = {"Effect": "Allow", "Action": "dynamodb:GetItem", "Resource": "*"}
        document = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
        iam.put_user_policy(UserName="reader", PolicyName="read", PolicyDocument=document)
        until(lambda: code_of(lambda: get(reading, "Closed", "k")) == "")
        iam.delete_user_policy(UserName="reader", PolicyName="read")
        until(lambda: code_of(lambda: get(reading, "Closed", "k")) == "AccessDeniedException")
        iam.delete_access_key(UserName="reader", AccessKeyId=keys[0])
        until(lambda: "Unrecognized" in code_of(lambda: get(reading, "Closed", "k")))
