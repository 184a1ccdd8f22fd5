"""Tables from CreateTable parameters, DescribeTable answers and what is written like them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hashrange.toolkit.design.model import Design
from hashrange.toolkit.design.tables import (
    Capacity,
    Encryption,
    Index,
    IndexKind,
    KeyAttribute,
    Table,
)
from hashrange.toolkit.errors import DesignError

Document = Mapping[str, Any]


def design_from_documents(documents: Sequence[Document], *, name: str = "imported") -> Design:
    """Return the design of CreateTable documents: tables, without entities and patterns."""
    return Design(name, tuple(table_from_document(document) for document in documents))


def table_from_document(document: Document) -> Table:
    """Return the table of CreateTable parameters, or of the `Table` that DescribeTable answers."""
    types = {
        each["AttributeName"]: each["AttributeType"]
        for each in document.get("AttributeDefinitions", [])
    }
    partition, sort = _keys(document["KeySchema"], types)
    indexes = [
        *_indexes(document.get("GlobalSecondaryIndexes"), types, "global"),
        *_indexes(document.get("LocalSecondaryIndexes"), types, "local"),
    ]
    stream = document.get("StreamSpecification") or {}
    return Table(
        str(document["TableName"]),
        partition,
        sort,
        tuple(indexes),
        capacity=_capacity(document),
        stream=stream.get("StreamViewType") if stream.get("StreamEnabled", True) else None,
        encryption=_encryption(document),
        deletion_protection=bool(document.get("DeletionProtectionEnabled", False)),
        table_class=_table_class(document),
        tags={each["Key"]: each["Value"] for each in document.get("Tags", [])},
    )


def _keys(
    schema: Sequence[Document], types: Mapping[str, str]
) -> tuple[KeyAttribute, KeyAttribute | None]:
    by_kind: dict[str, list[KeyAttribute]] = {"HASH": [], "RANGE": []}
    for each in schema:
        name = each["AttributeName"]
        by_kind[each["KeyType"]].append(KeyAttribute(name, types.get(name, "S")))  # type: ignore[arg-type]  # as the service has it
    if len(by_kind["HASH"]) != 1 or len(by_kind["RANGE"]) > 1:
        raise DesignError("keys of several attributes cannot be imported")
    return by_kind["HASH"][0], next(iter(by_kind["RANGE"]), None)


def _indexes(
    documents: Sequence[Document] | None, types: Mapping[str, str], kind: IndexKind
) -> list[Index]:
    found = []
    for each in documents or ():
        partition, sort = _keys(each["KeySchema"], types)
        projection = each.get("Projection") or {}
        throughput = each.get("ProvisionedThroughput") or {}
        has_capacity = kind == "global" and throughput.get("ReadCapacityUnits")
        found.append(
            Index(
                each["IndexName"],
                partition,
                sort,
                kind,
                projection.get("ProjectionType", "ALL"),
                tuple(projection.get("NonKeyAttributes", ())),
                capacity=_provisioned(throughput) if has_capacity else None,
            )
        )
    return found


def _capacity(document: Document) -> Capacity:
    summary = document.get("BillingModeSummary") or {}
    mode = document.get("BillingMode") or summary.get("BillingMode") or "PROVISIONED"
    if mode == "PROVISIONED":
        return _provisioned(document.get("ProvisionedThroughput") or {})
    bounds = document.get("OnDemandThroughput") or {}
    return Capacity(
        read_units=max(0, int(bounds.get("MaxReadRequestUnits", 0))),
        write_units=max(0, int(bounds.get("MaxWriteRequestUnits", 0))),
    )


def _provisioned(throughput: Document) -> Capacity:
    return Capacity(
        "provisioned",
        int(throughput.get("ReadCapacityUnits", 0)),
        int(throughput.get("WriteCapacityUnits", 0)),
    )


def _encryption(document: Document) -> Encryption:
    described = document.get("SSEDescription") or {}
    specified = document.get("SSESpecification") or {}
    is_on = bool(specified.get("Enabled", specified.get("SSEEnabled")))
    if not is_on and described.get("Status") not in ("ENABLED", "ENABLING"):
        return "owned"
    has_key = bool(specified.get("KMSMasterKeyId"))
    return "customer" if has_key else "managed"


def _table_class(document: Document) -> Any:
    summary = document.get("TableClassSummary") or {}
    return document.get("TableClass") or summary.get("TableClass") or "STANDARD"
