"""Tables encrypted with a KMS key: nothing readable below, and nothing at all without the key."""

import contextlib
import subprocess
import sys
import time
import zlib
from pathlib import Path

import boto3
import pytest
from boto3.dynamodb.conditions import Attr, Key
from botocore.config import Config
from botocore.exceptions import ClientError

from tests.harness import server

WORD = "planted-word"


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return tmp_path_factory.mktemp("sealed") / "data"


@pytest.fixture(scope="module")
def sealed_url(directory):
    port = server.free_port()
    command = [sys.executable, "-m", "hashrange", "serve", "--port", str(port), "--workers", "2"]
    with server.running([*command, "--data-dir", str(directory)], port) as started:
        yield started


class Clients:
    """The clients of one server."""

    def __init__(self, url):
        self._arguments = {
            "endpoint_url": url,
            "region_name": "eu-west-1",
            "aws_access_key_id": "local",
            "aws_secret_access_key": "local",
            "config": Config(retries={"total_max_attempts": 1}),
        }
        self.kms = self.client("kms")
        self.dynamodb = self.client("dynamodb")
        self.streams = self.client("dynamodbstreams")
        self.tables = boto3.resource("dynamodb", **self._arguments)

    def client(self, service):
        return boto3.client(service, **self._arguments)

    def make(self, name, key=None, **more):
        specification = {"Enabled": True, **({"KMSMasterKeyId": key} if key else {})}
        self.dynamodb.create_table(
            TableName=name,
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[
                {"AttributeName": attribute, "AttributeType": "S"} for attribute in ("id", "kind")
            ],
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            GlobalSecondaryIndexes=[
                {
                    "IndexName": "by-kind",
                    "KeySchema": [{"AttributeName": "kind", "KeyType": "HASH"}],
                    "Projection": {"ProjectionType": "ALL"},
                }
            ],
            StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
            **({"SSESpecification": specification} | more),
        )
        return self.tables.Table(name)


@pytest.fixture(scope="module")
def clients(sealed_url):
    return Clients(sealed_url)


def code(call, **parameters):
    with pytest.raises(ClientError) as caught:
        call(**parameters)
    error = caught.value.response["Error"]
    return error["Code"], error["Message"]


def files_show(directory: Path, word: str) -> bool:
    files = (path for path in directory.rglob("*") if path.is_file())
    return any(word.encode() in file.read_bytes() for file in files)


def read_stream(clients, name):
    (stream,) = clients.streams.list_streams(TableName=name)["Streams"]
    described = clients.streams.describe_stream(StreamArn=stream["StreamArn"])
    records = []
    for shard in described["StreamDescription"]["Shards"]:
        iterator = clients.streams.get_shard_iterator(
            StreamArn=stream["StreamArn"],
            ShardId=shard["ShardId"],
            ShardIteratorType="TRIM_HORIZON",
        )["ShardIterator"]
        records += clients.streams.get_records(ShardIterator=iterator)["Records"]
    return records


def test_everything_works_on_a_sealed_table_and_its_files_show_none_of_it(clients, directory):
    key = clients.kms.create_key()["KeyMetadata"]
    table = clients.make("Everything", key["KeyId"])
    described = clients.dynamodb.describe_table(TableName="Everything")["Table"]
    assert described["SSEDescription"] == {
        "Status": "ENABLED",
        "SSEType": "KMS",
        "KMSMasterKeyArn": key["Arn"],
    }
    for number in range(20):
        table.put_item(Item={"id": f"{number:02d}", "kind": "k", "text": f"{WORD} {number}"})
    table.update_item(
        Key={"id": "00"},
        UpdateExpression="SET more = :o",
        ConditionExpression=Attr("text").eq(f"{WORD} 0"),
        ExpressionAttributeValues={":o": WORD},
    )
    assert table.get_item(Key={"id": "00"})["Item"]["more"] == WORD
    assert table.scan()["Count"] == 20
    assert (
        table.query(IndexName="by-kind", KeyConditionExpression=Key("kind").eq("k"))["Count"] == 20
    )
    assert table.scan(FilterExpression=Attr("text").eq(f"{WORD} 7"))["Count"] == 1
    clients.dynamodb.transact_write_items(
        TransactItems=[
            {"Delete": {"TableName": "Everything", "Key": {"id": {"S": "01"}}}},
            {"Put": {"TableName": "Everything", "Item": {"id": {"S": "99"}, "t": {"S": WORD}}}},
        ]
    )
    records = read_stream(clients, "Everything")
    assert len(records) == 23
    assert WORD in str(records)
    assert not files_show(directory, WORD)
    assert not files_show(directory, "planted")


