"""The S3 front as clients use it: boto3's transfer manager, the AWS CLI, presigned addresses."""

import os
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from tests.transfers.conftest import World, start


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with start("memory", tmp_path_factory.mktemp("s3")) as started:
        yield started


@pytest.fixture
def s3(world: World) -> Any:
    return boto3.client(
        "s3",
        endpoint_url=world.url,
        region_name="us-east-1",
        aws_access_key_id="AKIDEXAMPLE",
        aws_secret_access_key="secret",
        config=Config(retries={"total_max_attempts": 1}, signature_version="s3v4"),
    )


@pytest.fixture
def bucket(world: World, s3: Any, request: pytest.FixtureRequest) -> str:
    name = f"b{abs(hash(request.node.name))}"
    s3.create_bucket(Bucket=name)
    return name


def code_of(call: Any, **parameters: Any) -> str:
    with pytest.raises(ClientError) as caught:
        call(**parameters)
    return str(caught.value.response["Error"]["Code"])


def test_a_large_file_goes_up_in_parts_and_comes_back(s3: Any, bucket: str, tmp_path: Path) -> None:
    content = os.urandom(1 << 20) * 20
    (tmp_path / "up").write_bytes(content)
    s3.upload_file(str(tmp_path / "up"), bucket, "some/where", ExtraArgs={"Metadata": {"a": "b"}})
    s3.download_file(bucket, "some/where", str(tmp_path / "down"))
    assert (tmp_path / "down").read_bytes() == content
    head = s3.head_object(Bucket=bucket, Key="some/where")
    assert (head["ContentLength"], head["Metadata"]) == (len(content), {"a": "b"})
    assert head["ETag"].endswith('-3"')
    whole = s3.get_object(Bucket=bucket, Key="some/where")
    assert whole["Body"].read() == content  # streamed, as it is larger than any buffer


def test_objects_keep_their_headers_and_give_ranges(s3: Any, bucket: str) -> None:
    put = s3.put_object(
        Bucket=bucket,
        Key="a b/ü%20+.txt",
        Body=b"0123456789",
        ContentType="text/plain",
        ContentEncoding="identity",
        Metadata={"Name": "value"},
    )
    found = s3.get_object(Bucket=bucket, Key="a b/ü%20+.txt", Range="bytes=2-4")
    assert found["Body"].read() == b"234"
    assert (found["ContentRange"], found["ContentLength"]) == ("bytes 2-4/10", 3)
    assert found["ResponseMetadata"]["HTTPStatusCode"] == 206
    assert (found["ContentType"], found["ContentEncoding"]) == ("text/plain", "identity")
    assert (found["ETag"], found["Metadata"]) == (put["ETag"], {"name": "value"})
    last = s3.get_object(Bucket=bucket, Key="a b/ü%20+.txt", Range="bytes=-3")
    assert last["Body"].read() == b"789"
    beyond = {"Bucket": bucket, "Key": "a b/ü%20+.txt", "Range": "bytes=10-"}
    assert code_of(s3.get_object, **beyond) == "InvalidRange"


def test_objects_are_listed_in_pages_and_by_folders(s3: Any, bucket: str) -> None:
    for key in ("a/1", "a/2", "b", "c & d/<x>"):
        s3.put_object(Bucket=bucket, Key=key, Body=b"")
    pages = s3.get_paginator("list_objects_v2").paginate(
        Bucket=bucket, PaginationConfig={"PageSize": 2}
    )
    keys = [found["Key"] for page in pages for found in page["Contents"]]
    assert keys == ["a/1", "a/2", "b", "c & d/<x>"]
    page = s3.list_objects_v2(Bucket=bucket, Delimiter="/")
    assert [found["Prefix"] for found in page["CommonPrefixes"]] == ["a/", "c & d/"]
    assert [found["Key"] for found in page["Contents"]] == ["b"]
    older = s3.list_objects(Bucket=bucket, Prefix="a/", MaxKeys=1)
    assert (older["IsTruncated"], older["Contents"][0]["Key"]) == (True, "a/1")


