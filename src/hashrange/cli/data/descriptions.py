"""The description of a table as rows of settings and indexes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hashrange.cli.data.views import size_text


def facts_of(table: dict[str, Any], expiry: dict[str, Any]) -> list[list[str]]:
    """Return settings of a table with their values, for people."""
    types = {part["AttributeName"]: part["AttributeType"] for part in table["AttributeDefinitions"]}
    rows = [
        ["name", table["TableName"]],
        ["status", table["TableStatus"]],
        ["key", ", ".join(f"{name} ({types[name]})" for name in _names(table["KeySchema"]))],
        ["items", f"{table.get('ItemCount', 0):,}"],
        ["size", size_text(table.get("TableSizeBytes", 0))],
        ["billing", _billing(table)],
        ["stream", _stream(table)],
        ["time to live", expiry.get("AttributeName") or "off"],
        ["deletion protection", "on" if table.get("DeletionProtectionEnabled") else "off"],
    ]
    if "SSEDescription" in table:
        rows.append(["encryption", str(table["SSEDescription"].get("SSEType", "on"))])
    created = table.get("CreationDateTime")
    if created is not None:
        rows.append(["created", f"{created:%Y-%m-%d %H:%M:%S %Z}".strip()])
    rows.append(["ARN", table["TableArn"]])
    return rows


def index_rows(table: dict[str, Any]) -> list[list[str]]:
    """Return the indexes of a table: name, kind, key, projection, status, items."""
    rows = []
    for kind, word in (("GlobalSecondaryIndexes", "global"), ("LocalSecondaryIndexes", "local")):
        for index in table.get(kind, ()):
            projection = index["Projection"]["ProjectionType"]
            included = index["Projection"].get("NonKeyAttributes")
            if included:
                projection += f" {', '.join(included)}"
            rows.append(
                [
                    index["IndexName"],
                    word,
                    ", ".join(_names(index["KeySchema"])),
                    projection,
                    index.get("IndexStatus", "ACTIVE"),
                    f"{index.get('ItemCount', 0):,}",
                ]
            )
    return rows


def _names(schema: Iterable[dict[str, str]]) -> list[str]:
    return [part["AttributeName"] for part in schema]


def _billing(table: dict[str, Any]) -> str:
    if table.get("BillingModeSummary", {}).get("BillingMode") == "PAY_PER_REQUEST":
        return "on demand"
    throughput = table.get("ProvisionedThroughput", {})
    reads, writes = throughput.get("ReadCapacityUnits", 0), throughput.get("WriteCapacityUnits", 0)
    return f"provisioned: {reads} read and {writes} write units a second"


def _stream(table: dict[str, Any]) -> str:
    stream = table.get("StreamSpecification", {})
    return str(stream["StreamViewType"]) if stream.get("StreamEnabled") else "off"