def test_a_disabled_key_closes_the_table_and_enabling_brings_it_back(clients):
    key = clients.kms.create_key()["KeyMetadata"]
    table = clients.make("Closed", key["Arn"])
    table.put_item(Item={"id": "1", "text": WORD})
    clients.kms.disable_key(KeyId=key["KeyId"])
    for _ in range(4):  # whichever worker answers
        fresh = boto3.resource("dynamodb", **clients._arguments).Table("Closed")
        for call, parameters in (
            (fresh.get_item, {"Key": {"id": "1"}}),
            (fresh.put_item, {"Item": {"id": "2"}}),
            (fresh.scan, {}),
        ):
            error, message = code(call, **parameters)
            assert error == "AccessDeniedException"
            assert message == f"KMS key access denied error: {key['Arn']} is disabled."
    described = clients.dynamodb.describe_table(TableName="Closed")["Table"]
    assert described["TableStatus"] == "INACCESSIBLE_ENCRYPTION_CREDENTIALS"
    assert "InaccessibleEncryptionDateTime" in described["SSEDescription"]
    clients.kms.enable_key(KeyId=key["KeyId"])
    assert table.get_item(Key={"id": "1"})["Item"]["text"] == WORD
    assert clients.dynamodb.describe_table(TableName="Closed")["Table"]["TableStatus"] == "ACTIVE"


def test_a_table_whose_key_is_to_be_deleted_is_closed_and_can_be_deleted(clients):
    key = clients.kms.create_key()["KeyMetadata"]["KeyId"]
    table = clients.make("Doomed", key)
    table.put_item(Item={"id": "1", "text": WORD})
    clients.kms.schedule_key_deletion(KeyId=key, PendingWindowInDays=7)
    error, message = code(table.get_item, Key={"id": "1"})
    assert (error, "is pending deletion" in message) == ("AccessDeniedException", True)
    clients.dynamodb.delete_table(TableName="Doomed")
    assert "Doomed" not in clients.dynamodb.list_tables()["TableNames"]


def test_rotation_of_the_key_changes_nothing_for_its_tables(clients):
    key = clients.kms.create_key()["KeyMetadata"]["KeyId"]
    table = clients.make("Rotated", key)
    table.put_item(Item={"id": "1", "text": WORD})
    clients.kms.rotate_key_on_demand(KeyId=key)
    table.put_item(Item={"id": "2", "text": WORD})
    assert table.scan()["Count"] == 2


def test_the_default_key_is_made_when_it_is_first_asked_for(clients, directory):
    table = clients.make("Default")
    described = clients.dynamodb.describe_table(TableName="Default")["Table"]
    arn = described["SSEDescription"]["KMSMasterKeyArn"]
    key = clients.kms.describe_key(KeyId="alias/aws/dynamodb")["KeyMetadata"]
    assert (key["Arn"], key["KeyManager"]) == (arn, "AWS")
    assert code(clients.kms.disable_key, KeyId=key["KeyId"])[0] == "UnsupportedOperationException"
    table.put_item(Item={"id": "1", "text": "default-planted"})
    assert not files_show(directory, "default-planted")


def test_keys_that_cannot_be_used_are_refused(clients):
    disabled = clients.kms.create_key()["KeyMetadata"]["KeyId"]
    clients.kms.disable_key(KeyId=disabled)
    for key in ("00000000-0000-4000-8000-000000000000", "alias/none", disabled):
        error, message = code(clients.make, name="Refused", key=key)
        assert (error, message.startswith("KMS validation error: ")) == (
            "ValidationException",
            True,
        )
    assert code(clients.make, name="Refused", key="alias/aws/dynamodb")[0] == "ValidationException"


