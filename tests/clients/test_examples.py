"""Python examples from texts on DynamoDB run unchanged; only their surroundings are added.

An example is found by a phrase it contains. What it takes for granted (a table, a variable) is
written before it and what it must have done is checked after it, in one program of its own.

Not run: examples about CloudWatch, contributor insights and global tables; an example whose
key schema is left out; and one that hands boto3 a float, which boto3 itself refuses.
"""

import subprocess
import sys

import pytest

from tests.harness import server

pytestmark = pytest.mark.examples

TABLES = """
import boto3
def table(name, *keys, **more):
    kinds = ("HASH", "RANGE")
    boto3.client("dynamodb").create_table(
        TableName=name, BillingMode="PAY_PER_REQUEST",
        KeySchema=[dict(AttributeName=k, KeyType=kind) for k, kind in zip(keys, kinds)],
        AttributeDefinitions=[
            dict(AttributeName=k, AttributeType="S") for k in (*keys, *more.pop("others", ()))
        ],
        **more,
    )
    return boto3.resource("dynamodb").Table(name)
"""


@pytest.fixture
def run(examples, environment):
    """Run examples, named by a phrase, between a beginning and an end on a fresh server."""

    def execute(before, *phrases, after):
        blocks = []
        for phrase in phrases:
            found = [block for block in examples if phrase in block]
            assert len(found) == 1, f"{len(found)} examples contain {phrase!r}"
            blocks += found
        program = "\n".join([TABLES, before, *blocks, after])
        with server.hashrange() as url:
            done = subprocess.run(
                [sys.executable, "-c", program],
                env={**environment, "AWS_ENDPOINT_URL": url},
                capture_output=True,
                text=True,
            )
        assert done.returncode == 0, done.stderr

    return execute


def test_create_table_on_demand(run):
    run(
        "",
        "# Create table with On-Demand capacity mode",
        after="""
table = dynamodb.describe_table(TableName="users")["Table"]
assert table["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
assert table["KeySchema"] == [{"AttributeName": "user_id", "KeyType": "HASH"}]
""",
    )


def test_store_an_item_with_time_to_live(run):
    run(
        "table('invitations', 'invitation_id')",
        "# Store invitation with TTL",
        after="assert invitations_table.scan()['Items'] == [invitation_item]",
    )


def test_store_and_query_users(run):
    run(
        "table('users', 'workspace_id', 'created_at')",
        "# Store user data with proper structure",
        "# Query with partition key and sort key range",
        after="""
assert response["Count"] == 0
response = users_table.query(KeyConditionExpression=Key("workspace_id").eq("workspace-456"))
assert response["Items"] == [user_item]
""",
    )


def test_batches(run):
    run(
        """
users_table = table("users", "user_id")
dynamodb = boto3.client("dynamodb")
users_table.put_item(Item={"user_id": "user-123"})
users_list = [{"user_id": f"u{n}"} for n in range(60)]
""",
        "# Batch write items",
        after="""
assert response["Responses"]["users"] == [{"user_id": {"S": "user-123"}}]
assert users_table.scan()["Count"] == 61
""",
    )


def test_a_large_file_goes_to_a_bucket_and_its_key_to_a_table(run, tmp_path):
    (tmp_path / "report.pdf").write_bytes(b"%PDF" * (5 << 20))
    run(
        f"""
table("documents", "document_id")
boto3.client("s3").create_bucket(Bucket="files")
workspace_id, document_id, bucket_name = "w1", "d1", "files"
local_file_path, file_size = {str(tmp_path / "report.pdf")!r}, 20 << 20
""",
        "# Store large file in S3",
        after="""
(item,) = documents_table.scan()["Items"]
head = s3.head_object(Bucket=item["s3_bucket"], Key=item["s3_key"])
assert head["ContentLength"] == item["file_size"] == file_size
""",
    )


def test_an_item_too_large_is_refused(run, examples):
    (example,) = [block for block in examples if "# Never do this" in block]
    run(
        f"table('documents', 'document_id')\nlarge_pdf_bytes = bytes(400_000)\nbad = {example!r}",
        "BAD: Storing temporary data without TTL",
        after="""
try:
    exec(bad)
    raise AssertionError("an item of over 400 KB was taken")
except boto3.client("dynamodb").exceptions.ClientError as error:
    assert error.response["Error"]["Message"] == (
        "Item size has exceeded the maximum allowed size"
    )
""",
    )


