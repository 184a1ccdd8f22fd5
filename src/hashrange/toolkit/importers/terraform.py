"""Tables from Terraform: `terraform show -json` of a state or a plan, or configuration in JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from hashrange.toolkit.design.model import Design
from hashrange.toolkit.design.tables import Table
from hashrange.toolkit.importers.table_documents import table_from_document

_TYPE = "aws_dynamodb_table"


def design_from_terraform(document: Mapping[str, Any], *, name: str = "imported") -> Design:
    """Return the design of all tables in a state, a plan or a configuration."""
    return Design(name, tuple(_table(values) for values in _values(document)))


def _values(document: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for part in ("planned_values", "values"):
        if part in document:
            yield from _of_module(document[part].get("root_module", {}))
            return
    resources = document.get("resource", {})
    for group in resources if isinstance(resources, list) else [resources]:
        for label, body in group.get(_TYPE, {}).items():
            for values in body if isinstance(body, list) else [body]:
                yield {"name": label, **values}


def _of_module(module: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for resource in module.get("resources", []):
        if resource.get("type") == _TYPE and resource.get("mode", "managed") == "managed":
            yield resource["values"]
    for child in module.get("child_modules", []):
        yield from _of_module(child)


def _table(values: Mapping[str, Any]) -> Table:
    document: dict[str, Any] = {
        "TableName": values["name"],
        "AttributeDefinitions": [
            {"AttributeName": each["name"], "AttributeType": each["type"]}
            for each in _blocks(values, "attribute")
        ],
        "KeySchema": _schema(values),
        "BillingMode": values.get("billing_mode") or "PROVISIONED",
        "ProvisionedThroughput": _throughput(values),
        "GlobalSecondaryIndexes": [
            _index(each, values) for each in _blocks(values, "global_secondary_index")
        ],
        "LocalSecondaryIndexes": [
            _index(each, values) for each in _blocks(values, "local_secondary_index")
        ],
        "DeletionProtectionEnabled": values.get("deletion_protection_enabled") or False,
        "TableClass": values.get("table_class") or "STANDARD",
        "Tags": [{"Key": key, "Value": text} for key, text in (values.get("tags") or {}).items()],
    }
    if values.get("stream_enabled"):
        view = values.get("stream_view_type")
        document["StreamSpecification"] = {"StreamEnabled": True, "StreamViewType": view}
    for each in _blocks(values, "server_side_encryption"):
        document["SSESpecification"] = {
            "Enabled": each.get("enabled"),
            "KMSMasterKeyId": each.get("kms_key_arn"),
        }
    expiry = next(iter(_blocks(values, "ttl")), {})
    recovery = next(iter(_blocks(values, "point_in_time_recovery")), {})
    return replace(
        table_from_document(document),
        ttl=str(expiry.get("attribute_name", "")) if expiry.get("enabled", bool(expiry)) else "",
        point_in_time_recovery=bool(recovery.get("enabled")),
    )


def _blocks(values: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    """Return nested blocks, of which there may be none, one or a list."""
    found = values.get(name)
    if not found:
        return []
    return list(found) if isinstance(found, list) else [found]


def _schema(values: Mapping[str, Any], hash_key: str = "") -> list[dict[str, str]]:
    schema = [{"AttributeName": hash_key or str(values["hash_key"]), "KeyType": "HASH"}]
    if values.get("range_key"):
        schema.append({"AttributeName": str(values["range_key"]), "KeyType": "RANGE"})
    return schema


def _throughput(values: Mapping[str, Any]) -> dict[str, int]:
    return {
        "ReadCapacityUnits": int(values.get("read_capacity") or 0),
        "WriteCapacityUnits": int(values.get("write_capacity") or 0),
    }


def _index(values: Mapping[str, Any], table: Mapping[str, Any]) -> dict[str, Any]:
    hash_key = str(values.get("hash_key") or table["hash_key"])
    return {
        "IndexName": values["name"],
        "KeySchema": _schema(values, hash_key),
        "Projection": {
            "ProjectionType": values.get("projection_type") or "ALL",
            "NonKeyAttributes": values.get("non_key_attributes") or (),
        },
        "ProvisionedThroughput": _throughput(values),
    }