def eventually(condition):
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_table_can_be_sealed_later_sealed_anew_and_opened_again(clients, directory):
    table = clients.make("Later", SSESpecification={"Enabled": False})
    assert "SSEDescription" not in clients.dynamodb.describe_table(TableName="Later")["Table"]
    for number in range(300):
        table.put_item(Item={"id": str(number), "kind": "k", "text": "later-planted"})

    def described():
        return clients.dynamodb.describe_table(TableName="Later")["Table"].get("SSEDescription")

    first, second = (clients.kms.create_key()["KeyMetadata"]["KeyId"] for _ in range(2))
    for key in (first, second):
        specification = {"Enabled": True, "KMSMasterKeyId": key}
        clients.dynamodb.update_table(TableName="Later", SSESpecification=specification)
        assert table.scan()["Count"] == 300
        eventually(lambda: (described() or {}).get("Status") == "ENABLED")
        assert key in described()["KMSMasterKeyArn"]
        assert table.scan()["Count"] == 300
    # Nothing is sealed with the first key any more.
    clients.kms.schedule_key_deletion(KeyId=first, PendingWindowInDays=7)
    assert table.scan()["Count"] == 300
    assert len(read_stream(clients, "Later")) == 300
    clients.dynamodb.update_table(TableName="Later", SSESpecification={"Enabled": False})
    eventually(lambda: described() is None)
    assert (
        table.query(IndexName="by-kind", KeyConditionExpression=Key("kind").eq("k"))["Count"] == 300
    )


def test_a_check_of_the_directory_opens_sealed_items_if_it_can(clients, directory, tmp_path):
    with contextlib.suppress(ClientError):
        clients.make("Checked", clients.kms.create_key()["KeyMetadata"]["KeyId"])
    clients.tables.Table("Checked").put_item(Item={"id": "1", "text": WORD})
    copy = tmp_path / "data"
    subprocess.run(["cp", "-r", str(directory), str(copy)], check=True)
    for is_there in (True, False):
        key = tmp_path / "data.key"
        if is_there:
            key.write_bytes(directory.with_name("data.key").read_bytes())
            key.chmod(0o600)
        else:
            key.unlink()
        checked = subprocess.run(
            [sys.executable, "-m", "hashrange", "check", str(copy)], capture_output=True, text=True
        )
        lines = [line for line in checked.stdout.splitlines() if "table/Checked" in line]
        assert bool(lines) is not is_there, checked.stdout
        assert all("KMS key access denied" in line for line in lines)


def wait_for(condition):
    deadline = time.monotonic() + 30.0
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_backup_is_sealed_with_the_key_of_its_table(clients, directory):
    key = clients.kms.create_key()["KeyMetadata"]["KeyId"]
    table = clients.make("backed-up", key)
    table.put_item(Item={"id": "1", "kind": "k", "text": WORD})
    made = clients.dynamodb.create_backup(TableName="backed-up", BackupName="one")
    arn = made["BackupDetails"]["BackupArn"]

    def status():
        described = clients.dynamodb.describe_backup(BackupArn=arn)["BackupDescription"]
        return described["BackupDetails"]["BackupStatus"]

    wait_for(lambda: status() == "AVAILABLE")
    (part,) = (directory / "backups").rglob("tables/*/part-00000")
    with pytest.raises(zlib.error):
        zlib.decompress(part.read_bytes())
    clients.dynamodb.restore_table_from_backup(TargetTableName="restored", BackupArn=arn)

    def is_active(name):
        described = clients.dynamodb.describe_table(TableName=name)["Table"]
        return described["TableStatus"] == "ACTIVE"

    wait_for(lambda: is_active("restored"))
    assert clients.tables.Table("restored").get_item(Key={"id": "1"})["Item"]["text"] == WORD
