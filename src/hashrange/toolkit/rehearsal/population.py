"""Generated items of a design: declared sizes and skews, scaled down to a bound per entity.

Item collections keep their declared size as far as the bound allows, because they decide what a
query reads; only their number is scaled down. The first collection of an entity is its largest.
Fields of the partition key count collections, all other fields count items, so that the same user
id stands for the same user in all entities.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, final

from hashrange.toolkit.design.entities import Entity
from hashrange.toolkit.design.model import Design
from hashrange.toolkit.execution.items import stored_item
from hashrange.toolkit.item_sizes import item_bytes
from hashrange.toolkit.rehearsal.samples import BEGINNING, sample
from hashrange.toolkit.values import to_wire_item

ITEMS_DEFAULT: Final = 100
COLLECTION_DEFAULT: Final = 5
SPARSE_ONE_IN: Final = 10
PADDING: Final = "padding"
_PADDING_OVERHEAD: Final = len(PADDING)

Record = dict[str, Any]


@final
@dataclass(frozen=True, slots=True)
class Shape:
    """How the items of an entity are spread: how many, in collections of which size."""

    items: int
    collection: int
    largest: int

    def collection_of(self, position: int) -> int:
        """Return in which collection an item lies."""
        if position < self.largest:
            return 0
        return 1 + (position - self.largest) // self.collection


@final
class Population:
    """The items of all entities; also makes items that are not stored yet."""

    def __init__(self, design: Design, items_max: int) -> None:
        self.design = design
        self.shapes = {each.name: self._shape(each, items_max) for each in design.entities}
        self.records = {
            each.name: [self.record(each, k) for k in range(self.shapes[each.name].items)]
            for each in design.entities
        }
        self._fresh = {each.name: self.shapes[each.name].items for each in design.entities}

    def fresh(self, entity: Entity[Any]) -> Record:
        """Return a record that is not stored yet."""
        position = self._fresh[entity.name]
        self._fresh[entity.name] = position + 1
        return self.record(entity, position)

    def record(self, entity: Entity[Any], position: int) -> Record:
        """Return the record at a position."""
        collection = self.shapes[entity.name].collection_of(position)
        counted = self._collection_fields(entity)
        sparse = self._sparse_fields(entity)
        key_fields = self._fields(entity)
        names = dict.fromkeys([*(each.name for each in entity.attributes), *key_fields])
        made = {key.name for key in self.design.table(entity.table).all_key_attributes}
        table = self.design.table(entity.table)
        record: Record = {}
        for name in names:
            if name in (entity.version, table.ttl) or (name in made and name in entity.keys):
                continue
            if name in sparse and position % SPARSE_ONE_IN:
                continue
            record[name] = sample(entity, name, collection if name in counted else position)
        return self._padded(entity, record)

    def _padded(self, entity: Entity[Any], record: Record) -> Record:
        """Return a record that is stored with the declared size, if it is smaller without."""
        wanted = entity.volume.item_bytes or 0
        table = self.design.table(entity.table)
        stored = stored_item(entity, table, record, BEGINNING)
        if entity.version:
            stored[entity.version] = 1
        missing = wanted - item_bytes(to_wire_item(stored)) - _PADDING_OVERHEAD
        if missing > 0:
            record[PADDING] = "x" * missing
        return record

    def _shape(self, entity: Entity[Any], items_max: int) -> Shape:
        volume = entity.volume
        if self._is_alone(entity):
            return Shape(min(volume.items or ITEMS_DEFAULT, items_max), 1, 1)
        collection = max(1, volume.collection_items or COLLECTION_DEFAULT)
        items = min(max(volume.items or ITEMS_DEFAULT, collection), items_max)
        largest = max(volume.collection_items_max or 0, collection)
        for name in self._collection_fields(entity):
            attribute = entity.attribute(name)
            if attribute and attribute.hottest_share:
                largest = max(largest, round(attribute.hottest_share * items))
        return Shape(items, min(collection, items), min(largest, items))

    def _is_alone(self, entity: Entity[Any]) -> bool:
        """Tell whether the partition key alone identifies an item of the entity."""
        return set(self._fields(entity)) <= self._collection_fields(entity)

    def _fields(self, entity: Entity[Any]) -> list[str]:
        keys = self.design.table(entity.table).key_attributes
        return [f for key in keys for f in entity.required_template(key.name).fields]

    def _collection_fields(self, entity: Entity[Any]) -> set[str]:
        """Return the fields whose value all items of a collection share."""
        partition = self.design.table(entity.table).partition.name
        template = entity.required_template(partition)
        return {each.field for each in template.placeholders if not each.is_computed}

    def _sparse_fields(self, entity: Entity[Any]) -> set[str]:
        """Return the optional fields that put an item into a sparse index."""
        primary = set(self._fields(entity))
        found: set[str] = set()
        for index in self.design.indexes_of(entity):
            for key in index.key_attributes if index.sparse else ():
                found |= set(entity.required_template(key.name).fields)
        optional = {each.name for each in entity.attributes if not each.required}
        return (found & optional) - primary
