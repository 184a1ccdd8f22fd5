"""Transfers: how fast a table is exported to and imported from a bucket, and what memory it takes.

    python -m bench.transfers [ITEMS [BYTES]]   100,000 items of about 1,000 bytes, on disk

The items hardly compress. The bucket is a folder of the server. A rate of another day cannot be
compared if the machine was busy; the processor time for each item can. At last GetItem is measured
beside exports and imports that follow each other.
"""

from __future__ import annotations

import random
import sys
import time
from typing import Any

from bench.jobs import (
    Json,
    latency_beside,
    load_orders,
    protect,
    read_latency,
    say,
    succeed,
    text,
    wait,
)
from bench.prepare import create_tables, load_items
from bench.servers import KINDS, Server, running
from bench.workloads import TABLE, table_definitions

_TABLE = "bench_transfers"
_BUCKET = "bench-bucket"
_ARN = f"arn:aws:dynamodb:us-east-1:000000000000:table/{_TABLE}"
_DEFINITION = {
    "BillingMode": "PAY_PER_REQUEST",
    "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "p", "AttributeType": "S"}],
}
_INDEX = {
    "IndexName": "by-q",
    "KeySchema": [{"AttributeName": "q", "KeyType": "HASH"}],
    "Projection": {"ProjectionType": "ALL"},
}


def main() -> None:
    items = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    size = int(sys.argv[2]) if len(sys.argv) > 2 else 1_000
    with running([KINDS[0]], on_disk=True) as (server,):
        assert server.directory is not None
        (server.directory / "buckets" / _BUCKET).mkdir(parents=True)
        create_tables(server, [{**_DEFINITION, "TableName": _TABLE}, table_definitions()[0]])
        load_orders(server, TABLE)
        rng = random.Random(1)
        load_items(server, ((_TABLE, _item(rng, number, size)) for number in range(items)))
        protect(server, _TABLE)
        before = server.memory_mb()
        prefix = ""
        for form in ("DYNAMODB_JSON", "ION"):
            manifest = _export(server, items, form)
            prefix = prefix or manifest.replace("manifest-summary.json", "data/")
        _import(server, items, prefix, "imported", {})
        types = [*_DEFINITION["AttributeDefinitions"], {"AttributeName": "q", "AttributeType": "S"}]
        indexed = {"AttributeDefinitions": types, "GlobalSecondaryIndexes": [_INDEX]}
        _import(server, items, prefix, "indexed", indexed)
        _compare_reads(server, items)
        sys.stdout.write(f"memory: {before:.0f} MB before, {server.memory_mb():.0f} MB after\n")


def _compare_reads(server: Server, items: int) -> None:
    """Measure GetItem alone, then beside exports and imports."""

    def transfer(number: int) -> None:
        manifest = _export(server, items, "DYNAMODB_JSON", is_told=False)
        prefix = manifest.replace("manifest-summary.json", "data/")
        _import(server, items, prefix, f"again_{number}", {}, is_told=False)
        succeed(server, "DeleteTable", TableName=f"again_{number}")

    quiet = read_latency(server, 2)
    busy = latency_beside(server, transfer)
    sys.stdout.write(
        f"p99 of GetItem {quiet:.2f} ms, {busy:.2f} ms beside export and import "
        f"({busy / quiet:.1f}x)\n"
    )


def _item(rng: random.Random, number: int, size: int) -> Json:
    body = text(rng)[: max(0, size - 20)]
    return {"p": {"S": f"{number:08}"}, "q": {"S": str(number % 997)}, "body": {"S": body}}


def _export(server: Server, items: int, form: str, *, is_told: bool = True) -> str:
    """Export the table; return the key of the manifest."""
    begin = (time.monotonic(), server.cpu_seconds())
    started = succeed(
        server,
        "ExportTableToPointInTime",
        TableArn=_ARN,
        S3Bucket=_BUCKET,
        ExportFormat=form,
    )["ExportDescription"]
    described = _ended(server, "Export", started["ExportArn"], "ExportDescription")
    if is_told:
        say(server, f"export as {form}", items, begin)
    if described["ItemCount"] != items:
        raise RuntimeError(f"the export has {described['ItemCount']} items, not {items}")
    manifest: str = described["ExportManifest"]
    return manifest


def _import(
    server: Server, items: int, prefix: str, table: str, more: Json, *, is_told: bool = True
) -> None:
    begin = (time.monotonic(), server.cpu_seconds())
    started = succeed(
        server,
        "ImportTable",
        S3BucketSource={"S3Bucket": _BUCKET, "S3KeyPrefix": prefix},
        InputFormat="DYNAMODB_JSON",
        InputCompressionType="GZIP",
        TableCreationParameters={**_DEFINITION, "TableName": table, **more},
    )["ImportTableDescription"]
    described = _ended(server, "Import", started["ImportArn"], "ImportTableDescription")
    if is_told:
        say(server, f"import as {table}", items, begin)
    if described["ImportedItemCount"] != items:
        raise RuntimeError(f"{described['ImportedItemCount']} items were imported, not {items}")


def _ended(server: Server, kind: str, arn: str, member: str) -> Json:
    """Wait until a job has ended; return its description."""

    def describe() -> Json:
        found: Json = succeed(server, f"Describe{kind}", **{f"{kind}Arn": arn})[member]
        return found

    wait(lambda: describe()[f"{kind}Status"] != "IN_PROGRESS", arn)
    described: dict[str, Any] = describe()
    if described[f"{kind}Status"] != "COMPLETED":
        raise RuntimeError(str(described))
    return described


if __name__ == "__main__":
    main()