def test_scan_against_query(run):
    run(
        """
from boto3.dynamodb.conditions import Key
users_table = table("users", "workspace_id", "user_id")
for n in range(4):
    users_table.put_item(Item={"workspace_id": f"workspace-45{5 + n % 2}", "user_id": str(n)})
""",
        "BAD: Scanning entire table instead of querying",
        after="""
assert len(filtered) == response["Count"] == 2
""",
    )


def test_a_client_class_with_all_operations(run):
    run(
        """
table("App", "PK", "SK", others=["GSI1PK"], GlobalSecondaryIndexes=[
    dict(IndexName="GSI1", KeySchema=[dict(AttributeName="GSI1PK", KeyType="HASH")],
         Projection=dict(ProjectionType="ALL"))])
""",
        "class DynamoDBClient:",
        after="""
db = DynamoDBClient("App")
key = {"PK": "USER#1", "SK": "PROFILE"}
item = {**key, "GSI1PK": "EMAIL#a", "score": 9.5, "tags": ["a", {"b": 1.25}]}
assert db.put_item(item, "attribute_not_exists(PK)") == item
try:
    db.put_item(item, "attribute_not_exists(PK)")
    raise AssertionError("the condition was ignored")
except ValueError:
    pass
assert db.get_item(key, consistent=True) == item
assert db.update_item(key, {"score": 10.5, "name": "Ann"}, "attribute_exists(PK)")["score"] == 10.5
db.batch_write([{"PK": "USER#1", "SK": f"ORDER#{n:03}", "total": n / 2} for n in range(60)])
page = db.query("PK = :pk AND begins_with(SK, :sk)", {":pk": "USER#1", ":sk": "ORDER#"},
                limit=40, scan_forward=False)
assert (page["count"], page["items"][0]["SK"]) == (40, "ORDER#059")
rest = db.query("PK = :pk AND begins_with(SK, :sk)", {":pk": "USER#1", ":sk": "ORDER#"},
                last_evaluated_key=page["last_evaluated_key"], scan_forward=False)
assert [item["SK"] for item in rest["items"]] == [f"ORDER#{n:03}" for n in range(19, -1, -1)]
found = db.query("GSI1PK = :g", {":g": "EMAIL#a"}, index_name="GSI1", projection="PK, score")
assert found["items"] == [{"PK": "USER#1", "score": 10.5}]
put = {"type": "put", "item": {"PK": "T", "SK": "T"}, "condition": "attribute_not_exists(PK)"}
change = {"type": "update", "key": key, "updates": {"name": "Bob"}}
assert db.transact_write([put, change])
assert not db.transact_write([put, change])
assert db.delete_item(key)["name"] == "Bob"
assert db.get_item(key) is None
""",
    )


def test_transactions_move_funds_and_stock(run):
    run(
        """
import uuid
accounts = table("Accounts", "PK")
transactions = table("Transactions", "PK", "SK")
orders = table("Orders", "PK")
inventory = table("Inventory", "PK")
""",
        "class DynamoDBClient:",
        "class TransactionManager:",
        after="""
for name in "ab":
    accounts.put_item(Item={"PK": f"ACCOUNT#{name}", "balance": 100})
manager = TransactionManager(boto3.client("dynamodb"))
assert manager.transfer_funds("a", "b", Decimal("60.5"))
assert accounts.get_item(Key={"PK": "ACCOUNT#b"})["Item"]["balance"] == Decimal("160.5")
try:
    manager.transfer_funds("a", "b", Decimal("60.5"))
    raise AssertionError("an account was overdrawn")
except ValueError as error:
    assert str(error) == "Insufficient funds"
assert transactions.scan()["Count"] == 1
inventory.put_item(Item={"PK": "PRODUCT#1", "quantity": 3})
manager._marshall = DynamoDBClient("Orders")._marshall
line = {"productId": "1", "quantity": 2}
assert manager.create_order_with_inventory({"PK": "ORDER#1"}, [line])
assert not manager.create_order_with_inventory({"PK": "ORDER#2"}, [line])
assert inventory.scan()["Items"] == [{"PK": "PRODUCT#1", "quantity": 1}]
assert orders.scan()["Count"] == 1
""",
    )
