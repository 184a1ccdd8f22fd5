"""A server with a key leaves nothing readable: data, log, backups, temporary files, output."""

import contextlib
import os
import signal
import subprocess
import sys
import time
import zlib
from pathlib import Path

import boto3
import pytest
from botocore.config import Config

from tests.harness import server

WORD = "planted-word"
NAME = "PlantedTable"
WAIT_SECONDS_MAX = 30.0


class Site:
    """A server process with a key, and everything it could write to."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.temporary = folder / "temporary"
        self.temporary.mkdir()
        key = folder / "outside.key"
        key.write_text("5b" * 32)
        key.chmod(0o600)
        port = server.free_port()
        self.port = port
        self.url = f"http://127.0.0.1:{port}"
        self._command = [sys.executable, "-m", "hashrange", "serve", "--port", str(port)]
        self._command += ["--data-dir", str(self.data), "--key-file", str(key), "--workers", "2"]
        self._command += ["--audit", "all", "--log-level", "debug"]
        self.start()

    def start(self) -> None:
        self._log = (self.folder / "output").open("ab")
        self.process = subprocess.Popen(
            self._command,
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env={**os.environ, "TMPDIR": str(self.temporary)},
        )
        until(lambda: server.answers(self.port))

    def client(self, service: str):
        return boto3.client(
            service,
            endpoint_url=self.url,
            region_name="us-east-1",
            aws_access_key_id="local",
            aws_secret_access_key="local",
            config=Config(retries={"total_max_attempts": 1}),
        )

    def kill(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(WAIT_SECONDS_MAX)
        self._log.close()

    def files_with(self, word: str) -> list[str]:
        """Return the files that show a word, compressed or not, with one or two bytes a character.

        A file is also among them if its name shows it.
        """
        forms = (word.encode(), word.encode("utf-16-le"), word.encode("utf-16-be"))
        return [
            str(path.relative_to(self.folder))
            for path in self.folder.rglob("*")
            if word in path.name
            or (path.is_file() and any(form in shown_by(path) for form in forms))
        ]


def shown_by(path: Path) -> bytes:
    """Return what can be read from a file, also if it is compressed, or the start of it is."""
    content = path.read_bytes()
    start = content.find(b"\x1f\x8b\x08")
    if start >= 0:
        with contextlib.suppress(zlib.error):
            content += zlib.decompressobj(31).decompress(content[start:])
    return content


def until(is_true) -> None:
    deadline = time.monotonic() + WAIT_SECONDS_MAX
    while not is_true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture
def site(tmp_path):
    made = Site(tmp_path)
    yield made
    if made.process.poll() is None:
        made.kill()


def fill(dynamodb) -> None:
    """Make a table with everything that keeps copies of items, and items full of a word."""
    dynamodb.create_table(
        TableName=NAME,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[
            {"AttributeName": name, "AttributeType": "S"} for name in ("id", "kind")
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
    )
    dynamodb.update_continuous_backups(
        TableName=NAME, PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True}
    )
    for number in range(60):
        item = {"id": {"S": f"{WORD} {number}"}, "kind": {"S": WORD}, "text": {"S": WORD * 1000}}
        dynamodb.put_item(TableName=NAME, Item=item)
    statement = f"UPDATE \"{NAME}\" SET more = '{WORD}' WHERE id = '{WORD} 1'"
    dynamodb.execute_statement(Statement=statement)
    with pytest.raises(dynamodb.exceptions.ConditionalCheckFailedException):
        dynamodb.put_item(
            TableName=NAME,
            Item={"id": {"S": f"{WORD} 2"}},
            ConditionExpression="attribute_not_exists(id)",
        )


def start_export(dynamodb, form: str) -> str:
    arn = dynamodb.describe_table(TableName=NAME)["Table"]["TableArn"]
    started = dynamodb.export_table_to_point_in_time(
        TableArn=arn, S3Bucket="bucket", S3Prefix=form.lower(), ExportFormat=form
    )
    return started["ExportDescription"]["ExportArn"]


def end_export(dynamodb, arn: str) -> str:
    """Wait for an export; return the prefix of its data files."""

    def describe():
        return dynamodb.describe_export(ExportArn=arn)["ExportDescription"]

    until(lambda: describe()["ExportStatus"] != "IN_PROGRESS")
    assert describe()["ExportStatus"] == "COMPLETED", describe()
    return describe()["ExportManifest"].replace("manifest-summary.json", "data/")


def start_import(dynamodb, table: str, prefix: str, form: str, compression: str) -> str:
    started = dynamodb.import_table(
        S3BucketSource={"S3Bucket": "bucket", "S3KeyPrefix": prefix},
        InputFormat=form,
        InputCompressionType=compression,
        TableCreationParameters={
            "TableName": table,
            "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
        },
    )
    return started["ImportTableDescription"]["ImportArn"]


def end_import(dynamodb, arn: str) -> None:
    def describe():
        return dynamodb.describe_import(ImportArn=arn)["ImportTableDescription"]

    until(lambda: describe()["ImportStatus"] != "IN_PROGRESS")
    assert describe()["ImportStatus"] == "COMPLETED", describe()


def put_in_bulk(dynamodb) -> None:
    """Put items of which one is bad, so that there are reports."""
    where = {"S3Bucket": "bucket", "S3KeyPrefix": "in/"}
    started = dynamodb.start_bulk_put_items(
        TableName=NAME,
        InputS3Configuration={**where, "InputFormat": "DYNAMODB_JSON"},
        OutputS3Configuration={"S3Bucket": "bucket", "S3KeyPrefix": "out", "OutputType": ["ERROR"]},
    )
    arn = started["BulkOperationDescription"]["BulkOperationArn"]

    def describe():
        return dynamodb.describe_bulk_operation(BulkOperationArn=arn)["BulkOperationDescription"]

    until(lambda: describe()["BulkOperationStatus"] not in ("IN_PROGRESS", "PENDING"))
    assert describe()["BulkOperationStatus"].startswith("COMPLETED"), describe()


def upload_parts(s3) -> tuple[str, str]:
    """Send parts of three uploads; abort one, complete one; return id and ETag of the third."""
    for end in ("abort", "complete", ""):
        where = {"Bucket": "bucket", "Key": "parts"}
        begun = s3.create_multipart_upload(**where, Metadata={"note": WORD})
        where["UploadId"] = begun["UploadId"]
        etag = s3.upload_part(**where, PartNumber=1, Body=WORD.encode() * 10_000)["ETag"]
        if end == "abort":
            s3.abort_multipart_upload(**where)
        if end == "complete":
            parts = [{"PartNumber": 1, "ETag": etag}]
            s3.complete_multipart_upload(**where, MultipartUpload={"Parts": parts})
    return begun["UploadId"], etag


LINE = b'{"Item": {"id": {"S": "%s %d"}, "text": {"S": "%s"}}}\n'
INPUT = b"".join(LINE % (WORD.encode(), number, WORD.encode()) for number in range(900, 990))


def test_the_buckets_of_a_killed_encrypted_server_show_nothing_and_are_all_there(site):
    dynamodb, s3 = site.client("dynamodb"), site.client("s3")
    fill(dynamodb)
    s3.create_bucket(Bucket="bucket")
    s3.put_object(Bucket="bucket", Key="object", Body=INPUT, Metadata={"note": WORD})
    s3.put_object(Bucket="bucket", Key="in/1", Body=INPUT + b'{"Item": {"bad": "%s"}}' % INPUT[:30])
    s3.copy_object(Bucket="bucket", Key="copy", CopySource="bucket/object")
    put_in_bulk(dynamodb)
    id, etag = upload_parts(s3)
    prefixes = {
        form: end_export(dynamodb, start_export(dynamodb, form))
        for form in ("DYNAMODB_JSON", "ION")
    }
    for form, prefix in prefixes.items():
        end_import(dynamodb, start_import(dynamodb, f"From{form}", prefix, form, "GZIP"))
    s3.put_object(Bucket="bucket", Key="plain/1", Body=INPUT)
    end_import(dynamodb, start_import(dynamodb, "Plain", "plain/", "DYNAMODB_JSON", "NONE"))
    site.kill()
    assert site.files_with(WORD) == []
    assert [path for path in site.files_with(NAME) if path.startswith("data/")] == []
    assert len([path for path in (site.data / "buckets").rglob("*") if path.is_file()]) > 20
    site.start()
    assert s3.get_object(Bucket="bucket", Key="copy")["Body"].read() == INPUT
    found = s3.get_object(Bucket="bucket", Key="object", Range="bytes=7-99")
    assert (found["Body"].read(), found["Metadata"]) == (INPUT[7:100], {"note": WORD})
    where = {"Bucket": "bucket", "Key": "parts", "UploadId": id}
    chosen = {"Parts": [{"PartNumber": 1, "ETag": etag}]}
    s3.complete_multipart_upload(**where, MultipartUpload=chosen)
    joined = s3.get_object(Bucket="bucket", Key="parts")["Body"].read()
    assert joined == WORD.encode() * 10_000
    for form in prefixes:
        assert dynamodb.scan(TableName=f"From{form}", Select="COUNT")["Count"] == 60 + 90


def test_plain_and_damaged_files_in_the_buckets_of_an_encrypted_server_are_refused(site):
    dynamodb, s3 = site.client("dynamodb"), site.client("s3")
    s3.create_bucket(Bucket="bucket")
    s3.put_object(Bucket="bucket", Key="damaged/1", Body=INPUT * 100)
    folder = site.data / "buckets" / "bucket"
    (folder / "plain").mkdir()
    (folder / "plain" / "1").write_bytes(INPUT)
    damaged = bytearray((folder / "damaged" / "1").read_bytes())
    damaged[100] ^= 1
    (folder / "damaged" / "1").write_bytes(damaged)
    listed = s3.list_objects_v2(Bucket="bucket")["Contents"]
    assert [(found["Key"], found["Size"]) for found in listed] == [
        ("damaged/1", len(INPUT) * 100),
        ("plain/1", len(INPUT)),
    ]
    for prefix in ("plain", "damaged"):
        with pytest.raises(s3.exceptions.ClientError) as caught:
            s3.get_object(Bucket="bucket", Key=f"{prefix}/1")
        assert caught.value.response["Error"]["Code"] == "InvalidObjectState"
        arn = start_import(dynamodb, NAME, f"{prefix}/", "DYNAMODB_JSON", "NONE")

        def describe(arn=arn):
            return dynamodb.describe_import(ImportArn=arn)["ImportTableDescription"]

        until(lambda: describe()["ImportStatus"] != "IN_PROGRESS")
        assert describe()["FailureCode"] == "S3InvalidObjectState"


def test_exports_and_imports_that_are_killed_under_way_show_nothing_and_go_on(site):
    dynamodb, s3 = site.client("dynamodb"), site.client("s3")
    fill(dynamodb)
    s3.create_bucket(Bucket="bucket")
    for number in range(8):
        body = b"".join(LINE % (WORD.encode(), number * 5000 + at, b"x") for at in range(5000))
        s3.put_object(Bucket="bucket", Key=f"json/{number}", Body=body)
        ion = b"".join(
            b'{Item: {id: "%s %d"}}\n' % (WORD.encode(), number * 500 + at) for at in range(500)
        )
        s3.put_object(Bucket="bucket", Key=f"ion/{number}", Body=ion)
    exports = [start_export(dynamodb, form) for form in ("DYNAMODB_JSON", "ION")]
    imports = [
        start_import(dynamodb, "FromJson", "json/", "DYNAMODB_JSON", "NONE"),
        start_import(dynamodb, "FromIon", "ion/", "ION", "NONE"),
    ]
    until(lambda: dynamodb.describe_import(ImportArn=imports[1]))
    site.kill()
    assert site.files_with(WORD) == []
    site.start()
    for arn in exports:
        end_export(dynamodb, arn)
    for arn in imports:
        end_import(dynamodb, arn)
    counts = [dynamodb.describe_table(TableName=name)["Table"]["ItemCount"] for name in TABLES]
    assert counts == [40_000, 4_000]
    site.kill()
    assert site.files_with(WORD) == []


TABLES = ("FromJson", "FromIon")


def test_no_file_of_a_killed_encrypted_server_shows_a_planted_word(site):
    dynamodb = site.client("dynamodb")
    fill(dynamodb)
    backup = dynamodb.create_backup(TableName=NAME, BackupName="nightly")["BackupDetails"]

    def is_done():
        described = dynamodb.describe_backup(BackupArn=backup["BackupArn"])
        details = described["BackupDescription"]["BackupDetails"]
        return details["BackupStatus"] == "AVAILABLE"

    until(is_done)
    assert dynamodb.scan(TableName=NAME)["Count"] == 60
    site.kill()
    shown = site.files_with(WORD)
    # Names of tables are no secret to those who may read the audit trail; items are.
    assert shown == []
    assert [path for path in site.files_with(NAME) if path.startswith("data/")] == []
    assert sum(path.stat().st_size for path in site.data.rglob("*")) > 60 * 1000 * len(WORD)
