"""Programs of others judge exports: DuckDB reads them, moto's S3 keeps them, moto imports them.

`make transfers` installs them in an environment of their own, which HASHRANGE_JUDGES names.
"""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest

from hashrange.limits import OBJECT_PART_BYTES
from hashrange.objects.base import NoSuchBucketError, NoSuchKeyError, get_object
from hashrange.objects.remote import RemoteSettings, RemoteStore, make_client
from tests.harness import server
from tests.harness.loops import in_loop
from tests.transfers.conftest import DEFINITION, World, contents, make_items, put_all, start, wait
from tests.transfers.test_exports import arn_of, export

pytestmark = pytest.mark.judges
JUDGES = Path(os.environ.get("HASHRANGE_JUDGES", ".venv-judges/bin")).absolute()
RECOVERY = {"PointInTimeRecoveryEnabled": True}
COUNT = 300
# The parser that moto reads exports with takes an escaped quote for the end of a text.
MOTO_LACKS = "text"


@pytest.fixture(scope="module")
def moto() -> Iterator[str]:
    """The URL of a moto server: its S3 and its DynamoDB."""
    port = server.free_port()
    with server.running([str(JUDGES / "moto_server"), "-p", str(port)], port) as url:
        yield url


@pytest.fixture
def credentials(tmp_path: Path) -> Path:
    file = tmp_path / "credentials"
    file.write_text("[default]\naws_access_key_id = AKID\naws_secret_access_key = secret\n")
    return file


def moto_client(url: str, service: str) -> Any:
    return boto3.client(
        service,
        endpoint_url=url,
        region_name="us-east-1",
        aws_access_key_id="AKID",
        aws_secret_access_key="secret",
    )


@contextlib.contextmanager
def on_moto(moto: str, folder: Path, credentials: Path, bucket: str) -> Iterator[World]:
    """A server whose files live in a bucket of moto's, and which has a table of items."""
    moto_client(moto, "s3").create_bucket(Bucket=bucket)
    flags = ("--s3-endpoint", moto, "--s3-credentials", str(credentials))
    with start("memory", folder, *flags) as world:
        dynamodb = world.client("dynamodb")
        dynamodb.create_table(TableName="games", **DEFINITION)
        dynamodb.update_continuous_backups(
            TableName="games", PointInTimeRecoverySpecification=RECOVERY
        )
        yield world


def wait_for_import(dynamodb: Any, arn: str) -> dict[str, Any]:
    return wait(
        lambda: dynamodb.describe_import(ImportArn=arn)["ImportTableDescription"], "ImportStatus"
    )


@pytest.mark.parametrize("form", ["DYNAMODB_JSON", "ION"])
def test_motos_buckets_keep_what_is_exported_and_imported(
    moto: str, credentials: Path, tmp_path: Path, form: str
) -> None:
    bucket = f"kept-{form.lower().replace('_', '-')}"
    with on_moto(moto, tmp_path, credentials, bucket) as world:
        dynamodb = world.client("dynamodb")
        put_all(dynamodb, "games", make_items(COUNT))
        described = export(dynamodb, TableArn=arn_of("games"), S3Bucket=bucket, ExportFormat=form)
        assert (described["ExportStatus"], described["ItemCount"]) == ("COMPLETED", COUNT)
        prefix = described["ExportManifest"].replace("manifest-summary.json", "data/")
        arn = dynamodb.import_table(
            S3BucketSource={"S3Bucket": bucket, "S3KeyPrefix": prefix},
            InputFormat=form,
            InputCompressionType="GZIP",
            TableCreationParameters={"TableName": "back", **DEFINITION},
        )["ImportTableDescription"]["ImportArn"]
        imported = wait_for_import(dynamodb, arn)
        assert imported["ImportStatus"] == "COMPLETED", imported
        assert contents(dynamodb, "back") == contents(dynamodb, "games")


