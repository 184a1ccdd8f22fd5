"""A session with boto3, as client and as resource, configured by the environment alone."""

from decimal import Decimal

import boto3
import pytest
from boto3.dynamodb.conditions import Attr, Key


@pytest.mark.usefixtures("client_environment")
def test_resource_models_items_in_python_types():
    database = boto3.resource("dynamodb")
    table = database.create_table(
        TableName="BotoOrders",
        KeySchema=[
            {"AttributeName": "customer", "KeyType": "HASH"},
            {"AttributeName": "order", "KeyType": "RANGE"},
        ],
        AttributeDefinitions=[
            {"AttributeName": name, "AttributeType": kind}
            for name, kind in (("customer", "S"), ("order", "N"), ("state", "S"))
        ],
        GlobalSecondaryIndexes=[
            {
                "IndexName": "by-state",
                "KeySchema": [{"AttributeName": "state", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "ALL"},
            }
        ],
        BillingMode="PAY_PER_REQUEST",
    )
    table.wait_until_exists()
    with table.batch_writer(overwrite_by_pkeys=["customer", "order"]) as batch:
        for n in range(60):
            state = "open" if n % 4 else "closed"
            batch.put_item(
                {
                    "customer": "c",
                    "order": n,
                    "state": state,
                    "price": Decimal("9.99"),
                    "tags": {"a"},
                }
            )
    found = table.query(
        KeyConditionExpression=Key("customer").eq("c") & Key("order").between(10, 19),
        FilterExpression=Attr("state").eq("closed") | Attr("price").gt(100),
        ScanIndexForward=False,
    )
    assert [item["order"] for item in found["Items"]] == [16, 12]
    assert (
        table.query(
            IndexName="by-state", KeyConditionExpression=Key("state").eq("closed"), Select="COUNT"
        )["Count"]
        == 15
    )
    updated = table.update_item(
        Key={"customer": "c", "order": 1},
        UpdateExpression="SET price = price + :t ADD tags :b",
        ExpressionAttributeValues={":t": Decimal("0.01"), ":b": {"b"}},
        ReturnValues="UPDATED_NEW",
    )["Attributes"]
    assert updated == {"price": Decimal("10.00"), "tags": {"a", "b"}}
    table.delete()
    table.wait_until_not_exists()


@pytest.mark.usefixtures("client_environment")
def test_client_pages_transacts_and_reports_typed_errors():
    client = boto3.client("dynamodb")
    client.create_table(
        TableName="BotoAccounts",
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    client.get_waiter("table_exists").wait(TableName="BotoAccounts")
    for name in ("from", "to"):
        client.put_item(TableName="BotoAccounts", Item={"id": {"S": name}, "balance": {"N": "10"}})

    def move(amount):
        changes = [("from", "-", " AND balance >= :a"), ("to", "+", "")]
        client.transact_write_items(
            TransactItems=[
                {
                    "Update": {
                        "TableName": "BotoAccounts",
                        "Key": {"id": {"S": name}},
                        "UpdateExpression": f"SET balance = balance {sign} :a",
                        "ConditionExpression": f"attribute_exists(id){condition}",
                        "ExpressionAttributeValues": {":a": {"N": str(amount)}},
                    }
                }
                for name, sign, condition in changes
            ]
        )

    move(7)
    with pytest.raises(client.exceptions.TransactionCanceledException) as caught:
        move(7)
    reasons = caught.value.response["CancellationReasons"]
    assert [reason["Code"] for reason in reasons] == ["ConditionalCheckFailed", "None"]
    pages = client.get_paginator("scan").paginate(
        TableName="BotoAccounts", PaginationConfig={"PageSize": 1}
    )
    balances = {i["id"]["S"]: i["balance"]["N"] for page in pages for i in page["Items"]}
    assert balances == {"from": "3", "to": "17"}
    with pytest.raises(client.exceptions.ResourceNotFoundException):
        client.describe_table(TableName="absent")
    client.delete_table(TableName="BotoAccounts")
