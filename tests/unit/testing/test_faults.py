"""Faults as a test of an application uses them: in this process, and on a server."""

import time

import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from hashrange.testing import local, serve

ONCE = Config(retries={"total_max_attempts": 1})
KEY = {"id": {"S": "one"}}


def make_table(client, name="things"):
    client.create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
    )


@pytest.fixture
def db():
    with local(faults=True) as here:
        make_table(here.client())
        yield here


@pytest.fixture
def client(db):
    return db.client(config=ONCE)


def error_of(call, **request):
    with pytest.raises(ClientError) as caught:
        call(**request)
    return caught.value.response


def test_throttled_requests_have_a_reason(db, client):
    db.faults.add("throttle", operation="PutItem", times=1)
    response = error_of(client.put_item, TableName="things", Item=KEY)
    assert response["Error"]["Code"] == "ProvisionedThroughputExceededException"
    (reason,) = response["ThrottlingReasons"]
    assert reason["reason"] == "TableWriteProvisionedThroughputExceeded"
    assert reason["resource"].endswith(":table/things")
    client.put_item(TableName="things", Item=KEY)
    assert client.get_item(TableName="things", Key=KEY)["Item"] == KEY


def test_a_failure_is_an_internal_error_and_changes_nothing(db, client):
    db.faults.add("fail", table="things")
    response = error_of(client.put_item, TableName="things", Item=KEY)
    assert response["Error"]["Code"] == "InternalServerError"
    assert response["ResponseMetadata"]["HTTPStatusCode"] == 500
    db.faults.clear()
    assert "Item" not in client.get_item(TableName="things", Key=KEY)


def test_a_conflict_is_that_of_a_transaction(db, client):
    db.faults.add("conflict")
    response = error_of(client.update_item, TableName="things", Key=KEY)
    assert response["Error"]["Code"] == "TransactionConflictException"
    puts = [{"Put": {"TableName": "things", "Item": KEY}}]
    response = error_of(client.transact_write_items, TransactItems=puts)
    assert response["Error"]["Code"] == "TransactionCanceledException"
    assert response["CancellationReasons"][0]["Code"] == "TransactionConflict"


def test_a_delay_passes_by_the_clock_of_the_test(db, client):
    db.faults.add("delay", seconds=2.5)
    began, before = time.monotonic(), db.clock.now()
    client.get_item(TableName="things", Key=KEY)
    assert db.clock.now() - before == pytest.approx(2.5)
    assert time.monotonic() - began < 2


def test_a_stale_read_is_behind_and_a_consistent_one_is_not(db, client):
    client.put_item(TableName="things", Item={**KEY, "n": {"N": "1"}})
    db.clock.advance(10)
    client.put_item(TableName="things", Item={**KEY, "n": {"N": "2"}})
    client.put_item(TableName="things", Item={"id": {"S": "new"}})
    db.faults.add("stale", seconds=5)
    assert client.get_item(TableName="things", Key=KEY)["Item"]["n"] == {"N": "1"}
    scanned = client.scan(TableName="things")
    assert [item["n"] for item in scanned["Items"]] == [{"N": "1"}]
    assert "Item" not in client.get_item(TableName="things", Key={"id": {"S": "new"}})
    read = client.get_item(TableName="things", Key=KEY, ConsistentRead=True)
    assert read["Item"]["n"] == {"N": "2"}
    db.clock.advance(5)
    assert client.get_item(TableName="things", Key=KEY)["Item"]["n"] == {"N": "2"}


def test_a_deleted_item_is_still_there_for_a_stale_read(db, client):
    client.put_item(TableName="things", Item=KEY)
    db.clock.advance(10)
    client.delete_item(TableName="things", Key=KEY)
    assert "Item" not in client.get_item(TableName="things", Key=KEY)
    db.faults.add("stale")
    assert client.get_item(TableName="things", Key=KEY)["Item"] == KEY


def test_a_seed_repeats_a_run(db, client):
    db.faults.add("fail", operation="GetItem", rate=0.5)

    def run(seed):
        db.faults.seed(seed)
        outcomes = []
        for _ in range(40):
            try:
                client.get_item(TableName="things", Key=KEY)
                outcomes.append(True)
            except ClientError:
                outcomes.append(False)
        return outcomes

    assert run(7) == run(7)
    assert run(7) != run(8)


def test_wrong_rules_are_refused(db):
    with pytest.raises(Exception, match="rate"):
        db.faults.add("fail", rate=2)
    with pytest.raises(Exception, match="kind"):
        db.faults.add("explode")


def test_a_database_without_faults_says_so():
    with local() as here, pytest.raises(RuntimeError, match="faults=True"):
        here.faults.add("fail")


@pytest.mark.dynamodb(faults=True, capacity="provisioned")
def test_the_marker_chooses_how_the_fixture_is_made(dynamodb):
    make_table(dynamodb.client())
    dynamodb.faults.add("fail", operation="Scan")
    response = error_of(dynamodb.client(config=ONCE).scan, TableName="things")
    assert response["Error"]["Code"] == "InternalServerError"


def test_a_server_injects_faults_too():
    with serve(faults=True) as server:
        client = server.client(config=ONCE)
        make_table(client)
        server.faults.add("throttle", table="things", operation="Scan", times=1)
        response = error_of(client.scan, TableName="things")
        assert response["Error"]["Code"] == "ProvisionedThroughputExceededException"
        server.faults.clear()
        server.faults.add("throttle", operation="PutItem", times=2)
        # The SDK tries again by itself.
        server.client().put_item(TableName="things", Item=KEY)
        assert client.scan(TableName="things")["Count"] == 1