def test_moto_imports_an_export(moto: str, credentials: Path, tmp_path: Path) -> None:
    with on_moto(moto, tmp_path, credentials, "for-moto") as world:
        dynamodb = world.client("dynamodb")
        items = [
            {name: value for name, value in item.items() if name != MOTO_LACKS}
            for item in make_items(COUNT)
        ]
        put_all(dynamodb, "games", items)
        described = export(dynamodb, TableArn=arn_of("games"), S3Bucket="for-moto")
        prefix = described["ExportManifest"].replace("manifest-summary.json", "data/")
        other = moto_client(moto, "dynamodb")
        arn = other.import_table(
            S3BucketSource={"S3Bucket": "for-moto", "S3KeyPrefix": prefix},
            InputFormat="DYNAMODB_JSON",
            InputCompressionType="GZIP",
            TableCreationParameters={"TableName": "games", **DEFINITION},
        )["ImportTableDescription"]["ImportArn"]
        imported = wait_for_import(other, arn)
        assert imported["ImportStatus"] == "COMPLETED", imported
        assert imported["ImportedItemCount"] == COUNT
        assert contents(other, "games") == contents(dynamodb, "games")


@in_loop
async def test_motos_objects_are_sent_in_parts(moto: str, credentials: Path) -> None:
    moto_client(moto, "s3").create_bucket(Bucket="parts")
    settings = RemoteSettings(moto, credentials=credentials)
    store = RemoteStore(lambda: make_client(settings))
    upload = await store.begin("parts", "large")
    content = b"0123456789abcdef" * (OBJECT_PART_BYTES // 16)
    await upload.write(content)
    await upload.write(b"end")
    entry = await upload.complete()
    assert entry.size == OBJECT_PART_BYTES + 3
    assert await get_object(store, "parts", "large") == content + b"end"
    with pytest.raises(NoSuchKeyError):
        await store.head("parts", "none")
    with pytest.raises(NoSuchBucketError):
        await store.bucket("there-is-none")
    store.close()


def duckdb(query: str) -> list[Any]:
    """Return the rows of a query as DuckDB answers it."""
    program = (
        "import duckdb, json, sys;"
        "print(json.dumps(duckdb.sql(sys.argv[1]).fetchall(), default=str))"
    )
    command = [str(JUDGES / "python"), "-c", program, query]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    rows: list[Any] = json.loads(done.stdout)
    return rows


def test_duckdb_reads_an_export_to_a_bucket(tmp_path: Path) -> None:
    with start("memory", tmp_path) as world:
        dynamodb = world.client("dynamodb")
        dynamodb.create_table(TableName="games", **DEFINITION)
        dynamodb.update_continuous_backups(
            TableName="games", PointInTimeRecoverySpecification=RECOVERY
        )
        put_all(dynamodb, "games", make_items(COUNT))
        bucket = world.bucket()
        described = export(dynamodb, TableArn=arn_of("games"), S3Bucket=bucket)
        folder = (world.buckets / bucket / described["ExportManifest"]).parent
        files = f"read_ndjson('{folder}/data/*.json.gz')"
        (row,) = duckdb(
            f"select count(*), sum(Item.b.N::bigint), min(Item.number.N::decimal(10, 2)), "
            f"bool_and(Item.yes.BOOL), min(Item.text.S) from {files}"
        )
        text = make_items(1)[0]["text"]["S"]
        assert row == [COUNT, sum(range(COUNT)), f"-{COUNT - 1}.25", True, text]
        (summary,) = duckdb(f"select itemCount from read_json('{folder}/manifest-summary.json')")
        assert summary == [COUNT]


def test_duckdb_reads_parquet(tmp_path: Path) -> None:
    with server.hashrange() as url:
        dynamodb = moto_client(url, "dynamodb")
        dynamodb.create_table(TableName="games", **DEFINITION)
        put_all(dynamodb, "games", make_items(COUNT))
        path = tmp_path / "games.parquet"
        command = [sys.executable, "-m", "hashrange", "export", "games", str(path)]
        subprocess.run([*command, "--form", "parquet", "--endpoint", url], check=True)
        (row,) = duckdb(
            "select count(*), sum(b), min(number), bool_and(yes), count(c), max(len(texts)), "
            f"max(numbers[2]), octet_length(max(bytes)) from '{path}'"
        )
        with_c = sum(number % 4 != 0 for number in range(COUNT))
        assert row == [COUNT, sum(range(COUNT)), f"-{COUNT - 1}.25", True, with_c, 2, "2.5", 3]
        types = dict(duckdb(f"select column_name, column_type from (describe from '{path}')"))
        assert types["number"] == "DECIMAL(38,2)"
        assert (types["b"], types["blobs"], types["list"]) == ("BIGINT", "BLOB[]", "VARCHAR")
