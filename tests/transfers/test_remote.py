"""Exports and imports through boto3 to an S3 service: here, the front of another server."""

from pathlib import Path
from typing import Any

import pytest

from hashrange.limits import OBJECT_PART_BYTES
from hashrange.objects.base import NoSuchBucketError, NoSuchKeyError, get_object
from hashrange.objects.remote import RemoteSettings, RemoteStore, make_client
from tests.harness.loops import in_loop
from tests.transfers.conftest import DEFINITION, World, make_items, put_all, start, wait
from tests.transfers.test_exports import arn_of, export


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with start("memory", tmp_path_factory.mktemp("remote")) as started:
        yield started


@pytest.fixture
def credentials(tmp_path: Path) -> Path:
    file = tmp_path / "credentials"
    file.write_text("[default]\naws_access_key_id = AKID\naws_secret_access_key = secret\n")
    return file


def test_files_live_in_the_service_that_settings_name(
    world: World, credentials: Path, tmp_path: Path
) -> None:
    world.client("s3").create_bucket(Bucket="elsewhere")
    flags = ("--s3-endpoint", world.url, "--s3-credentials", str(credentials))
    with start("memory", tmp_path, *flags) as other:
        dynamodb = other.client("dynamodb")
        dynamodb.create_table(TableName="games", **DEFINITION)
        dynamodb.update_continuous_backups(
            TableName="games",
            PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True},
        )
        put_all(dynamodb, "games", make_items(50))
        described = export(dynamodb, TableArn=arn_of("games"), S3Bucket="elsewhere")
        assert (world.buckets / "elsewhere" / described["ExportManifest"]).is_file()
        prefix = described["ExportManifest"].replace("manifest-summary.json", "data/")
        arn = dynamodb.import_table(
            S3BucketSource={"S3Bucket": "elsewhere", "S3KeyPrefix": prefix},
            InputFormat="DYNAMODB_JSON",
            InputCompressionType="GZIP",
            TableCreationParameters={"TableName": "back", **DEFINITION},
        )["ImportTableDescription"]["ImportArn"]
        imported = wait(
            lambda: dynamodb.describe_import(ImportArn=arn)["ImportTableDescription"],
            "ImportStatus",
        )
        assert (imported["ImportStatus"], imported["ImportedItemCount"]) == ("COMPLETED", 50)


@in_loop
async def test_large_objects_go_in_parts(world: World, credentials: Path) -> None:
    world.client("s3").create_bucket(Bucket="parts")
    settings = RemoteSettings(world.url, credentials=credentials)
    store = RemoteStore(lambda: make_client(settings))
    upload = await store.begin("parts", "large")
    content = b"0123456789abcdef" * (OBJECT_PART_BYTES // 16)
    for _ in range(2):
        await upload.write(content)
    await upload.write(b"end")
    entry = await upload.complete()
    assert (entry.size, entry.etag[-2:]) == (2 * OBJECT_PART_BYTES + 3, "-3")
    assert await get_object(store, "parts", "large") == content * 2 + b"end"
    assert [found.key for found in (await store.page("parts", "")).objects] == ["large"]
    with pytest.raises(NoSuchKeyError):
        await store.head("parts", "none")
    with pytest.raises(NoSuchBucketError):
        await store.bucket("there-is-none")
    store.close()
