# /// script
# dependencies = ["hashrange", "boto3", "moto[s3,sqs]>=5"]
# [tool.uv.sources]
# hashrange = { path = "../../..", editable = true }
# ///
"""DynamoDB by Hashrange in this process while moto answers for S3 and SQS."""

import boto3
from moto import mock_aws

import hashrange.testing


def archive(order: str) -> None:
    """Do what an application does: three services, clients of its own."""
    boto3.resource("dynamodb").Table("Orders").put_item(Item={"id": order})
    boto3.client("s3").put_object(Bucket="archive", Key=order, Body=b"paid")
    queue = boto3.client("sqs").get_queue_url(QueueName="orders")["QueueUrl"]
    boto3.client("sqs").send_message(QueueUrl=queue, MessageBody=order)


def check(db: hashrange.testing.LocalDatabase) -> None:
    db.client().create_table(
        TableName="Orders",
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
    )
    boto3.client("s3").create_bucket(Bucket="archive")
    url = boto3.client("sqs").create_queue(QueueName="orders")["QueueUrl"]
    archive("4711")
    assert db.resource().Table("Orders").scan()["Items"] == [{"id": "4711"}]
    assert boto3.client("s3").get_object(Bucket="archive", Key="4711")["Body"].read() == b"paid"
    assert boto3.client("sqs").receive_message(QueueUrl=url)["Messages"][0]["Body"] == "4711"


with mock_aws(), hashrange.testing.local() as inner:
    check(inner)
with hashrange.testing.local() as outer, mock_aws():
    check(outer)
