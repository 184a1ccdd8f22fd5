"""Designs from model files of NoSQL Workbench: tables, facets as entities, sample data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hashrange.toolkit.design.entities import Attribute, Entity
from hashrange.toolkit.design.model import Design
from hashrange.toolkit.design.tables import Capacity, Index, KeyAttribute, Table
from hashrange.toolkit.errors import DesignError
from hashrange.toolkit.importers.inference import infer_entities
from hashrange.toolkit.values import Item

Document = Mapping[str, Any]


def design_from_workbench(model: Document) -> Design:
    """Return the design of a model file. Facets become entities; without any, sample items do."""
    if "DataModel" not in model:
        raise DesignError("this is no model file of NoSQL Workbench: it has no DataModel")
    tables: list[Table] = []
    entities: list[Entity[Any]] = []
    for document in model["DataModel"]:
        table = _table(document)
        items: list[Item] = document.get("TableData") or []
        found = [_facet(facet, document, table) for facet in document.get("TableFacets") or []]
        if items and not found:
            inferred = infer_entities(table, items, len(items))
            found = list(inferred.entities)
            table = replace(table, entity_attribute=inferred.entity_attribute)
        tables.append(table)
        entities += found
    metadata = model.get("ModelMetadata") or {}
    return Design(
        str(model.get("ModelName", "imported")),
        tuple(tables),
        tuple(entities),
        description=str(metadata.get("Description", "")),
    )


def _table(document: Document) -> Table:
    partition, sort = _keys(document["KeyAttributes"])
    capacity = Capacity()
    if document.get("BillingMode") == "PROVISIONED":
        units = document.get("ProvisionedCapacitySettings", {}).get("ProvisionedThroughput", {})
        capacity = Capacity(
            "provisioned",
            int(units.get("ReadCapacityUnits", 0)),
            int(units.get("WriteCapacityUnits", 0)),
        )
    indexes = [_index(each) for each in document.get("GlobalSecondaryIndexes") or []]
    return Table(
        document["TableName"],
        partition,
        sort,
        tuple(indexes),
        capacity=capacity,
        entity_attribute="",
    )


def _keys(attributes: Document) -> tuple[KeyAttribute, KeyAttribute | None]:
    def key(document: Document) -> KeyAttribute:
        return KeyAttribute(document["AttributeName"], document.get("AttributeType", "S"))

    sort = attributes.get("SortKey")
    return key(attributes["PartitionKey"]), key(sort) if sort else None


def _index(document: Document) -> Index:
    partition, sort = _keys(document["KeyAttributes"])
    projection = document.get("Projection") or {}
    return Index(
        document["IndexName"],
        partition,
        sort,
        projection=projection.get("ProjectionType", "ALL"),
        include=tuple(projection.get("NonKeyAttributes") or ()),
    )


def _facet(facet: Document, document: Document, table: Table) -> Entity[Any]:
    types = {
        each["AttributeName"]: each.get("AttributeType", "S")
        for each in document.get("NonKeyAttributes") or []
    }
    name = "".join(c if c.isalnum() else "_" for c in facet["FacetName"]).strip("_").lower()
    names = facet.get("NonKeyAttributes") or []
    attributes = [Attribute(each, types.get(each, "S"), required=False) for each in names]
    keys = [Attribute(key.name, key.type) for key in table.key_attributes]
    members: list[Item] = facet.get("TableData") or []
    if members:
        (entity, *_) = infer_entities(table, members, len(members)).entities
        return replace(entity, name=name)
    return Entity(name, {}, dict, table.name, (*keys, *attributes))
