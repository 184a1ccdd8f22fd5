"""Capacity units per call of each access pattern, estimated from the declared volumes.

Rounding follows DynamoDB: reads in steps of 4 KB, writes in steps of 1 KB, a query rounds the sum
of its items, a get or a batch rounds each item. A number the design does not declare is assumed,
and every assumption is listed with the estimate. A store is a table (`Shop`) or a global index
(`Shop.GSI1`); local indexes use the capacity of their table.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, final

from hashrange.toolkit.design.entities import Entity
from hashrange.toolkit.design.model import Design
from hashrange.toolkit.design.patterns import AccessPattern, Step
from hashrange.toolkit.design.tables import Index, Table
from hashrange.toolkit.design.templates import parse_template
from hashrange.toolkit.design.updates import assignments_of, computed_by, removed_by

READ_UNIT_BYTES: Final = 4096
WRITE_UNIT_BYTES: Final = 1024
PAGE_BYTES_MAX: Final = 1024 * 1024
ITEM_BYTES_ASSUMED: Final = 1024
COLLECTION_ITEMS_ASSUMED: Final = 10
BATCH_ITEMS_ASSUMED: Final = 25
TABLE_ITEMS_ASSUMED: Final = 100_000
EACH_ASSUMED: Final = 3
_KEY_BYTES_ASSUMED: Final = 40
_GUARD_BYTES_ASSUMED: Final = 100


@final
@dataclass(frozen=True)
class Consumption:
    """What one call of a pattern consumes: units by store, items, requests."""

    pattern: AccessPattern
    reads: dict[str, float] = field(default_factory=dict)
    writes: dict[str, float] = field(default_factory=dict)
    items_examined: float = 0
    items_returned: float = 0
    requests: float = 1
    assumptions: tuple[str, ...] = ()

    @property
    def read_units(self) -> float:
        return sum(self.reads.values())

    @property
    def write_units(self) -> float:
        return sum(self.writes.values())


def estimate(design: Design) -> dict[str, Consumption]:
    """Return the estimated consumption of every pattern of a design, by its name."""
    return {pattern.name: Estimate(design, pattern).consumption() for pattern in design.patterns}


def store_name(table: Table, index: str = "") -> str:
    """Return the store whose capacity a request to a table or to one of its indexes uses."""
    if not index or table.index(index).kind == "local":
        return table.name
    return f"{table.name}.{index}"


@final
@dataclass(frozen=True, slots=True)
class _Change:
    """A write to `times` items of an entity."""

    entity: Entity[Any]
    action: str
    update: str
    times: int
    is_transactional: bool


@final
class Estimate:
    """The estimate for one pattern, with the assumptions it had to make."""

    def __init__(self, design: Design, pattern: AccessPattern) -> None:
        self.design = design
        self.pattern = pattern
        self._assumed: dict[str, None] = {}

    def consumption(self) -> Consumption:
        """Return what one call consumes."""
        operation = self.pattern.operation
        if operation in ("query", "scan"):
            return self._range_read()
        if operation in ("get", "batch_get", "transact_get"):
            return self._key_read()
        return self._write()

    def item_bytes(self, entity: Entity[Any]) -> int:
        """Return the size of an item, declared or assumed."""
        if entity.volume.item_bytes is not None:
            return entity.volume.item_bytes
        self._assume(f"items of {entity.name} have {ITEM_BYTES_ASSUMED} bytes")
        return ITEM_BYTES_ASSUMED

    def projected_bytes(self, entity: Entity[Any], index: Index | None) -> int:
        """Return the size of an item in an index, or in the table if no index is given."""
        whole = self.item_bytes(entity)
        if index is None or index.projection == "ALL":
            return whole
        keys = {key.name for key in self.design.table(entity.table).key_attributes}
        keys |= {key.name for key in index.key_attributes}
        size = _KEY_BYTES_ASSUMED * len(keys)
        for name in index.include:
            attribute = entity.attribute(name)
            share = whole // max(1, len(entity.attributes))
            size += attribute.bytes_max or share if attribute else 0
        return min(whole, size)

    def _key_read(self) -> Consumption:
        pattern = self.pattern
        if pattern.operation == "transact_get":
            entities = [self.design.entity(step.entity) for step in pattern.steps]
            factor = 2.0
        else:
            count = 1 if pattern.operation == "get" else self._batch_items()
            entities = [self.design.entity(pattern.entities[0])] * count
            factor = 1.0 if pattern.consistent else 0.5
        reads: dict[str, float] = {}
        for entity in entities:
            units = factor * _steps(self.item_bytes(entity), READ_UNIT_BYTES)
            reads[entity.table] = reads.get(entity.table, 0) + units
        count = len(entities)
        return Consumption(
            pattern, reads, {}, count, count, math.ceil(count / 100), tuple(self._assumed)
        )

    def _range_read(self) -> Consumption:
        pattern = self.pattern
        table = self.design.table(pattern.table)
        index = table.index(pattern.index) if pattern.index else None
        rows = dict(self._rows(table))
        examined = sum(rows.values())
        keeps = 1.0 if not pattern.filter else self._keeps()
        wanted = 1 if pattern.single else pattern.limit
        if wanted is not None and examined > wanted / keeps:
            rows = {name: count * wanted / keeps / examined for name, count in rows.items()}
            examined = wanted / keeps
        size = sum(
            count * self.projected_bytes(self.design.entity(name), index)
            for name, count in rows.items()
        )
        parts = parse_template(pattern.partition_key).shards if pattern.partition_key else 1
        factor = 1.0 if pattern.consistent else 0.5
        units = parts * _steps(size / parts, READ_UNIT_BYTES) * factor
        requests = parts * max(1, math.ceil(size / parts / PAGE_BYTES_MAX))
        reads = {store_name(table, pattern.index): units}
        returned = examined * keeps
        return Consumption(pattern, reads, {}, examined, returned, requests, tuple(self._assumed))

    def _rows(self, table: Table) -> Iterator[tuple[str, float]]:
        """Yield how many items of each entity lie in the range that is read."""
        pattern = self.pattern
        entities = [self.design.entity(name) for name in pattern.entities]
        if pattern.operation == "scan":
            for entity in self.design.entities_of(table.name):
                if not pattern.index or table.index(pattern.index) in self.design.indexes_of(
                    entity
                ):
                    yield entity.name, self._items(entity)
            return
        if pattern.items_returned is not None:
            for entity in entities:
                yield entity.name, pattern.items_returned / self._keeps() / len(entities)
            return
        if pattern.sort_key is None:
            entities += self._companions(table, entities)
        for entity in entities:
            yield entity.name, self._collection(entity)

    def _companions(self, table: Table, entities: list[Entity[Any]]) -> list[Entity[Any]]:
        """Return the other entities in the item collection that a whole-collection query reads."""
        key = table.keys_of(self.pattern.index).partition.name
        shape = parse_template(self.pattern.partition_key)
        return [
            entity
            for entity in self.design.entities_of(table.name)
            if entity not in entities
            and (template := entity.template(key)) is not None
            and template.prefix == shape.prefix
            and len(template.parts) == len(shape.parts)
        ]

    def _collection(self, entity: Entity[Any]) -> float:
        pattern, volume = self.pattern, entity.volume
        if pattern.sort_key and pattern.sort_key.operator == "=" and not pattern.index:
            return 1
        sort = self.design.read_key(pattern)[1]
        if sort is not None:
            template = entity.template(sort.name)
            if template is not None and template.is_constant:
                return 1
        if volume.collection_items is not None:
            return volume.collection_items
        if pattern.single:
            return 1
        self._assume(f"a partition key value has {COLLECTION_ITEMS_ASSUMED} {entity.name} items")
        return COLLECTION_ITEMS_ASSUMED

    def _items(self, entity: Entity[Any]) -> int:
        if entity.volume.items is not None:
            return entity.volume.items
        self._assume(f"there are {TABLE_ITEMS_ASSUMED} {entity.name} items")
        return TABLE_ITEMS_ASSUMED

    def _keeps(self) -> float:
        if not self.pattern.filter:
            return 1.0
        if self.pattern.filter_keeps is None:
            self._assume(f"the filter of {self.pattern.name} keeps half of what it reads")
            return 0.5
        return max(self.pattern.filter_keeps, 0.0001)

    def _batch_items(self) -> int:
        if self.pattern.items_returned is not None:
            return max(1, round(self.pattern.items_returned))
        self._assume(f"a call of {self.pattern.name} has {BATCH_ITEMS_ASSUMED} items")
        return BATCH_ITEMS_ASSUMED

    def _write(self) -> Consumption:
        pattern = self.pattern
        writes: dict[str, float] = {}
        count, requests = 0, 1.0
        if pattern.operation == "transact_write":
            for step in pattern.steps:
                times = EACH_ASSUMED if step.each else 1
                if step.each:
                    self._assume(f"{step.each} has {EACH_ASSUMED} elements")
                self._add_step(step, times, writes)
                count += times
        else:
            entity = self.design.entity(pattern.entities[0])
            times = self._batch_items() if pattern.operation == "batch_write" else 1
            guarded = self._touches_unique(entity)
            change = _Change(entity, pattern.operation, pattern.update, times, guarded)
            self._add_change(change, writes)
            if guarded:
                guards = 2 * len(entity.unique) * _steps(_GUARD_BYTES_ASSUMED, WRITE_UNIT_BYTES)
                writes[entity.table] += guards * times
            count, requests = times, math.ceil(times / 25)
        return Consumption(pattern, {}, writes, 0, count, requests, tuple(self._assumed))

    def _touches_unique(self, entity: Entity[Any]) -> bool:
        if not entity.unique:
            return False
        if self.pattern.operation != "update":
            return True
        changed = {*assignments_of(self.pattern.update), *removed_by(self.pattern.update)}
        return bool(changed & set(entity.unique))

    def _add_step(self, step: Step, times: int, writes: dict[str, float]) -> None:
        entity = self.design.entity(step.entity)
        if step.action == "check":
            units = 2 * _steps(self.item_bytes(entity), WRITE_UNIT_BYTES) * times
            writes[entity.table] = writes.get(entity.table, 0) + units
            return
        self._add_change(_Change(entity, step.action, step.update, times, True), writes)

    def _add_change(self, change: _Change, writes: dict[str, float]) -> None:
        """Add the units of a change, in the table and in the indexes that hold the item."""
        entity, table = change.entity, self.design.table(change.entity.table)
        units = _steps(self.item_bytes(entity), WRITE_UNIT_BYTES) * change.times
        doubled = 2 if change.is_transactional else 1
        writes[table.name] = writes.get(table.name, 0) + units * doubled
        for index in self.design.indexes_of(entity):
            times = _index_writes(change, index) * change.times
            # Global indexes are written after the transaction, at the plain price.
            times *= doubled if index.kind == "local" else 1
            size = self.projected_bytes(entity, index)
            store = store_name(table, index.name)
            writes[store] = writes.get(store, 0) + times * _steps(size, WRITE_UNIT_BYTES)

    def _assume(self, text: str) -> None:
        self._assumed[text] = None


def _index_writes(change: _Change, index: Index) -> int:
    """Return how many writes a change causes in an index: a changed key moves the index item."""
    if change.action != "update":
        return 1
    entity, update = change.entity, change.update
    changed = {*assignments_of(update), *removed_by(update), *computed_by(update)}
    changed |= {name for name in (entity.version, entity.updated) if name}
    for key in index.key_attributes:
        template = entity.template(key.name)
        if template and changed & {*template.fields, key.name}:
            return 2
    if index.projection == "ALL":
        return 1
    return 1 if changed & set(index.include) else 0


def _steps(size: float, step: int) -> int:
    return max(1, math.ceil(size / step))
