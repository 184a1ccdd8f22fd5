"""Clients of a server with authentication: a role in JavaScript, and a presigned request."""

import json
import os
import pathlib
import shutil
import subprocess
import urllib.error
import urllib.request

import pytest

from tests.harness.guarded_server import guarded_server

HERE = pathlib.Path(__file__).parent
ROLE = "arn:aws:iam::000000000000:role/Reader"
READ_ONLY = "arn:aws:iam::aws:policy/AmazonDynamoDBReadOnlyAccess"
PACKAGES = (
    *("@aws-sdk/client-dynamodb@3", "@aws-sdk/client-sts@3"),
    "@aws-sdk/credential-providers@3",
)


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    with guarded_server(tmp_path_factory.mktemp("guarded")) as server:
        dynamodb, iam = server.client("dynamodb"), server.client("iam")
        dynamodb.create_table(
            TableName="music",
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        )
        dynamodb.put_item(TableName="music", Item={"id": {"S": "a"}})
        trust = {
            "Version": "2012-10-17",
            "Statement": {
                "Effect": "Allow",
                "Principal": {"AWS": "000000000000"},
                "Action": "sts:AssumeRole",
            },
        }
        iam.create_role(RoleName="Reader", AssumeRolePolicyDocument=json.dumps(trust))
        iam.attach_role_policy(RoleName="Reader", PolicyArn=READ_ONLY)
        yield server


@pytest.mark.npm
def test_the_sdk_for_javascript_with_a_role(guarded, tool_directory):
    home = tool_directory("javascript-sdk-3-access")
    if not (home / "complete").exists():
        (home / "package.json").write_text('{"private": true}')
        flags = ["--no-audit", "--no-fund", "--no-package-lock", "--silent"]
        subprocess.run(["npm", "install", *flags, *PACKAGES], cwd=home, check=True)
        (home / "complete").touch()
    script = shutil.copy(HERE / "assumed_role.mjs", home)
    kept = {k: v for k, v in os.environ.items() if not k.startswith("AWS_")}
    environment = kept | {
        "AWS_ENDPOINT_URL": guarded.url,
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": guarded.keys[0],
        "AWS_SECRET_ACCESS_KEY": guarded.keys[1],
        "ROLE_ARN": ROLE,
    }
    command = ["node", "--no-warnings", script]
    done = subprocess.run(command, cwd=home, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def fetch(url):
    """Return the status and the text of what a URL answers."""
    try:
        with urllib.request.urlopen(url) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_a_presigned_request_of_a_session(guarded):
    sts = guarded.client("sts")
    credentials = sts.assume_role(RoleArn=ROLE, RoleSessionName="link")["Credentials"]
    url = guarded.client("sts", credentials).generate_presigned_url(
        "get_caller_identity", ExpiresIn=60, HttpMethod="GET"
    )
    status, text = fetch(url)
    assert (status, "assumed-role/Reader/link</Arn>" in text) == (200, True)
    status, text = fetch(url.replace("Action=GetCallerIdentity", "Action=GetSessionToken"))
    assert (status, "<Code>SignatureDoesNotMatch</Code>" in text) == (403, True)
    status, text = fetch(url.replace("X-Amz-Expires=60", "X-Amz-Expires=6000"))
    assert (status, "<Code>SignatureDoesNotMatch</Code>" in text) == (403, True)
