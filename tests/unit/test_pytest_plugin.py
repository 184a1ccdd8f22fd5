"""The fixtures a test of an application asks for."""

from __future__ import annotations

from typing import Any

import boto3

from hashrange.pytest_plugin import _missing_settings
from hashrange.testing import LocalDynamoDB, LocalServer

# Made before any fixture, as a module under test does it.
MODULE_CLIENT = boto3.client(
    "dynamodb", region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b"
)


def test_the_client_and_the_resource_are_of_one_database(
    dynamodb: LocalDynamoDB, dynamodb_client: Any, dynamodb_resource: Any
) -> None:
    dynamodb_resource.create_table(
        TableName="Music",
        BillingMode="PAY_PER_REQUEST",
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
    )
    assert dynamodb_client.list_tables()["TableNames"] == ["Music"]
    assert dynamodb.client().list_tables()["TableNames"] == ["Music"]


def test_a_client_made_when_its_module_was_imported_reaches_the_database(
    dynamodb_client: Any,
) -> None:
    assert MODULE_CLIENT.list_tables()["TableNames"] == dynamodb_client.list_tables()["TableNames"]


def test_the_server_has_an_endpoint(dynamodb_server: LocalServer) -> None:
    assert dynamodb_server.endpoint_url.startswith("http://127.0.0.1:")


def test_a_region_and_credentials_are_set_only_where_nothing_says_them(tmp_path):
    nowhere = {
        "AWS_CONFIG_FILE": str(tmp_path / "config"),
        "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "credentials"),
    }
    keys = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"]
    assert _missing_settings(nowhere) == ["AWS_DEFAULT_REGION", *keys]
    assert _missing_settings({**nowhere, "AWS_REGION": "eu-west-1"}) == keys
    assert _missing_settings({**nowhere, "AWS_PROFILE": "work"}) == []
    (tmp_path / "credentials").write_text("[default]\n")
    assert _missing_settings(nowhere) == ["AWS_DEFAULT_REGION"]
