"""The service the toolkit is tested against.

It is an in-process Hashrange, unless HASHRANGE_TOOLKIT_URL names the endpoint of another server
that speaks DynamoDB: then tests that use `service` run there. They delete all tables of that
server, so only a server on this machine is accepted.
"""

import os
from urllib.parse import urlsplit

import boto3
import pytest

# What is run only when asked for with --with-NAME, because it has to be installed first.
TOOLS = {"aiobotocore": "aiobotocore", "pyright": "pyright and Node"}


def pytest_addoption(parser):
    for name, needs in TOOLS.items():
        parser.addoption(f"--with-{name}", action="store_true", help=f"run what needs {needs}")


def pytest_configure(config):
    for name, needs in TOOLS.items():
        config.addinivalue_line("markers", f"{name}: needs {needs}")
    config.addinivalue_line("markers", "beyond_moto: moto cannot do it (5.2)")


def pytest_collection_modifyitems(config, items):
    """Leave out what needs a tool that was not named."""
    unwanted = {name for name in TOOLS if not config.getoption(f"--with-{name}", default=False)}
    left_out = [item for item in items if unwanted.intersection(item.keywords)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


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
        if client.describe_table(TableName=name)["Table"].get("DeletionProtectionEnabled"):
            client.update_table(TableName=name, DeletionProtectionEnabled=False)
        client.delete_table(TableName=name)
        client.get_waiter("table_not_exists").wait(TableName=name)


@pytest.fixture
def service(request):
    """A boto3 client of a service without tables."""
    if not URL:
        return request.getfixturevalue("dynamodb_client")
    assert urlsplit(URL).hostname in ("127.0.0.1", "localhost"), "all tables would be deleted"
    client = remote(URL)
    delete_tables(client)
    return client
