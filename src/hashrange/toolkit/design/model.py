"""The design: tables, entities and access patterns, checked for contradictions when it is made.

A `Design` is immutable and complete: defaults that depend on other parts (the table of an entity,
the key of a pattern) are filled in when it is made, so that readers never need to know the rules
for them. What contradicts itself raises `DesignError` with all findings. What is merely unwise is
left to the checker.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar, final

from hashrange.toolkit.design.consistency import find_problems
from hashrange.toolkit.design.entities import Entity
from hashrange.toolkit.design.expectations import Waiver
from hashrange.toolkit.design.patterns import AccessPattern, SortCondition, parameters_of
from hashrange.toolkit.design.tables import Index, KeyAttribute, Table
from hashrange.toolkit.design.templates import iterate_fields, parse_template
from hashrange.toolkit.errors import DesignError

Style = Literal["", "single_table", "multi_table"]
_KEYED = frozenset({"get", "create", "put", "update", "delete", "batch_get", "batch_write"})

Part = TypeVar("Part", Table, Entity[Any], AccessPattern)


@final
@dataclass(frozen=True)
class Design:
    """A whole design. `style` is the declared approach; empty means that none was declared."""

    name: str
    tables: tuple[Table, ...]
    entities: tuple[Entity[Any], ...] = ()
    patterns: tuple[AccessPattern, ...] = ()
    waivers: tuple[Waiver, ...] = ()
    style: Style = ""
    description: str = ""

    def __post_init__(self) -> None:
        only_table = self.tables[0].name if len(self.tables) == 1 else ""
        entities = tuple(
            entity if entity.table else replace(entity, table=only_table)
            for entity in self.entities
        )
        object.__setattr__(self, "entities", entities)
        problems = find_problems(self.tables, entities, ())
        if not problems:
            patterns = tuple(self.completed(pattern) for pattern in self.patterns)
            object.__setattr__(self, "patterns", patterns)
            problems = find_problems(self.tables, entities, patterns)
        if problems:
            raise DesignError(*problems)

    def table(self, name: str) -> Table:
        """Return a table by name; DesignError if there is none."""
        return _named(self.tables, name, "table")

    def entity(self, name: str) -> Entity[Any]:
        """Return an entity by name; DesignError if there is none."""
        return _named(self.entities, name, "entity")

    def pattern(self, name: str) -> AccessPattern:
        """Return an access pattern by name; DesignError if there is none."""
        return _named(self.patterns, name, "access pattern")

    def entities_of(self, table: str) -> tuple[Entity[Any], ...]:
        """Return the entities that live in a table."""
        return tuple(entity for entity in self.entities if entity.table == table)

    def patterns_of(self, table: str, index: str | None = None) -> tuple[AccessPattern, ...]:
        """Return the patterns that use a table; with `index`, only those on it ("": the table)."""
        return tuple(
            pattern
            for pattern in self.patterns
            if table in self.tables_of(pattern) and index in (None, pattern.index)
        )

    def tables_of(self, pattern: AccessPattern) -> tuple[str, ...]:
        """Return the tables a pattern touches: one, or for transactions those of all steps."""
        names = [pattern.table] if pattern.table else []
        names += [self.entity(step.entity).table for step in pattern.steps]
        return tuple(dict.fromkeys(names))

    def indexes_of(self, entity: Entity[Any]) -> tuple[Index, ...]:
        """Return the indexes that contain items of an entity."""
        return tuple(
            index
            for index in self.table(entity.table).indexes
            if all(entity.template(key.name) for key in index.key_attributes)
        )

    def read_key(self, pattern: AccessPattern) -> tuple[KeyAttribute, KeyAttribute | None]:
        """Return partition and sort key attribute of the table or index a pattern uses."""
        keys = self.table(pattern.table).keys_of(pattern.index)
        return keys.partition, keys.sort

    def parameters_of(self, pattern: AccessPattern) -> tuple[str, ...]:
        """Return the names of all parameters of a pattern that come from keys and expressions.

        Shard fields of a query are left out: they are enumerated. So are `x_from` and `x_to`, the
        ends of the range that is given for a time bucket `x`. Patterns that write whole items
        (`create`, `put`, `batch_write`) take the record itself: their parameter is `record`.
        `batch_get` takes `keys`, a sequence of mappings of the key fields.
        """
        if pattern.operation in ("create", "put"):
            return ("record",)
        if pattern.operation in ("batch_get", "batch_write"):
            return ("keys",) if pattern.operation == "batch_get" else ("records",)
        names = [*pattern.key_fields, *pattern.expression_parameters]
        if pattern.operation == "query":
            enumerated = _enumerated_fields(pattern)
            names = [name for name in names if name not in enumerated]
        for step in pattern.steps:
            entity = self.entity(step.entity)
            renamed = step.rename
            if step.each:
                names.append(step.each)
            elif step.action in ("create", "put"):
                names.append(step.record or entity.name)
            else:
                keys = self.table(entity.table).key_attributes
                fields = iterate_fields(*(entity.required_template(key.name).text for key in keys))
                names += [renamed.get(name, name) for name in fields]
                used = parameters_of(step.update, step.condition)
                names += [renamed.get(name, name) for name in used]
        return tuple(dict.fromkeys(names))

    def completed(self, pattern: AccessPattern) -> AccessPattern:
        """Return a pattern with the defaults filled in that follow from its first entity."""
        entity = next((each for each in self.entities if each.name in pattern.entities[:1]), None)
        only_table = self.tables[0].name if len(self.tables) == 1 and not pattern.steps else ""
        table = pattern.table or (entity.table if entity else only_table)
        pattern = replace(pattern, table=table)
        schema = next((each for each in self.tables if each.name == table), None)
        if entity is None or schema is None or pattern.steps:
            return pattern
        if pattern.index and all(index.name != pattern.index for index in schema.indexes):
            return pattern
        keys = schema.keys_of(pattern.index)
        template = entity.template(keys.partition.name)
        if not pattern.partition_key and template and pattern.operation != "scan":
            pattern = replace(pattern, partition_key=template.text)
        if keys.sort and pattern.sort_key is None and pattern.operation in _KEYED:
            sort = entity.template(keys.sort.name)
            if sort:
                pattern = replace(pattern, sort_key=SortCondition("=", sort.text))
        return pattern


def _named(parts: Iterable[Part], name: str, kind: str) -> Part:
    for part in parts:
        if part.name == name:
            return part
    raise DesignError(f"the design has no {kind} {name}")


def _enumerated_fields(pattern: AccessPattern) -> set[str]:
    if not pattern.partition_key:
        return set()
    placeholders = parse_template(pattern.partition_key).placeholders
    plain = {each.field for each in placeholders if not each.shards}
    ends = {f"{each.field}_{end}" for each in placeholders if each.bucket for end in ("from", "to")}
    return ({each.field for each in placeholders if each.shards} - plain) | ends


def by_name(parts: Iterable[Part]) -> Mapping[str, Part]:
    """Return parts of a design by their names."""
    return {part.name: part for part in parts}
