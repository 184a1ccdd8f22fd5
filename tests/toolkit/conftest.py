"""The service the toolkit is tested against.

It is an in-process Hashrange, unless HASHRANGE_TOOLKIT_URL names the endpoint of any other server
that speaks DynamoDB: then tests that use `service` run there, deleting all of its tables.
"""

import os

import boto3
import pytest

URL = os.environ.get("HASHRANGE_TOOLKIT_URL", "")


def remote(url):
    return boto3.client(
        "dynamodb",
        endpoint_url=url,
        region_name="us-east-1",
        aws_access_key_id="testing",
        aws_secret_access_key="testing",
    )


def delete_tables(client):
    for name in client.list_tables()["TableNames"]:
        client.delete_table(TableName=name)
        client.get_waiter("table_not_exists").wait(TableName=name)


@pytest.fixture
def service(request):
    """A boto3 client of a service without tables."""
    if not URL:
        return request.getfixturevalue("dynamodb_client")
    client = remote(URL)
    delete_tables(client)
    return client
