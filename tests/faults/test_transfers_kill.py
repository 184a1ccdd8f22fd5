"""Exports, imports and bulk puts go on after kill -9, with nothing lost, doubled or half visible.

HASHRANGE_TRANSFER_KILLS sets how often each kind is killed; by default a few times.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.faults.served import Connection, Served, check_file, eventually

KILLS = int(os.environ.get("HASHRANGE_TRANSFER_KILLS", "1"))
ITEMS = min(6_000 * KILLS, 200_000)
OVER = ("COMPLETED", "COMPLETED_WITH_ERRORS", "FAILED", "CANCELLED")
DEFINITION: dict[str, Any] = {
    "AttributeDefinitions": [
        {"AttributeName": "k", "AttributeType": "S"},
        {"AttributeName": "g", "AttributeType": "S"},
    ],
    "KeySchema": [{"AttributeName": "k", "KeyType": "HASH"}],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "by-g",
            "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        }
    ],
    "BillingMode": "PAY_PER_REQUEST",
}


class Site:
    """A server, the folder of its buckets, and a way to kill it until a job is over."""

    def __init__(self, folder: Path) -> None:
        self.bucket = folder / "data" / "buckets" / "bucket"
        self.folder = folder / "data"
        self.served = Served(self.folder, "--workers", "2")
        self.served.start()
        self.bucket.mkdir(parents=True)

    def call(self, operation: str, **request: Any) -> Any:
        connection = Connection(self.served.port)
        try:
            return connection.result(operation, **request)
        finally:
            connection.close()

    def finish(self, describe: str, member: str, arn: str, chance: random.Random) -> Any:
        """Kill the server some times while a job runs; return its description at the end."""
        kind = member.removesuffix("Arn")

        def described() -> Any:
            answer = self.call(describe, **{member: arn})
            return next(iter(answer.values()))

        for _ in range(KILLS):
            time.sleep(chance.random() * 0.4)  # a moment to be killed at, not something to await
            self.served.kill()
            self.served.start()
        eventually(lambda: described()[f"{kind}Status"] in OVER, f"the {kind} is over")
        return described()

    def write_input(self, count: int) -> None:
        content = b"".join(
            json.dumps({"Item": item(number)}).encode() + b"\n" for number in range(count)
        )
        half = content.index(b"\n", len(content) // 2) + 1
        (self.bucket / "in").mkdir()
        for name, part in (("1.gz", content[:half]), ("2.gz", content[half:])):
            (self.bucket / "in" / name).write_bytes(gzip.compress(part, 1))


def item(number: int) -> dict[str, Any]:
    return {
        "k": {"S": f"k{number}"},
        "g": {"S": f"g{number % 100}"},
        "text": {"S": "x" * 200},
    }


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    made = Site(tmp_path)
    yield made
    made.served.close()


def check(site: Site, table: str, count: int) -> None:
    """Check that a table holds all items, once, in all its stores."""
    description = site.call("DescribeTable", TableName=table)["Table"]
    assert description["TableStatus"] == "ACTIVE"
    assert description["ItemCount"] == count
    assert description["GlobalSecondaryIndexes"][0]["ItemCount"] == count
    assert site.call("Query", TableName=table, IndexName="by-g", **BY_G)["Count"] == count // 100


BY_G = {
    "KeyConditionExpression": "g = :g",
    "ExpressionAttributeValues": {":g": {"S": "g7"}},
}


def test_transfers_go_on_after_kills(site: Site) -> None:
    chance = random.Random(5)
    site.write_input(ITEMS)
    source = {"S3Bucket": "bucket", "S3KeyPrefix": "in/"}
    arn = site.call(
        "ImportTable",
        S3BucketSource=source,
        InputFormat="DYNAMODB_JSON",
        InputCompressionType="GZIP",
        TableCreationParameters={"TableName": "imported", **DEFINITION},
    )["ImportTableDescription"]["ImportArn"]
    imported = site.finish("DescribeImport", "ImportArn", arn, chance)
    assert imported["ImportStatus"] == "COMPLETED", imported
    assert (imported["ProcessedItemCount"], imported["ImportedItemCount"]) == (ITEMS, ITEMS)
    check(site, "imported", ITEMS)

    site.call("CreateTable", TableName="put", **DEFINITION)
    arn = site.call(
        "StartBulkPutItems",
        TableName="put",
        InputS3Configuration={
            **source,
            "InputFormat": "DYNAMODB_JSON",
            "InputCompressionType": "GZIP",
        },
        OutputS3Configuration={"OutputType": []},
    )["BulkOperationDescription"]["BulkOperationArn"]
    put = site.finish("DescribeBulkOperation", "BulkOperationArn", arn, chance)
    assert put["BulkOperationStatus"] == "COMPLETED", put
    assert put["ProcessedItemCount"] == ITEMS
    check(site, "put", ITEMS)

    site.call(
        "UpdateContinuousBackups",
        TableName="imported",
        PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True},
    )
    table_arn = site.call("DescribeTable", TableName="imported")["Table"]["TableArn"]
    arn = site.call("ExportTableToPointInTime", TableArn=table_arn, S3Bucket="bucket")[
        "ExportDescription"
    ]["ExportArn"]
    exported = site.finish("DescribeExport", "ExportArn", arn, chance)
    assert exported["ExportStatus"] == "COMPLETED", exported
    root = site.bucket
    summary = json.loads((root / exported["ExportManifest"]).read_bytes())
    keys = [
        json.loads(line)["Item"]["k"]["S"]
        for file in (root / summary["manifestFilesS3Key"]).read_bytes().splitlines()
        for line in gzip.decompress(
            (root / json.loads(file)["dataFileS3Key"]).read_bytes()
        ).splitlines()
    ]
    assert len(keys) == len(set(keys)) == ITEMS
    site.served.stop()
    check_file(site.folder)
