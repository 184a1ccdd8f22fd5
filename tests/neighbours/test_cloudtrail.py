"""The audit trail of a server with users: what is in the file, and what LookupEvents finds."""

import json
import re
import subprocess
import sys
from pathlib import Path

import boto3
import pytest
from botocore.exceptions import ClientError

from tests.faults.served import Served, eventually

SECRET = "planted-item-value"


@pytest.fixture
def audited(tmp_path):
    served = Served(tmp_path / "data", "--workers", "2", "--auth", "--audit", "all")
    served.start()
    yield served
    served.stop()
    served.close()


def session_of(served):
    keys = dict(re.findall(r"(AWS_\w+KEY\w*)=(\S+)", served.messages()))
    pair = (keys["AWS_ACCESS_KEY_ID"], keys["AWS_SECRET_ACCESS_KEY"])
    return boto3.Session(*pair, region_name="us-east-1")


def client_of(served, service, session=None):
    session = session or session_of(served)
    return session.client(service, endpoint_url=f"http://127.0.0.1:{served.port}")


def lines_of(tmp_path):
    return [json.loads(line) for line in (tmp_path / "data-audit.log").read_text().splitlines()]


def use_tables(served):
    dynamodb = client_of(served, "dynamodb")
    dynamodb.create_table(
        TableName="Music",
        BillingMode="PAY_PER_REQUEST",
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
    )
    dynamodb.put_item(TableName="Music", Item={"id": {"S": SECRET}})
    dynamodb.execute_statement(Statement=f"SELECT * FROM Music WHERE id = '{SECRET}'")
    return dynamodb


def test_every_call_leaves_a_line_without_contents_and_secrets(audited, tmp_path):
    dynamodb = use_tables(audited)
    iam = client_of(audited, "iam")
    iam.create_user(UserName="ann")
    made = iam.create_access_key(UserName="ann")["AccessKey"]
    with pytest.raises(ClientError):
        dynamodb.get_item(TableName="Missing", Key={"id": {"S": SECRET}})
    # Lines of calls of the data plane may come a turn of the event loop after the answer.
    eventually(lambda: any("errorCode" in line for line in lines_of(tmp_path)), "all lines")
    text = (tmp_path / "data-audit.log").read_text()
    assert SECRET not in text
    assert made["SecretAccessKey"] not in text
    lines = lines_of(tmp_path)
    assert [line["eventName"] for line in lines if line["managementEvent"]] == [
        "CreateTable",
        "CreateUser",
        "CreateAccessKey",
    ]
    put = next(line for line in lines if line["eventName"] == "PutItem")
    assert put["requestParameters"]["tableName"] == "Music"
    assert put["userIdentity"]["userName"] == "admin"
    assert put["resources"][0]["ARN"].endswith(":table/Music")
    assert put["sourceIPAddress"] == "127.0.0.1"
    assert "Boto3" in put["userAgent"]
    failed = next(line for line in lines if line.get("errorCode"))
    assert (failed["eventName"], failed["readOnly"]) == ("GetItem", True)
    assert failed["errorCode"] == "ResourceNotFoundException"


def test_management_events_are_looked_up_after_a_kill(audited):
    use_tables(audited)
    session = session_of(audited)
    audited.kill()
    audited.start()
    trail = client_of(audited, "cloudtrail", session)
    attribute = {"AttributeKey": "EventName", "AttributeValue": "CreateTable"}
    (event,) = trail.lookup_events(LookupAttributes=[attribute])["Events"]
    assert event["Username"] == "admin"
    assert event["Resources"] == [{"ResourceType": "AWS::DynamoDB::Table", "ResourceName": "Music"}]
    record = json.loads(event["CloudTrailEvent"])
    assert record["requestParameters"]["tableName"] == "Music"
    by_resource = {"AttributeKey": "ResourceName", "AttributeValue": "Music"}
    assert trail.lookup_events(LookupAttributes=[by_resource])["Events"]
    assert not trail.lookup_events(LookupAttributes=[{**attribute, "AttributeValue": "No"}])[
        "Events"
    ]


def test_pages_follow_each_other_and_tokens_belong_to_an_account(audited):
    iam = client_of(audited, "iam")
    for number in range(5):
        iam.create_user(UserName=f"user{number}")
    trail = client_of(audited, "cloudtrail")
    found: list[str] = []
    token: dict[str, str] = {}
    while True:
        page = trail.lookup_events(MaxResults=2, **token)
        found += [event["EventName"] for event in page["Events"]]
        if "NextToken" not in page:
            break
        token = {"NextToken": page["NextToken"]}
    assert found.count("CreateUser") == 5
    for bad in ("nonsense!", "b3RoZXI="):
        with pytest.raises(ClientError) as caught:
            trail.lookup_events(NextToken=bad)
        assert caught.value.response["Error"]["Code"] == "InvalidNextTokenException"


def test_a_wrong_signature_is_in_the_file_only(audited, tmp_path):
    wrong = boto3.Session("AKIAUNKNOWN", "wrong", region_name="us-east-1")
    with pytest.raises(ClientError):
        client_of(audited, "dynamodb", wrong).list_tables()
    (line,) = [line for line in lines_of(tmp_path) if line["eventName"] == "ListTables"]
    assert line["userIdentity"] == {"type": "Unknown"}
    assert line["errorCode"] == "UnrecognizedClientException"


def test_the_command_line_looks_up_events(audited):
    use_tables(audited)
    keys = dict(re.findall(r"(AWS_\w+KEY\w*)=(\S+)", audited.messages()))
    result = subprocess.run(
        ["aws", "cloudtrail", "lookup-events", "--query", "Events[].EventName"],
        env={
            **keys,
            "PATH": str(Path(sys.executable).parent),
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{audited.port}",
        },
        capture_output=True,
        text=True,
    )
    assert json.loads(result.stdout) == ["CreateTable"], result.stderr
