# /// script
# dependencies = ["aws-lambda-powertools>=3", "boto3"]
# ///
"""A payment that Powertools for AWS Lambda makes once, however often it is asked for."""

import boto3
from aws_lambda_powertools.utilities.idempotency import (
    DynamoDBPersistenceLayer,
    IdempotencyConfig,
    idempotent_function,
)
from aws_lambda_powertools.utilities.idempotency.exceptions import IdempotencyValidationError
from aws_lambda_powertools.utilities.parameters import DynamoDBProvider

client = boto3.client("dynamodb")
for name in ("Payments", "Parameters"):
    client.create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
    )
payments: list[str] = []


@idempotent_function(
    data_keyword_argument="order",
    persistence_store=DynamoDBPersistenceLayer(table_name="Payments"),
    config=IdempotencyConfig(event_key_jmespath="id", payload_validation_jmespath="amount"),
)
def pay(order: dict) -> dict:
    payments.append(order["id"])
    if order["amount"] < 0:
        raise ValueError("a negative amount")
    return {"paid": order["amount"]}


assert [pay(order={"id": "4711", "amount": 5}) for _ in range(3)] == [{"paid": 5}] * 3
assert payments == ["4711"]
try:
    pay(order={"id": "4711", "amount": 6})
    raise SystemExit("another amount was taken for the same payment")
except IdempotencyValidationError:
    pass
for _ in range(2):  # what failed is not remembered
    try:
        pay(order={"id": "4712", "amount": -1})
    except ValueError:
        continue
assert payments == ["4711", "4712", "4712"]
(row,) = client.scan(TableName="Payments")["Items"]
assert row["status"] == {"S": "COMPLETED"}

client.put_item(TableName="Parameters", Item={"id": {"S": "rate"}, "value": {"S": "3"}})
assert DynamoDBProvider(table_name="Parameters").get("rate") == "3"
