"""`hashrange copy` from and to DynamoDB Local; needs Java and Maven (make transfers)."""

import subprocess
from pathlib import Path

import pytest

from tests.differential.local import dynamodb_local
from tests.harness import server
from tests.transfers.conftest import DEFINITION, contents, make_items, put_all
from tests.transfers.test_copy import STREAM, client_of, command, run

pytestmark = pytest.mark.judges


def test_dynamodb_local_is_copied_from_and_to(tmp_path: Path) -> None:
    with dynamodb_local() as local, server.hashrange() as ours:
        there, here = client_of(local), client_of(ours)
        there.create_table(TableName="games", **DEFINITION, StreamSpecification=STREAM)
        put_all(there, "games", make_items(500))
        told = run(tmp_path, f"{local}/games", f"{ours}/")
        assert "verified 500 items" in told
        assert contents(here, "games") == contents(there, "games")
        here.delete_item(TableName="games", Key={"a": {"S": "p1"}, "b": {"N": "1"}})
        arn = here.describe_table(TableName="games")["Table"]["TableArn"]
        here.tag_resource(ResourceArn=arn, Tags=[{"Key": "team", "Value": "blue"}])
        expiry = {"Enabled": True, "AttributeName": "gone_at"}
        here.update_time_to_live(TableName="games", TimeToLiveSpecification=expiry)
        told = run(tmp_path, f"{ours}/games", f"{local}/back")
        assert "verified 499 items" in told
        assert contents(there, "back") == contents(here, "games")


def test_what_changes_in_dynamodb_local_meanwhile_is_copied(tmp_path: Path) -> None:
    with dynamodb_local() as local, server.hashrange() as ours:
        there = client_of(local)
        there.create_table(TableName="games", **DEFINITION, StreamSpecification=STREAM)
        put_all(there, "games", make_items(200))
        process = subprocess.Popen(
            command(f"{local}/games", f"{ours}/", "--rate", "100"),
            cwd=tmp_path,
            stderr=subprocess.PIPE,
            text=True,
        )
        changed = make_items(230)
        for item in changed:
            there.put_item(TableName="games", Item={**item, "text": {"S": "changed"}})
        _, told = process.communicate(timeout=120)
        assert process.returncode == 0, told
        assert "caught up with the stream" in told
