"""The Python examples of the design standards run unchanged against Hashrange.

The texts are in `seeds/`. What an example takes for granted (a table, a variable, an import) is
given to it; nothing in it is changed. Three examples cannot run anywhere, and the tests say why:
one hands boto3 a float, one has an ellipsis for a key schema, one calls a method its class does
not have. CloudWatch is not DynamoDB: the monitoring example is checked only as far as it can be
made.
"""

import re
import time
import uuid
from decimal import Decimal
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

SEEDS = Path(__file__).parent / "seeds"
NAMES = ("usage-standards", "single-table", "best-practices")


def blocks():
    found = {}
    for name in NAMES:
        text = (SEEDS / f"{name}.md").read_text()
        for title, code in re.findall(r"^## (.*?)\n\n```python\n(.*?)```", text, re.M | re.S):
            found[title.removeprefix("✅ ").removeprefix("❌ ")] = code
    return found


BLOCKS = blocks()


def execute(title, **given):
    """Run an example with the names it takes for granted; return all names afterwards."""
    names = dict(given)
    exec(compile(BLOCKS[title], title, "exec"), names)
    return names


@pytest.fixture
def tables(dynamodb, monkeypatch):
    """Make tables with string keys, in a region for clients that name none."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")

    def make(name, *keys, client=None, **more):
        (client or dynamodb.client(region_name="us-east-1")).create_table(
            TableName=name,
            BillingMode="PAY_PER_REQUEST",
            KeySchema=[
                {"AttributeName": key, "KeyType": kind}
                for key, kind in zip(keys, ("HASH", "RANGE"), strict=False)
            ],
            AttributeDefinitions=[
                {"AttributeName": key, "AttributeType": "S"}
                for key in (*keys, *more.pop("others", ()))
            ],
            **more,
        )
        return boto3.resource("dynamodb", region_name="us-east-1").Table(name)

    return make


def test_every_example_is_run_or_explained():
    assert set(BLOCKS) == {
        "Good: On-Demand Capacity Mode",
        "Good: Using TTL for Automatic Expiration",
        "Good: Storing User Data",
        "Good: Querying with Partition and Sort Keys",
        "Good: Batch Operations",
        "Good: Storing S3 References for Large Objects",
        "Bad: Storing Large Binary Data in DynamoDB",
        "Bad: Using Provisioned Capacity Mode",
        "Bad: Missing TTL for Time-Sensitive Data",
        "Bad: Inefficient Query Patterns",
        "Pattern: Single-Table Design",
        "Python SDK (boto3)",
        "ACID Transactions Implementation",
        "Multi-Region Setup",
        "CloudWatch Metrics and Alarms",
    }


def test_a_table_on_demand(tables):
    names = execute("Good: On-Demand Capacity Mode")
    table = names["dynamodb"].describe_table(TableName="users")["Table"]
    assert table["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"


def test_an_item_that_expires(tables):
    table = tables("invitations", "invitation_id")
    execute("Good: Using TTL for Automatic Expiration")
    (item,) = table.scan()["Items"]
    assert item["ttl"] > time.time()


def test_user_data_and_queries(tables):
    table = tables("users", "workspace_id", "created_at")
    execute("Good: Storing User Data")
    assert table.scan()["Count"] == 1
    found = execute("Good: Querying with Partition and Sort Keys", users_table=table)
    assert found["response"]["Count"] == 0
    table.put_item(Item={"workspace_id": "workspace-456", "created_at": "2024-05-01"})
    found = execute("Good: Querying with Partition and Sort Keys", users_table=table)
    assert found["response"]["Count"] == 1


def test_batches(tables, dynamodb):
    table = tables("users", "user_id")
    users = [{"user_id": f"user-{number}"} for number in range(60)]
    client = dynamodb.client(region_name="us-east-1")
    execute("Good: Batch Operations", dynamodb=client, users_table=table, users_list=users)
    assert table.scan()["Count"] == 60
    table.put_item(Item={"user_id": "user-123"})
    names = execute("Good: Batch Operations", dynamodb=client, users_table=table, users_list=[])
    assert names["response"]["Responses"]["users"] == [{"user_id": {"S": "user-123"}}]


def test_a_reference_to_s3(tables, monkeypatch):
    table = tables("documents", "document_id")
    uploads = []
    make = boto3.client

    class Storage:
        def upload_file(self, *arguments):
            uploads.append(arguments)

    monkeypatch.setattr(
        boto3, "client", lambda name, **more: Storage() if name == "s3" else make(name, **more)
    )
    execute(
        "Good: Storing S3 References for Large Objects",
        workspace_id="w",
        document_id="d",
        local_file_path="file",
        bucket_name="bucket",
        file_size=5,
    )
    (item,) = table.scan()["Items"]
    assert uploads == [("file", "bucket", item["s3_key"])]


def test_a_large_binary_is_refused_as_the_example_says(tables):
    tables("documents", "document_id")
    with pytest.raises(ClientError, match="Item size has exceeded the maximum"):
        execute(
            "Bad: Storing Large Binary Data in DynamoDB", boto3=boto3, large_pdf_bytes=bytes(10**6)
        )


def test_the_example_with_an_ellipsis_cannot_run_anywhere(tables, dynamodb):
    with pytest.raises(Exception, match="Parameter validation failed"):
        execute("Bad: Using Provisioned Capacity Mode", dynamodb=dynamodb.client())


def test_a_scan_and_a_query_find_the_same(tables):
    execute("Bad: Missing TTL for Time-Sensitive Data")
    table = tables("users", "workspace_id", "user_id")
    table.put_item(Item={"workspace_id": "workspace-456", "user_id": "1"})
    table.put_item(Item={"workspace_id": "other", "user_id": "2"})
    from boto3.dynamodb.conditions import Key

    names = execute("Bad: Inefficient Query Patterns", users_table=table, Key=Key)
    assert names["filtered"] == names["response"]["Items"]


def test_the_single_table_up_to_its_float_which_boto3_refuses(tables):
    table = tables(
        "Application",
        "PK",
        "SK",
        others=("GSI1PK", "GSI1SK"),
        GlobalSecondaryIndexes=[
            {
                "IndexName": "GSI1",
                "KeySchema": [
                    {"AttributeName": "GSI1PK", "KeyType": "HASH"},
                    {"AttributeName": "GSI1SK", "KeyType": "RANGE"},
                ],
                "Projection": {"ProjectionType": "ALL"},
            }
        ],
    )
    with pytest.raises(TypeError, match="Float types are not supported"):
        execute("Pattern: Single-Table Design", time=time)
    (user,) = table.scan()["Items"]
    assert user["name"] == "Alice"
    table.put_item(
        Item={"PK": "USER#123", "SK": "ORDER#2024-01-15#456", "GSI1PK": "ORDER#456", "GSI1SK": "x"}
    )
    names = {"table": table}
    queries = "from boto3.dynamodb.conditions import Key\n"
    queries += BLOCKS["Pattern: Single-Table Design"].split("# Query user's orders")[1]
    exec(queries.replace(" (sorted by date)", "", 1), names)
    assert names["response"]["Items"][0]["SK"] == "ORDER#2024-01-15#456"


@pytest.fixture
def client_class():
    return execute("Python SDK (boto3)")["DynamoDBClient"]


def test_the_client_class(tables, client_class):
    tables("App", "PK", "SK")
    client = client_class("App")
    key = {"PK": "USER#1", "SK": "USER#1"}
    client.put_item({**key, "total": 299.99}, condition="attribute_not_exists(PK)")
    with pytest.raises(ValueError, match="Condition check failed"):
        client.put_item(key, condition="attribute_not_exists(PK)")
    assert client.get_item(key)["total"] == 299.99
    assert client.update_item(key, {"status": "open"})["status"] == "open"
    assert client.query("PK = :pk", {":pk": "USER#1"}, limit=5)["count"] == 1
    client.batch_write([{"PK": "B", "SK": str(number)} for number in range(60)])
    assert client.query("PK = :pk", {":pk": "B"})["count"] == 60
    assert client.delete_item(key)["status"] == "open"
    update = {
        "type": "update",
        "key": key,
        "updates": {"n": 1},
        "condition": "attribute_exists(PK)",
    }
    assert client.transact_write([update]) is False
    put = {"type": "put", "item": key, "condition": "attribute_not_exists(PK)"}
    assert client.transact_write([put]) is True


@pytest.fixture
def transactions(tables, dynamodb):
    for name, *keys in (
        ("Accounts", "PK"),
        ("Transactions", "PK", "SK"),
        ("Orders", "PK"),
        ("Inventory", "PK"),
    ):
        tables(name, *keys)
    names = {**execute("Python SDK (boto3)"), "uuid": uuid}
    code = BLOCKS["ACID Transactions Implementation"]
    exec(compile(code, "transactions", "exec"), names)
    return names["TransactionManager"](dynamodb.client(region_name="us-east-1"))


@pytest.mark.filterwarnings("ignore:datetime.datetime.utcnow:DeprecationWarning")
def test_the_transfer_of_funds(transactions):
    accounts = boto3.resource("dynamodb").Table("Accounts")
    for account, balance in (("a", 100), ("b", 0)):
        accounts.put_item(Item={"PK": f"ACCOUNT#{account}", "balance": balance})
    assert transactions.transfer_funds("a", "b", Decimal(30)) is True
    assert accounts.get_item(Key={"PK": "ACCOUNT#b"})["Item"]["balance"] == 30
    with pytest.raises(ValueError, match="Insufficient funds"):
        transactions.transfer_funds("a", "b", Decimal(300))


def test_the_order_with_inventory_calls_a_method_that_is_not_there(transactions):
    with pytest.raises(AttributeError, match="_marshall"):
        transactions.create_order_with_inventory({"PK": "ORDER#1"}, [])


def test_the_regions_of_a_global_table(tables, dynamodb, monkeypatch):
    names = {**execute("Python SDK (boto3)")}
    exec(compile(BLOCKS["Multi-Region Setup"], "regions", "exec"), names)
    pauses: list[Any] = []
    monkeypatch.setattr(names["time"], "sleep", pauses.append)
    manager = names["GlobalTableManager"]()
    for region in ("us-east-1", "eu-west-1"):
        tables("App", "PK", "SK", client=dynamodb.client(region_name=region))
    item = {"PK": "1", "SK": "1"}
    regions = ["us-east-1", "eu-west-1"]
    results = manager.write_with_consistency("App", item, regions)
    assert results["eu-west-1_verify"] == "VERIFIED"
    assert pauses == [1]
    assert manager.get_with_fallback("App", item, "ap-southeast-1") == item


def test_the_monitor_can_be_made(tables):
    names = {**execute("Python SDK (boto3)")}
    exec(compile(BLOCKS["CloudWatch Metrics and Alarms"], "monitor", "exec"), names)
    monitor = names["DynamoDBMonitor"]("App")
    assert monitor.table_name == "App"
