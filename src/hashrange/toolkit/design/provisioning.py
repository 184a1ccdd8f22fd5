"""From a design to the API: CreateTable documents and the settings that follow the creation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hashrange.toolkit.design.tables import Capacity, Index, KeyAttribute, Table


def create_table_document(table: Table, *, name: str = "") -> dict[str, Any]:
    """Return the parameters of CreateTable for a table, under another name if one is given."""
    document: dict[str, Any] = {
        "TableName": name or table.name,
        "AttributeDefinitions": [
            {"AttributeName": key.name, "AttributeType": key.type}
            for key in table.all_key_attributes
        ],
        "KeySchema": _key_schema(table.key_attributes),
        **_billing(table.capacity),
    }
    for kind, parameter in (
        ("global", "GlobalSecondaryIndexes"),
        ("local", "LocalSecondaryIndexes"),
    ):
        indexes = [_index(each, table.capacity) for each in table.indexes if each.kind == kind]
        if indexes:
            document[parameter] = indexes
    document.update(_settings(table))
    return document


def settings_calls(table: Table, *, name: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the calls, as boto3 method and parameters, that complete a table once it is active."""
    called = name or table.name
    if table.ttl:
        specification = {"Enabled": True, "AttributeName": table.ttl}
        yield (
            "update_time_to_live",
            {"TableName": called, "TimeToLiveSpecification": specification},
        )
    if table.point_in_time_recovery:
        enabled = {"PointInTimeRecoveryEnabled": True}
        yield (
            "update_continuous_backups",
            {"TableName": called, "PointInTimeRecoverySpecification": enabled},
        )


def _key_schema(keys: tuple[KeyAttribute, ...]) -> list[dict[str, str]]:
    kinds = ("HASH", "RANGE")
    return [
        {"AttributeName": key.name, "KeyType": kind} for key, kind in zip(keys, kinds, strict=False)
    ]


def _billing(capacity: Capacity) -> dict[str, Any]:
    if capacity.mode == "provisioned":
        return {"BillingMode": "PROVISIONED", "ProvisionedThroughput": _throughput(capacity)}
    document: dict[str, Any] = {"BillingMode": "PAY_PER_REQUEST"}
    bounds = {
        "MaxReadRequestUnits": capacity.read_units,
        "MaxWriteRequestUnits": capacity.write_units,
    }
    if any(bounds.values()):
        document["OnDemandThroughput"] = {name: value for name, value in bounds.items() if value}
    return document


def _throughput(capacity: Capacity) -> dict[str, int]:
    return {
        "ReadCapacityUnits": capacity.read_units,
        "WriteCapacityUnits": capacity.write_units,
    }


def _index(index: Index, of_table: Capacity) -> dict[str, Any]:
    projection: dict[str, Any] = {"ProjectionType": index.projection}
    if index.include:
        projection["NonKeyAttributes"] = list(index.include)
    document: dict[str, Any] = {
        "IndexName": index.name,
        "KeySchema": _key_schema(index.key_attributes),
        "Projection": projection,
    }
    if index.kind == "global" and of_table.mode == "provisioned":
        document["ProvisionedThroughput"] = _throughput(index.capacity or of_table)
    return document


def _settings(table: Table) -> dict[str, Any]:
    document: dict[str, Any] = {}
    if table.stream:
        document["StreamSpecification"] = {"StreamEnabled": True, "StreamViewType": table.stream}
    if table.encryption != "owned":
        document["SSESpecification"] = {"Enabled": True, "SSEType": "KMS"}
    if table.deletion_protection:
        document["DeletionProtectionEnabled"] = True
    if table.table_class != "STANDARD":
        document["TableClass"] = table.table_class
    if table.tags:
        document["Tags"] = [{"Key": key, "Value": value} for key, value in table.tags.items()]
    return document
