"""Clients of a server with authentication: JavaScript, presigned requests, the AWS command line."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
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


@pytest.fixture
def aws(guarded):
    """Run the AWS command line; returns its JSON, or its complaint when it fails."""

    def run(line, *arguments, keys=None):
        kept = {k: v for k, v in os.environ.items() if not k.startswith("AWS_")}
        given = keys or dict(
            zip(("AccessKeyId", "SecretAccessKey"), guarded.keys, strict=True), SessionToken=""
        )
        environment = kept | {
            "AWS_ENDPOINT_URL": guarded.url,
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": given["AccessKeyId"],
            "AWS_SECRET_ACCESS_KEY": given["SecretAccessKey"],
        }
        if given.get("SessionToken"):
            environment["AWS_SESSION_TOKEN"] = given["SessionToken"]
        command = [sys.executable, "-m", "awscli", *line.split(), *arguments, "--output", "json"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode:
            return done.stderr.strip()
        return json.loads(done.stdout) if done.stdout.strip() else {}

    return run


def policy(*actions, **more):
    statement = {"Effect": "Allow", "Action": list(actions), "Resource": "*", **more}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


# Not with every run of the tests, since each call starts a process.
@pytest.mark.npm
def test_the_command_line_manages_users_roles_keys_and_policies(aws):
    get = ("--key", '{"id": {"S": "a"}}')
    made = aws("iam create-policy --policy-name Get --policy-document", policy("dynamodb:GetItem"))
    arn = made["Policy"]["Arn"]
    aws("iam create-user --user-name dora")
    aws("iam create-group --group-name readers")
    aws("iam add-user-to-group --group-name readers --user-name dora")
    keys = aws("iam create-access-key --user-name dora")["AccessKey"]
    assert "AccessDenied" in aws("dynamodb get-item --table-name music", *get, keys=keys)
    aws("iam attach-group-policy --group-name readers --policy-arn", arn)
    assert "Item" in aws("dynamodb get-item --table-name music", *get, keys=keys)
    aws(
        "iam create-policy-version --set-as-default --policy-arn", arn, "--policy-document",
        policy("dynamodb:Query"),
    )  # fmt: skip
    assert "AccessDenied" in aws("dynamodb get-item --table-name music", *get, keys=keys)
    aws(
        "iam put-user-policy --user-name dora --policy-name own --policy-document",
        policy("sts:AssumeRole"),
    )
    assumed = aws("sts assume-role --role-session-name shell --role-arn", ROLE, keys=keys)
    session = assumed["Credentials"]
    assert "Item" in aws("dynamodb get-item --table-name music", *get, keys=session)
    who = aws("sts get-caller-identity", keys=session)
    assert who["Arn"] == "arn:aws:sts::000000000000:assumed-role/Reader/shell"
    aws(
        "iam update-access-key --status Inactive --user-name dora --access-key-id",
        keys["AccessKeyId"],
    )
    assert "InvalidClientTokenId" in aws("sts get-caller-identity", keys=keys)


@pytest.mark.npm
def test_the_command_line_manages_kms_keys_and_sealed_tables(aws):
    key = aws("kms create-key --description orders")["KeyMetadata"]["KeyId"]
    aws("kms create-alias --alias-name alias/orders --target-key-id", key)
    assert "alias/orders" in str(aws("kms list-aliases"))
    aws(
        "dynamodb create-table --table-name sealed --billing-mode PAY_PER_REQUEST "
        "--attribute-definitions AttributeName=id,AttributeType=S "
        "--key-schema AttributeName=id,KeyType=HASH "
        "--sse-specification Enabled=true,KMSMasterKeyId=alias/orders"
    )
    aws("dynamodb put-item --table-name sealed --item", '{"id": {"S": "a"}}')
    aws("kms disable-key --key-id", key)
    get = ("dynamodb get-item --table-name sealed --key", '{"id": {"S": "a"}}')
    assert "KMS key access denied error" in aws(*get)
    described = aws("dynamodb describe-table --table-name sealed")["Table"]
    assert described["TableStatus"] == "INACCESSIBLE_ENCRYPTION_CREDENTIALS"
    aws("kms enable-key --key-id", key)
    assert "Item" in aws(*get)
    table = "arn:aws:dynamodb:us-east-1:000000000000:table/sealed"
    document = policy("dynamodb:GetItem", Principal={"AWS": "000000000000"}, Resource=table)
    put = aws("dynamodb put-resource-policy --resource-arn", table, "--policy", document)
    assert "RevisionId" in put
    assert "Policy" in aws("dynamodb get-resource-policy --resource-arn", table)
