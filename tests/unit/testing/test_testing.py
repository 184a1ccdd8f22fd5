"""boto3 inside a test reaches a database of its own, and leaves no trace."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from typing import Any

import boto3
import botocore.session
import pytest
from botocore.exceptions import ParamValidationError

from hashrange import testing
from hashrange.testing import LocalDynamoDB, LocalServer


@pytest.fixture(autouse=True)
def _no_aws_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)


@pytest.fixture
def db() -> Iterator[LocalDynamoDB]:
    with testing.local() as here:
        yield here


def make_table(client: Any, name: str = "Music", **more: Any) -> None:
    client.create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        **more,
    )


def table_names(client: Any) -> list[str]:
    return list(client.list_tables()["TableNames"])


def test_a_client_writes_and_reads_items(db: LocalDynamoDB) -> None:
    client = db.client()
    make_table(client)
    item = {"id": {"S": "1"}, "bytes": {"B": b"\x00\xff"}, "numbers": {"NS": ["1", "2"]}}
    client.put_item(TableName="Music", Item=item)
    answer = client.get_item(TableName="Music", Key={"id": {"S": "1"}})
    assert answer["Item"]["bytes"] == {"B": b"\x00\xff"}
    assert sorted(answer["Item"]["numbers"]["NS"]) == ["1", "2"]
    metadata = answer["ResponseMetadata"]
    assert (metadata["HTTPStatusCode"], metadata["RetryAttempts"]) == (200, 0)
    assert len(metadata["RequestId"]) == 52


def test_a_resource_takes_python_values(db: LocalDynamoDB) -> None:
    make_table(db.client())
    table = db.resource().Table("Music")
    table.put_item(Item={"id": "1", "plays": 3, "tags": {"a", "b"}})
    assert table.get_item(Key={"id": "1"})["Item"] == {"id": "1", "plays": 3, "tags": {"a", "b"}}


def test_clients_that_tested_code_makes_reach_the_database(db: LocalDynamoDB) -> None:
    make_table(db.client())
    assert table_names(boto3.client("dynamodb")) == ["Music"]
    assert [table.name for table in boto3.resource("dynamodb").tables.all()] == ["Music"]
    assert table_names(boto3.Session(region_name="us-east-1").client("dynamodb")) == ["Music"]
    assert table_names(botocore.session.get_session().create_client("dynamodb")) == ["Music"]


def test_clients_of_other_threads_reach_the_database(db: LocalDynamoDB) -> None:
    make_table(db.client())
    found: list[str] = []
    thread = threading.Thread(target=lambda: found.extend(table_names(boto3.client("dynamodb"))))
    thread.start()
    thread.join()
    assert found == ["Music"]


def test_clients_made_before_by_a_session_that_was_told_reach_the_database() -> None:
    session = botocore.session.Session()
    testing.reach_session(session)
    client = session.create_client("dynamodb", region_name="us-east-1")
    with testing.local() as db:
        make_table(db.client())
        assert table_names(client) == ["Music"]


def test_every_database_is_fresh() -> None:
    with testing.local() as first:
        make_table(first.client())
    with testing.local() as second:
        assert table_names(second.client()) == []


def test_an_inner_database_hides_the_outer_one_from_all_but_its_own_clients() -> None:
    with testing.local() as outer:
        outer_client = outer.client()
        make_table(outer_client, "Outer")
        with testing.local() as inner:
            make_table(inner.client(), "Inner")
            assert table_names(boto3.client("dynamodb")) == ["Inner"]
            assert table_names(outer_client) == ["Outer"]
        assert table_names(boto3.client("dynamodb")) == ["Outer"]


def test_a_client_refuses_to_work_after_its_database_has_ended() -> None:
    with testing.local() as db:
        client = db.client()
    with pytest.raises(RuntimeError, match="has ended"):
        client.list_tables()


def test_an_endpoint_the_code_names_is_respected(
    db: LocalDynamoDB, dynamodb_server: LocalServer
) -> None:
    make_table(db.client(), "InProcess")
    make_table(dynamodb_server.client(), "OnServer")
    named = boto3.client("dynamodb", endpoint_url=dynamodb_server.endpoint_url)
    assert table_names(named) == ["OnServer"]


def test_missing_credentials_and_region_are_made_up_and_taken_away_again() -> None:
    with testing.local():
        assert os.environ["AWS_ACCESS_KEY_ID"] == "testing"
        assert os.environ["AWS_DEFAULT_REGION"] == "us-east-1"
    assert not [name for name in os.environ if name.startswith("AWS_")]
    assert boto3.DEFAULT_SESSION is None


def test_credentials_and_region_of_the_environment_are_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "123456789012")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    with testing.local() as db:
        make_table(db.client())
        table = boto3.client("dynamodb").describe_table(TableName="Music")["Table"]
        assert table["TableArn"] == "arn:aws:dynamodb:eu-central-1:123456789012:table/Music"


def test_an_endpoint_of_the_environment_is_hidden_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", "http://127.0.0.1:9")
    with testing.local():
        assert table_names(boto3.client("dynamodb")) == []
    assert os.environ["AWS_ENDPOINT_URL_DYNAMODB"] == "http://127.0.0.1:9"


def test_a_default_session_the_code_has_set_up_is_used_and_stays() -> None:
    boto3.setup_default_session(
        region_name="ap-south-1", aws_access_key_id="a", aws_secret_access_key="b"
    )
    session = boto3.DEFAULT_SESSION
    with testing.local() as db:
        make_table(db.client(region_name="ap-south-1"))
        assert table_names(boto3.client("dynamodb")) == ["Music"]
    assert boto3.DEFAULT_SESSION is session


def test_each_region_is_a_world_of_its_own(db: LocalDynamoDB) -> None:
    make_table(db.client(region_name="eu-west-1"))
    assert table_names(db.client(region_name="eu-west-1")) == ["Music"]
    assert table_names(db.client(region_name="eu-west-2")) == []


def test_errors_are_the_clients_own_exceptions(db: LocalDynamoDB) -> None:
    client = db.client()
    make_table(client)
    client.put_item(TableName="Music", Item={"id": {"S": "1"}})
    with pytest.raises(client.exceptions.ConditionalCheckFailedException) as caught:
        client.put_item(
            TableName="Music",
            Item={"id": {"S": "1"}},
            ConditionExpression="attribute_not_exists(id)",
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )
    assert caught.value.response["Item"] == {"id": {"S": "1"}}
    with pytest.raises(ParamValidationError):
        client.put_item(TableName="Music")


def test_a_cancelled_transaction_says_why(db: LocalDynamoDB) -> None:
    client = db.client()
    make_table(client)
    check = {
        "TableName": "Music",
        "Key": {"id": {"S": "1"}},
        "ConditionExpression": "attribute_exists(id)",
    }
    with pytest.raises(client.exceptions.TransactionCanceledException) as caught:
        client.transact_write_items(TransactItems=[{"ConditionCheck": check}])
    reasons = caught.value.response["CancellationReasons"]
    assert [reason["Code"] for reason in reasons] == ["ConditionalCheckFailed"]


def test_time_stands_still_until_the_test_moves_it(db: LocalDynamoDB) -> None:
    client = db.client()
    for name in ("First", "Second"):
        make_table(client, name)
        db.clock.advance(3600)
    created = [
        client.describe_table(TableName=name)["Table"]["CreationDateTime"].timestamp()
        for name in ("First", "Second")
    ]
    assert created[1] - created[0] == 3600


def test_a_new_index_is_filled_at_once(db: LocalDynamoDB) -> None:
    client = db.client()
    make_table(client)
    client.put_item(TableName="Music", Item={"id": {"S": "1"}, "artist": {"S": "A"}})
    index = {
        "IndexName": "by_artist",
        "KeySchema": [{"AttributeName": "artist", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"},
    }
    client.update_table(
        TableName="Music",
        AttributeDefinitions=[{"AttributeName": "artist", "AttributeType": "S"}],
        GlobalSecondaryIndexUpdates=[{"Create": index}],
    )
    answer = client.query(
        TableName="Music",
        IndexName="by_artist",
        KeyConditionExpression="artist = :a",
        ExpressionAttributeValues={":a": {"S": "A"}},
    )
    assert answer["Count"] == 1


def test_many_threads_lose_no_update(db: LocalDynamoDB) -> None:
    client = db.client()
    make_table(client)

    def count() -> None:
        for _ in range(25):
            client.update_item(
                TableName="Music",
                Key={"id": {"S": "1"}},
                UpdateExpression="ADD plays :one",
                ExpressionAttributeValues={":one": {"N": "1"}},
            )

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    item = client.get_item(TableName="Music", Key={"id": {"S": "1"}})["Item"]
    assert item["plays"] == {"N": "100"}


def test_only_services_of_hashrange_are_offered(db: LocalDynamoDB) -> None:
    with pytest.raises(ValueError, match="s3"):
        db.client("s3")


def test_setting_up_takes_less_than_five_milliseconds() -> None:
    seconds = []
    for _ in range(20):
        begin = time.perf_counter()
        with testing.local() as db:
            db.client()
            db.resource()
            seconds.append(time.perf_counter() - begin)
    # The quickest: other processes may slow down some, the first loads boto3's models.
    assert min(seconds) < 0.005


def test_the_server_answers_on_its_port(dynamodb_server: LocalServer) -> None:
    client = dynamodb_server.client()
    make_table(client)
    assert table_names(client) == ["Music"]
    assert [table.name for table in dynamodb_server.resource().tables.all()] == ["Music"]


def test_the_clock_of_the_server_is_in_the_tests_hands(dynamodb_server: LocalServer) -> None:
    dynamodb_server.clock.set(1_800_000_000.0)
    client = dynamodb_server.client()
    make_table(client)
    created = client.describe_table(TableName="Music")["Table"]["CreationDateTime"]
    assert created.timestamp() == 1_800_000_000.0
