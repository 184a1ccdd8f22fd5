"""`hashrange design watch --cloudwatch` on a real server finds calls in its metrics."""

import json

import pytest

from examples.designs import shop
from hashrange.cli import design
from hashrange.cli.main import build_parser


@pytest.fixture
def used_shop(dynamodb_server, monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    client = dynamodb_server.client()
    made = shop.Shop(client)
    made.create_tables()
    made.products_of_category("tea").all()
    for _ in range(3):
        client.scan(TableName="Shop")
    return dynamodb_server


def test_scans_and_patterns_nobody_calls_are_found(used_shop, capsys):
    arguments = ["design", "watch", "examples.designs.shop:Shop", "--cloudwatch", "--minutes", "10"]
    arguments += ["--endpoint", used_shop.endpoint_url, "--region", "us-east-1", "--format", "json"]
    status = design.run(build_parser().parse_args(arguments))
    assert status == 1
    found = json.loads(capsys.readouterr().out)
    remarks = json.dumps(found)
    assert "3 Scan requests, which no pattern declares" in remarks
    assert "pattern:sign_up" in remarks
    assert "pattern:products_of_category" not in remarks