def test_objects_are_copied_and_deleted(s3: Any, bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key="a", Body=b"content", ContentType="text/x")
    s3.copy_object(Bucket=bucket, Key="b", CopySource={"Bucket": bucket, "Key": "a"})
    copied = s3.get_object(Bucket=bucket, Key="b")
    assert (copied["Body"].read(), copied["ContentType"]) == (b"content", "text/x")
    s3.delete_object(Bucket=bucket, Key="a")
    deleted = s3.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": "b"}, {"Key": "none"}]})
    assert [found["Key"] for found in deleted["Deleted"]] == ["b", "none"]
    assert "Contents" not in s3.list_objects_v2(Bucket=bucket)
    s3.delete_bucket(Bucket=bucket)
    assert bucket not in [found["Name"] for found in s3.list_buckets()["Buckets"]]


def test_errors_are_those_of_s3(s3: Any, bucket: str) -> None:
    assert code_of(s3.get_object, Bucket=bucket, Key="none") == "NoSuchKey"
    assert code_of(s3.head_object, Bucket=bucket, Key="none") == "404"
    assert code_of(s3.get_object, Bucket="there-is-none", Key="a") == "NoSuchBucket"
    assert code_of(s3.head_bucket, Bucket="there-is-none") == "404"
    s3.put_object(Bucket=bucket, Key="a", Body=b"")
    assert code_of(s3.delete_bucket, Bucket=bucket) == "BucketNotEmpty"
    bad = {"Bucket": bucket, "Key": "a", "Body": b"x", "ContentMD5": "1B2M2Y8AsgTpgAmY7PhCfg=="}
    assert code_of(s3.put_object, **bad) == "BadDigest"
    assert code_of(s3.put_object, Bucket=bucket, Key="a", Body=b"", IfNoneMatch="*") == (
        "PreconditionFailed"
    )
    missing = {"Bucket": bucket, "Key": "a", "UploadId": "0" * 32}
    assert code_of(s3.abort_multipart_upload, **missing) == "NoSuchUpload"
    assert code_of(s3.get_bucket_acl, Bucket=bucket) == "NotImplemented"


def test_presigned_addresses_work(s3: Any, bucket: str) -> None:
    put = s3.generate_presigned_url("put_object", {"Bucket": bucket, "Key": "p"})
    with urllib.request.urlopen(urllib.request.Request(put, b"signed", method="PUT")) as answer:
        assert answer.status == 200
    get = s3.generate_presigned_url("get_object", {"Bucket": bucket, "Key": "p"})
    with urllib.request.urlopen(get) as answer:
        assert answer.read() == b"signed"


def test_the_aws_cli_copies_files(world: World, bucket: str, tmp_path: Path) -> None:
    (tmp_path / "up.bin").write_bytes(os.urandom(1 << 20) * 17)
    environment = {
        **os.environ,
        "AWS_ENDPOINT_URL": world.url,
        "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    aws = [sys.executable, "-m", "awscli", "s3", "cp", "--quiet"]
    address = f"s3://{bucket}/dir/file.bin"
    for source, target in ((tmp_path / "up.bin", address), (address, tmp_path / "down.bin")):
        subprocess.run([*aws, str(source), str(target)], env=environment, check=True)
    assert (tmp_path / "down.bin").read_bytes() == (tmp_path / "up.bin").read_bytes()


def test_buckets_are_folders(world: World, s3: Any, bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key="x/y.txt", Body=b"content")
    assert (world.buckets / bucket / "x" / "y.txt").read_bytes() == b"content"


def test_uploads_and_parts_are_listed_in_pages(s3: Any, bucket: str) -> None:
    ids = [
        s3.create_multipart_upload(Bucket=bucket, Key=key)["UploadId"] for key in ("x", "y", "x")
    ]
    pages = s3.get_paginator("list_multipart_uploads").paginate(
        Bucket=bucket, PaginationConfig={"PageSize": 1}
    )
    found = [(entry["Key"], entry["UploadId"]) for page in pages for entry in page["Uploads"]]
    assert found == [("x", ids[0]), ("x", ids[2]), ("y", ids[1])]
    upload = {"Bucket": bucket, "Key": "y", "UploadId": ids[1]}
    for number in (1, 2, 5):
        s3.upload_part(**upload, PartNumber=number, Body=b"part")
    parts = s3.get_paginator("list_parts").paginate(**upload, PaginationConfig={"PageSize": 2})
    assert [part["PartNumber"] for page in parts for part in page["Parts"]] == [1, 2, 5]
    for key, id in found:
        s3.abort_multipart_upload(Bucket=bucket, Key=key, UploadId=id)
    assert "Uploads" not in s3.list_multipart_uploads(Bucket=bucket)
    assert code_of(s3.list_multipart_uploads, Bucket=bucket, Delimiter="/") == "NotImplemented"
