"""Exports as clients see them: files, manifests, descriptions and refusals."""

import base64
import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.transfers.conftest import World, make_items, put_all, wait

UNKNOWN = "arn:aws:dynamodb:us-east-1:000000000000:table/none"


def arn_of(table: str) -> str:
    return f"arn:aws:dynamodb:us-east-1:000000000000:table/{table}"


def export(dynamodb: Any, **request: Any) -> dict[str, Any]:
    arn = dynamodb.export_table_to_point_in_time(**request)["ExportDescription"]["ExportArn"]
    return wait(
        lambda: dynamodb.describe_export(ExportArn=arn)["ExportDescription"], "ExportStatus"
    )


def refusal(dynamodb: Any, **request: Any) -> str:
    with pytest.raises(ClientError) as caught:
        dynamodb.export_table_to_point_in_time(**request)
    error = caught.value.response["Error"]
    return f"{error['Code']}: {error['Message']}"


def lines_of(world: World, bucket: str, described: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the lines of all data files that the manifest names, after checking checksums."""
    root = world.buckets / bucket
    summary = checked(root / described["ExportManifest"])
    files = checked_lines(root / summary["manifestFilesS3Key"])
    lines: list[dict[str, Any]] = []
    for file in files:
        content = (root / file["dataFileS3Key"]).read_bytes()
        assert base64.b64encode(hashlib.md5(content).digest()).decode() == file["md5Checksum"]
        assert hashlib.md5(content).hexdigest() == file["etag"]
        found = gzip.decompress(content).splitlines()
        assert len(found) == file["itemCount"]
        lines += [json.loads(line) for line in found]
    assert len(lines) == summary["itemCount"] == described["ItemCount"]
    return lines


def checked_lines(path: Path) -> list[dict[str, Any]]:
    content = path.read_bytes()
    digest = base64.b64encode(hashlib.md5(content).digest())
    assert path.with_suffix(".checksum").read_bytes() == digest
    return [json.loads(line) for line in content.splitlines()]


def checked(path: Path) -> dict[str, Any]:
    (document,) = checked_lines(path)
    return document


def plain(item: dict[str, Any]) -> dict[str, Any]:
    """Return an item as DynamoDB JSON writes it, with sets in order."""

    def text(content: Any) -> Any:
        return base64.b64encode(content).decode() if isinstance(content, bytes) else content

    found: dict[str, Any] = {}
    for name, value in item.items():
        ((kind, content),) = value.items()
        found[name] = {kind: text(content)}
        if kind in ("SS", "NS", "BS"):
            found[name] = {kind: sorted(text(member) for member in content)}
    return found


def by_key(items: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {f"{item['a']['S']}/{item['b']['N']}": plain(item) for item in items}


def test_a_full_export_holds_every_item_and_its_manifests_tell_so(
    world: World, dynamodb: Any, table: str, bucket: str
) -> None:
    items = make_items(300)
    put_all(dynamodb, table, items)
    described = export(dynamodb, TableArn=arn_of(table), S3Bucket=bucket, S3Prefix="some/where")
    assert described["ExportStatus"] == "COMPLETED"
    export_id = described["ExportArn"].rpartition("/")[2]
    folder = f"some/where/AWSDynamoDB/{export_id}"
    assert described["ExportManifest"] == f"{folder}/manifest-summary.json"
    assert (world.buckets / bucket / folder / "_started").read_bytes() == b""
    lines = lines_of(world, bucket, described)
    assert by_key([line["Item"] for line in lines]) == by_key(items)
    summary = checked(world.buckets / bucket / described["ExportManifest"])
    table_description = dynamodb.describe_table(TableName=table)["Table"]
    assert summary["billedSizeBytes"] == described["BilledSizeBytes"]
    assert summary["billedSizeBytes"] == table_description["TableSizeBytes"]
    assert summary["tableId"] == table_description["TableId"]
    assert (summary["version"], summary["outputFormat"]) == ("2020-06-30", "DYNAMODB_JSON")


def test_an_export_does_not_see_what_was_written_after_its_time(
    world: World, dynamodb: Any, table: str, bucket: str
) -> None:
    put_all(dynamodb, table, make_items(20))
    answer = dynamodb.export_table_to_point_in_time(TableArn=arn_of(table), S3Bucket=bucket)
    arn = answer["ExportDescription"]["ExportArn"]
    at = answer["ExportDescription"]["ExportTime"]
    put_all(dynamodb, table, make_items(60))
    described = wait(
        lambda: dynamodb.describe_export(ExportArn=arn)["ExportDescription"], "ExportStatus"
    )
    assert described["ItemCount"] == 20
    again = export(dynamodb, TableArn=arn_of(table), S3Bucket=bucket, ExportTime=at)
    assert again["ItemCount"] == 20


def test_a_filter_keeps_some_items_and_some_attributes(
    world: World, dynamodb: Any, table: str, bucket: str
) -> None:
    put_all(dynamodb, table, make_items(40))
    described = export(
        dynamodb,
        TableArn=arn_of(table),
        S3Bucket=bucket,
        FilterSpecification={
            "FilterExpression": "#b < :ten",
            "ProjectionExpression": "a, #b",
            "ExpressionAttributeNames": {"#b": "b"},
            "ExpressionAttributeValues": {":ten": {"N": "10"}},
        },
    )
    lines = lines_of(world, bucket, described)
    assert sorted(int(line["Item"]["b"]["N"]) for line in lines) == list(range(10))
    assert all(line["Item"].keys() == {"a", "b"} for line in lines)


def test_the_same_token_starts_one_export(dynamodb: Any, table: str, bucket: str) -> None:
    request = {"TableArn": arn_of(table), "S3Bucket": bucket, "ClientToken": "once"}
    first = dynamodb.export_table_to_point_in_time(**request)["ExportDescription"]
    again = dynamodb.export_table_to_point_in_time(**request)["ExportDescription"]
    assert again["ExportArn"] == first["ExportArn"]
    assert refusal(dynamodb, **request | {"S3Prefix": "other"}) == (
        "ExportConflictException: Export conflict: Duplicate request detected with conflicting "
        "parameters"
    )


def test_exports_are_listed_the_newest_first(dynamodb: Any, table: str, bucket: str) -> None:
    arns = [
        export(dynamodb, TableArn=arn_of(table), S3Bucket=bucket)["ExportArn"] for _ in range(3)
    ]
    pages = dynamodb.list_exports(TableArn=arn_of(table), MaxResults=2)
    rest = dynamodb.list_exports(TableArn=arn_of(table), MaxResults=2, NextToken=pages["NextToken"])
    assert "NextToken" not in rest
    listed = pages["ExportSummaries"] + rest["ExportSummaries"]
    assert [summary["ExportArn"] for summary in listed] == arns[::-1]
    assert {summary["ExportType"] for summary in listed} == {"FULL_EXPORT"}


def test_an_export_to_no_bucket_fails_and_says_so(dynamodb: Any, table: str) -> None:
    described = export(dynamodb, TableArn=arn_of(table), S3Bucket="there-is-none")
    assert (described["ExportStatus"], described["FailureCode"]) == ("FAILED", "S3NoSuchBucket")
    assert "ExportManifest" not in described


def test_wrong_requests_are_refused(dynamodb: Any, table: str, bucket: str) -> None:
    request = {"TableArn": arn_of(table), "S3Bucket": bucket}
    assert refusal(dynamodb, **request | {"TableArn": UNKNOWN}) == (
        "TableNotFoundException: Table not found: none"
    )
    assert refusal(dynamodb, **request | {"TableArn": "none"}) == (
        "ValidationException: One or more parameter values were invalid: tableArn is not a valid "
        "ARN"
    )
    assert refusal(dynamodb, **request, ExportTime=1) == (
        "InvalidExportTimeException: Export Time is invalid"
    )
    assert refusal(dynamodb, **request, ExportType="INCREMENTAL_EXPORT") == (
        "ValidationException: Invalid Request: ExportFromTime must be provided in "
        "IncrementalExportSpecification"
    )
    dynamodb.update_continuous_backups(
        TableName=table, PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": False}
    )
    assert refusal(dynamodb, **request) == (
        "PointInTimeRecoveryUnavailableException: Point in time recovery is not enabled for table "
        f"'{table}'"
    )


def test_an_export_that_is_not_there_is_not_found(dynamodb: Any, table: str) -> None:
    with pytest.raises(dynamodb.exceptions.ExportNotFoundException):
        dynamodb.describe_export(ExportArn=f"{arn_of(table)}/export/01234567890123-a1b2c3d4")
    with pytest.raises(ClientError, match="Invalid Export ARN"):
        dynamodb.describe_export(ExportArn=f"{arn_of(table)}/nothing/01234567890123-a1b2c3d4")
