"""Tables from CloudFormation templates: JSON, or YAML that was read into a mapping.

Names that a template computes (`Ref`, `Fn::Sub`) are not known; the logical id stands for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from hashrange.toolkit.design.model import Design
from hashrange.toolkit.design.tables import AutoScaling, Table
from hashrange.toolkit.importers.table_documents import table_from_document


def design_from_cloudformation(template: Mapping[str, Any], *, name: str = "imported") -> Design:
    """Return the design of all tables in a template."""
    return Design(name, tuple(_tables(template.get("Resources", {}))))


def _tables(resources: Mapping[str, Any]) -> Iterator[Table]:
    for logical_id, resource in resources.items():
        kind = resource.get("Type")
        if kind in ("AWS::DynamoDB::Table", "AWS::DynamoDB::GlobalTable"):
            table = _table(logical_id, resource.get("Properties", {}))
            yield _scaled(table, logical_id, resources)
        elif kind == "AWS::Serverless::SimpleTable":
            yield _simple_table(logical_id, resource.get("Properties", {}))


def _table(logical_id: str, properties: Mapping[str, Any]) -> Table:
    name = properties.get("TableName")
    document = {**properties, "TableName": name if isinstance(name, str) else logical_id}
    if "StreamSpecification" in document:
        document["StreamSpecification"] = {"StreamEnabled": True, **document["StreamSpecification"]}
    table = table_from_document(document)
    expiry = properties.get("TimeToLiveSpecification") or {}
    replicas = properties.get("Replicas") or [{}]
    recovery = (
        properties.get("PointInTimeRecoverySpecification")
        or replicas[0].get("PointInTimeRecoverySpecification")
        or {}
    )
    return replace(
        table,
        ttl=str(expiry.get("AttributeName", "")) if _is_true(expiry.get("Enabled")) else "",
        point_in_time_recovery=_is_true(recovery.get("PointInTimeRecoveryEnabled")),
        tags={key: value for key, value in table.tags.items() if isinstance(value, str)},
    )


def _simple_table(logical_id: str, properties: Mapping[str, Any]) -> Table:
    key = properties.get("PrimaryKey") or {"Name": "id", "Type": "String"}
    name = properties.get("TableName")
    kinds = {"String": "S", "Number": "N", "Binary": "B"}
    document = {
        "TableName": name if isinstance(name, str) else logical_id,
        "KeySchema": [{"AttributeName": key["Name"], "KeyType": "HASH"}],
        "AttributeDefinitions": [
            {"AttributeName": key["Name"], "AttributeType": kinds[key["Type"]]}
        ],
        "BillingMode": "PAY_PER_REQUEST",
    }
    return table_from_document(document)


def _scaled(table: Table, logical_id: str, resources: Mapping[str, Any]) -> Table:
    """Return a table with its automatic scaling, if a scalable target of it is in the template."""
    if table.capacity.mode != "provisioned":
        return table
    for resource in resources.values():
        properties = resource.get("Properties", {})
        if resource.get("Type") != "AWS::ApplicationAutoScaling::ScalableTarget":
            continue
        text = repr(properties.get("ResourceId"))
        if (
            f"table/{table.name}'" in text
            or repr(logical_id) in text
            or f"{{{logical_id}}}" in text
        ):
            bounds = AutoScaling(int(properties["MinCapacity"]), int(properties["MaxCapacity"]))
            return replace(table, capacity=replace(table.capacity, auto_scaling=bounds))
    return table


def _is_true(value: Any) -> bool:
    return value is True or value == "true"
