"""A session with the AWS command line interface."""

import json
import subprocess
import sys

import pytest


@pytest.fixture
def aws(environment):
    """Run `aws dynamodb ...`; returns its JSON, or its complaint when it fails."""

    def run(*arguments):
        command = [sys.executable, "-m", "awscli", "dynamodb", *arguments, "--output", "json"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode:
            return done.stderr.strip()
        return json.loads(done.stdout) if done.stdout.strip() else {}

    return run


def test_a_session_from_creating_to_deleting_a_table(aws):
    music = ["--table-name", "CliMusic"]
    created = aws(
        "create-table", *music,
        "--attribute-definitions", "AttributeName=Artist,AttributeType=S",
        "AttributeName=Song,AttributeType=S",
        "--key-schema", "AttributeName=Artist,KeyType=HASH", "AttributeName=Song,KeyType=RANGE",
        "--billing-mode", "PAY_PER_REQUEST",
    )  # fmt: skip
    assert created["TableDescription"]["TableName"] == "CliMusic"
    assert aws("wait", "table-exists", *music) == {}
    assert "CliMusic" in aws("list-tables")["TableNames"]
    song = {"Artist": {"S": "Acme"}, "Song": {"S": "Happy Day"}, "Year": {"N": "1999"}}
    more = {"Artist": {"S": "Acme"}, "Song": {"S": "Zed"}}
    assert aws("put-item", *music, "--item", json.dumps(song)) == {}
    batch = {"CliMusic": [{"PutRequest": {"Item": more}}]}
    answer = aws("batch-write-item", "--request-items", json.dumps(batch))
    assert answer == {"UnprocessedItems": {}}
    key = json.dumps({"Artist": {"S": "Acme"}, "Song": {"S": "Happy Day"}})
    assert aws("get-item", *music, "--key", key, "--consistent-read")["Item"] == song
    found = aws(
        "query", *music,
        "--key-condition-expression", "Artist = :a",
        "--expression-attribute-values", '{":a": {"S": "Acme"}}',
        "--page-size", "1",
    )  # fmt: skip
    assert found["Items"] == [song, more]
    again = aws(
        "put-item", *music, "--item", json.dumps(song),
        "--condition-expression", "attribute_not_exists(Artist)",
    )  # fmt: skip
    assert "ConditionalCheckFailedException" in again
    assert aws("delete-table", *music)["TableDescription"]["TableName"] == "CliMusic"
    assert aws("wait", "table-not-exists", *music) == {}
