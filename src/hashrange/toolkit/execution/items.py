"""From records to stored items and back: keys from templates, and the attributes the toolkit keeps.

A stored item has the attributes of its record, the key attributes its templates make, and the name
of its entity. An index key whose fields the record lacks is left out: the item is not in that
index.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, TypeVar

from hashrange.toolkit.design.entities import Entity
from hashrange.toolkit.design.model import Design
from hashrange.toolkit.design.tables import Table
from hashrange.toolkit.design.templates import iso_text
from hashrange.toolkit.errors import ConversionError
from hashrange.toolkit.records import to_attributes, to_record

Model = TypeVar("Model")


def key_of(entity: Entity[Any], table: Table, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the primary key of an item, made from the fields of its templates."""
    return {
        key.name: entity.required_template(key.name).render(fields) for key in table.key_attributes
    }


def stored_item(entity: Entity[Any], table: Table, record: Any, now: datetime) -> dict[str, Any]:
    """Return the item that is stored for a record."""
    attributes = to_attributes(record)
    if entity.created:
        attributes.setdefault(entity.created, iso_text(now))
    if entity.updated:
        attributes[entity.updated] = iso_text(now)
    if entity.expires_after is not None:
        attributes.setdefault(table.ttl, int(now.timestamp()) + entity.expires_after)
    if table.entity_attribute:
        attributes.setdefault(table.entity_attribute, entity.label_text)
    return {
        **attributes,
        **key_of(entity, table, attributes),
        **index_keys(entity, table, attributes),
    }


def index_keys(entity: Entity[Any], table: Table, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the index key attributes that can be made from the fields."""
    found: dict[str, Any] = {}
    primary = {key.name for key in table.key_attributes}
    for key in table.all_key_attributes:
        template = entity.template(key.name)
        if key.name in primary or template is None:
            continue
        if all(fields.get(name) is not None for name in template.fields):
            found[key.name] = template.render(fields)
    return found


def entity_of(design: Design, table: Table, item: Mapping[str, Any]) -> Entity[Any] | None:
    """Return the entity of an item: by its entity attribute, else by the templates of its key."""
    entities = design.entities_of(table.name)
    label = item.get(table.entity_attribute) if table.entity_attribute else None
    for entity in entities:
        if label == entity.label_text:
            return entity
    names = [key.name for key in table.key_attributes]
    if any(name not in item for name in names):  # a projection may leave out keys
        return entities[0] if len(entities) == 1 else None
    matching = [entity for entity in entities if entity.matches(item, *names)]
    return max(matching, key=_literal_length, default=None)


def _literal_length(entity: Entity[Any]) -> int:
    """The more literal text the keys have, the more they say about the entity."""
    return sum(
        len(part)
        for name in entity.keys
        for part in entity.required_template(name).parts
        if isinstance(part, str)
    )


def fields_of_item(entity: Entity[Any], table: Table, item: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an item: its attributes, and what only its keys say."""
    fields: dict[str, Any] = {}
    for key in table.all_key_attributes:
        template = entity.template(key.name)
        if template is not None and key.name in item:
            fields.update(template.parse(item[key.name]) or {})
    made = {key.name for key in table.all_key_attributes} | {table.entity_attribute}
    own = {
        name: value
        for name, value in item.items()
        if name not in made or entity.attribute(name) is not None
    }
    return {**fields, **own}


def load(entity: Entity[Model], table: Table, item: Mapping[str, Any]) -> Model:
    """Return the record of a stored item."""
    try:
        return to_record(entity.model, fields_of_item(entity, table, item))
    except ConversionError as error:
        key = {each.name: item.get(each.name) for each in table.key_attributes}
        raise ConversionError(f"{entity.name} {key}: {error}") from error


def load_any(design: Design, table: Table, items: Iterable[Mapping[str, Any]]) -> list[Any]:
    """Return the records of items of any entity of a table; items of no entity are left out."""
    found = []
    for item in items:
        entity = entity_of(design, table, item)
        if entity is not None:
            found.append(load(entity, table, item))
    return found
