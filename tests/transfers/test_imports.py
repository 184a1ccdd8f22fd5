"""Imports and bulk puts as clients see them."""

import gzip
import json
from typing import Any

import pytest
import zstandard
from botocore.exceptions import ClientError

from tests.transfers.conftest import (
    DEFINITION,
    World,
    comparable,
    contents,
    make_items,
    put_all,
    wait,
)
from tests.transfers.test_exports import arn_of, export


def import_table(dynamodb: Any, name: str, bucket: str, **request: Any) -> dict[str, Any]:
    source = {"S3Bucket": bucket, "S3KeyPrefix": request.pop("prefix", "")}
    answer = dynamodb.import_table(
        **{"InputFormat": "DYNAMODB_JSON"} | request,
        S3BucketSource=source,
        TableCreationParameters={"TableName": name, **DEFINITION},
    )
    arn = answer["ImportTableDescription"]["ImportArn"]
    return wait(
        lambda: dynamodb.describe_import(ImportArn=arn)["ImportTableDescription"], "ImportStatus"
    )


def write(world: World, bucket: str, key: str, content: bytes | str) -> None:
    path = world.buckets / bucket / key
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)


def lines(*items: dict[str, Any]) -> str:
    return "".join(json.dumps({"Item": item}) + "\n" for item in items)


def item(number: int, **attributes: Any) -> dict[str, Any]:
    return {"a": {"S": "p"}, "b": {"N": str(number)}, **attributes}


def test_an_export_comes_back_as_the_same_table(
    world: World, dynamodb: Any, table: str, bucket: str
) -> None:
    put_all(dynamodb, table, make_items(300))
    folder = export(dynamodb, TableArn=arn_of(table), S3Bucket=bucket)["ExportManifest"]
    prefix = folder.replace("manifest-summary.json", "data/")
    described = import_table(
        dynamodb, f"{table}-back", bucket, prefix=prefix, InputCompressionType="GZIP"
    )
    assert described["ImportStatus"] == "COMPLETED", described
    assert (described["ImportedItemCount"], described["ErrorCount"]) == (300, 0)
    assert contents(dynamodb, f"{table}-back") == contents(dynamodb, table)
    description = dynamodb.describe_table(TableName=f"{table}-back")["Table"]
    assert (description["TableStatus"], description["ItemCount"]) == ("ACTIVE", 300)
    indexed = dynamodb.query(
        TableName=f"{table}-back",
        IndexName="by-c",
        KeyConditionExpression="c = :c",
        ExpressionAttributeValues={":c": {"S": "c1"}},
    )
    assert indexed["Count"] == sum(found.get("c") == {"S": "c1"} for found in make_items(300))


def test_good_rows_of_a_bad_import_are_there(
    world: World, dynamodb: Any, bucket: str, table: str
) -> None:
    write(world, bucket, "in/1.json", lines(item(1), {"a": {"S": "no sort key"}}, item(2)))
    write(world, bucket, "in/2.json", "not json\n" + lines(item(3), item(3, x={"S": "last"})))
    write(world, bucket, "other.json", "not read")
    described = import_table(dynamodb, f"{table}-bad", bucket, prefix="in/")
    assert described["ImportStatus"] == "FAILED"
    assert described["FailureCode"] == "ItemValidationError"
    counts = [described[f"{name}Count"] for name in ("ProcessedItem", "ImportedItem", "Error")]
    assert counts == [6, 4, 2]
    assert contents(dynamodb, f"{table}-bad") == {
        ("p", "1"): item(1),
        ("p", "2"): item(2),
        ("p", "3"): item(3, x={"S": "last"}),
    }


def test_csv_cells_have_the_types_of_keys(
    world: World, dynamodb: Any, bucket: str, table: str
) -> None:
    write(world, bucket, "a.csv", 'a,b,c,note\r\np,1,one,"say ""hi"",\nyou"\r\nq,2,,plain\r\n')
    described = import_table(dynamodb, f"{table}-csv", bucket, InputFormat="CSV")
    assert described["ImportStatus"] == "COMPLETED", described
    assert contents(dynamodb, f"{table}-csv") == {
        ("p", "1"): item(1, c={"S": "one"}, note={"S": 'say "hi",\nyou'}),
        ("q", "2"): {"a": {"S": "q"}, "b": {"N": "2"}, "note": {"S": "plain"}},
    }


def test_csv_options_name_delimiter_and_columns(
    world: World, dynamodb: Any, bucket: str, table: str
) -> None:
    write(world, bucket, "a.csv.gz", gzip.compress(b"p|1|x\n") + gzip.compress(b"p|2|y\np|3\n"))
    described = import_table(
        dynamodb,
        f"{table}-options",
        bucket,
        InputFormat="CSV",
        InputCompressionType="GZIP",
        InputFormatOptions={"Csv": {"Delimiter": "|", "HeaderList": ["a", "b", "z"]}},
    )
    assert (described["ImportedItemCount"], described["ErrorCount"]) == (2, 1)
    assert contents(dynamodb, f"{table}-options")["p", "2"] == item(2, z={"S": "y"})


def test_a_failed_import_leaves_no_table(dynamodb: Any, bucket: str, table: str) -> None:
    described = import_table(dynamodb, f"{table}-none", "there-is-none")
    assert (described["ImportStatus"], described["FailureCode"]) == ("FAILED", "S3NoSuchBucket")
    with pytest.raises(dynamodb.exceptions.ResourceNotFoundException):
        dynamodb.describe_table(TableName=f"{table}-none")


def test_imports_of_existing_tables_are_refused(dynamodb: Any, bucket: str, table: str) -> None:
    with pytest.raises(ClientError, match=f"Table already exists: {table}"):
        import_table(dynamodb, table, bucket)


def test_imports_are_listed_page_by_page(
    world: World, dynamodb: Any, bucket: str, table: str
) -> None:
    write(world, bucket, "1.json", lines(item(1)))
    arns = [
        import_table(dynamodb, f"{table}-list{number}", bucket)["ImportArn"] for number in range(2)
    ]
    first = dynamodb.list_imports(PageSize=1)
    second = dynamodb.list_imports(PageSize=1, NextToken=first["NextToken"])
    listed = first["ImportSummaryList"] + second["ImportSummaryList"]
    assert [summary["ImportArn"] for summary in listed] == arns[::-1]


def bulk_put(dynamodb: Any, table: str, bucket: str, **request: Any) -> dict[str, Any]:
    answer = dynamodb.start_bulk_put_items(
        TableName=table,
        InputS3Configuration={
            "S3Bucket": bucket,
            "S3KeyPrefix": "in/",
            "InputFormat": "DYNAMODB_JSON",
        },
        OutputS3Configuration={
            "S3Bucket": bucket,
            "S3KeyPrefix": "out",
            "OutputType": ["ERROR", "CONDITION_CHECK_FAILURE"],
        },
        **request,
    )
    arn = answer["BulkOperationDescription"]["BulkOperationArn"]
    return wait(
        lambda: dynamodb.describe_bulk_operation(BulkOperationArn=arn)["BulkOperationDescription"],
        "BulkOperationStatus",
    )


def test_a_bulk_put_obeys_conditions_and_reports_what_it_did_not_put(
    world: World, dynamodb: Any, table: str, bucket: str
) -> None:
    put_all(dynamodb, table, [item(1, old={"BOOL": True})])
    condition = {"ConditionExpression": "attribute_not_exists(a)"}
    records = [
        {"Item": item(1), **condition},
        {"Item": item(2), **condition},
        {"Item": {"a": {"S": "no sort key"}}},
        {"Item": item(3, n={"N": "1"})},
        {"Item": item(3, n={"N": "2"})},
    ]
    write(world, bucket, "in/x", "".join(json.dumps(record) + "\n" for record in records))
    described = bulk_put(dynamodb, table, bucket)
    assert described["BulkOperationStatus"] == "COMPLETED_WITH_ERRORS"
    assert (described["ProcessedItemCount"], described["FailedItemCount"]) == (5, 1)
    assert described["ProcessedInputBytes"] == described["TotalInputBytes"] > 0
    assert contents(dynamodb, table) == {
        ("p", "1"): item(1, old={"BOOL": True}),
        ("p", "2"): item(2),
        ("p", "3"): item(3, n={"N": "2"}),
    }
    id = described["BulkOperationArn"].rpartition("/")[2]
    reports = {
        path.parent.name: [json.loads(line) for line in path.read_bytes().splitlines()]
        for path in (world.buckets / bucket / "out" / "AWSDynamoDB" / id).rglob("*.json")
    }
    assert [line["itemS3Pointer"]["itemIndex"] for line in reports["error"]] == [2]
    (failure,) = reports["condition-check-failure"]
    assert comparable(failure["Item"]) == item(1)


def test_a_bulk_put_can_be_cancelled(world: World, dynamodb: Any, table: str, bucket: str) -> None:
    write(world, bucket, "in/x", lines(*[item(number) for number in range(6000)]))
    answer = dynamodb.start_bulk_put_items(
        TableName=table,
        InputS3Configuration={"S3Bucket": bucket, "InputFormat": "DYNAMODB_JSON"},
        OutputS3Configuration={"OutputType": []},
        MaxWriteRequestUnits=1024,
    )
    arn = answer["BulkOperationDescription"]["BulkOperationArn"]
    cancelled = dynamodb.cancel_bulk_operation(BulkOperationArn=arn)
    assert cancelled["BulkOperationStatus"] == "CANCELLING"
    described = wait(
        lambda: dynamodb.describe_bulk_operation(BulkOperationArn=arn)["BulkOperationDescription"],
        "BulkOperationStatus",
    )
    assert described["BulkOperationStatus"] == "CANCELLED"
    listed = dynamodb.list_bulk_operations(MaxResults=1)["BulkOperationsSummaryList"]
    assert [summary["BulkOperationArn"] for summary in listed] == [arn]


def test_an_ion_export_comes_back_as_the_same_table(
    world: World, dynamodb: Any, table: str, bucket: str
) -> None:
    put_all(dynamodb, table, make_items(30))
    described = export(dynamodb, TableArn=arn_of(table), S3Bucket=bucket, ExportFormat="ION")
    prefix = described["ExportManifest"].replace("manifest-summary.json", "data/")
    described = import_table(
        dynamodb,
        f"{table}-ion",
        bucket,
        prefix=prefix,
        InputFormat="ION",
        InputCompressionType="GZIP",
    )
    assert described["ImportStatus"] == "COMPLETED", described
    assert contents(dynamodb, f"{table}-ion") == contents(dynamodb, table)


def test_zstandard_input_is_read(world: World, dynamodb: Any, table: str, bucket: str) -> None:
    compress = zstandard.ZstdCompressor().compress
    write(world, bucket, "1.zst", compress(lines(item(1)).encode()) + compress(b""))
    write(world, bucket, "2.zst", compress(lines(item(2)).encode()))
    write(world, bucket, "3.zst", compress(lines(item(3)).encode())[:-3])
    described = import_table(dynamodb, f"{table}-zstd", bucket, InputCompressionType="ZSTD")
    assert (described["ImportedItemCount"], described["ErrorCount"]) == (2, 1)
    assert contents(dynamodb, f"{table}-zstd").keys() == {("p", "1"), ("p", "2")}
